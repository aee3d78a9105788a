import { SignJWT } from 'jose';
import { text } from '../api/fields.ts';
import { isObject, type JsonObject, type KubeObject } from '../api/object.ts';
import type { Config } from '../config.ts';
import type { RequestContext } from '../request/context.ts';
import { badRequest, causes, conflict, invalid, notFound, type StatusCause } from '../status/status.ts';
import { withSender } from './sender.ts';
import { serviceAccountKeys } from './service-account-keys.ts';
import { keys, readStored } from './stored.ts';

const GROUP = 'authentication.k8s.io';
const kind = { group: GROUP, name: 'TokenRequest' };
const DEFAULT_SECONDS = 3600;
const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
/** Pod-bound tokens for the server asked with this life live for a year, and warn after it (KEP-1205 migration). */
const WARN_ONLY_SECONDS = 3607;
const EXTENDED_SECONDS = 365 * 24 * 3600;

/** RFC 3339 in whole seconds, as API times are. */
const rfc3339 = (milliseconds: number) => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;

interface Bound {
  claims: JsonObject;
  isPod: boolean;
}

const refClaim = (object: KubeObject): JsonObject => ({
  name: object.metadata.name ?? '',
  uid: object.metadata.uid ?? '',
});

async function nodeClaim(ctx: RequestContext, pod: KubeObject): Promise<JsonObject> {
  const name = isObject(pod.spec) ? text(pod.spec.nodeName) : '';
  if (name === '') return {};
  const [node] = await readStored(ctx.keyspace, [keys.node(name)]);
  return { node: node === undefined ? { name } : refClaim(node) };
}

/** Kinds of objects that a token can be bound to: where they are stored and what their errors call them. */
const boundKinds: Record<
  string,
  { resource: string; claim: string; key: (namespace: string, name: string) => string }
> = {
  Pod: { resource: 'pods', claim: 'pod', key: keys.pod },
  Secret: { resource: 'secrets', claim: 'secret', key: keys.secret },
  Node: { resource: 'nodes', claim: 'node', key: (_namespace, name) => keys.node(name) },
};

async function resolveBound(ctx: RequestContext, account: string, ref: JsonObject): Promise<Bound> {
  const { namespace } = ctx.info;
  const [group, version] = groupVersion(text(ref.apiVersion));
  const kindName = text(ref.kind);
  const name = text(ref.name);
  const bound = group === '' && Object.hasOwn(boundKinds, kindName) ? boundKinds[kindName] : undefined;
  if (bound === undefined)
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kindName}`);
  if (name === '') throw badRequest('Name parameter required.');
  const [object] = await readStored(ctx.keyspace, [bound.key(namespace, name)]);
  if (object === undefined) throw notFound({ group: '', name: bound.resource }, name);
  const isPod = kindName === 'Pod';
  if (isPod && (isObject(object.spec) ? text(object.spec.serviceAccountName) : '') !== account) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
    );
  }
  const uid = text(ref.uid);
  if (uid !== '' && uid !== object.metadata.uid) {
    throw conflict(
      { group: '', name: kindName },
      name,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  return { claims: { [bound.claim]: refClaim(object), ...(isPod ? await nodeClaim(ctx, object) : {}) }, isPod };
}

function groupVersion(apiVersion: string): [string, string] {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
}

function validate(seconds: number): void {
  const field = 'spec.expirationSeconds';
  const faults: StatusCause[] = [];
  if (seconds < MIN_SECONDS)
    faults.push(causes.invalid(field, seconds, 'may not specify a duration less than 10 minutes'));
  if (seconds > MAX_SECONDS)
    faults.push(causes.invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds'));
  if (faults.length > 0) throw invalid(kind, '', faults);
}

function matchMetadata(ctx: RequestContext, metadata: JsonObject, account: KubeObject): void {
  const { name } = ctx.info;
  const given = text(metadata.uid);
  if (given !== '' && given !== account.metadata.uid) {
    throw conflict(
      kind,
      name,
      `the UID in the token request (${given}) does not match the UID of the service account (${account.metadata.uid})`,
    );
  }
}

async function sign(config: Config, payload: JsonObject): Promise<string> {
  const [key] = await serviceAccountKeys(config);
  if (key === undefined) throw new TypeError('no service account signing key is configured');
  return new SignJWT(payload as Record<string, unknown>)
    .setProtectedHeader({ alg: key.alg, kid: key.kid })
    .sign(key.privateKey);
}

/**
 * TokenRequest on a service account: answers the filled request with a signed JWT. `ctx.info` names the account;
 * `body` is the decoded TokenRequest. Throws 404 for a missing account or bound object, 400, 409 and 422 as
 * kube-apiserver does for what does not fit.
 */
export async function issueServiceAccountToken(
  config: Config,
  ctx: RequestContext,
  body: JsonObject,
): Promise<KubeObject> {
  const { name, namespace } = ctx.info;
  const metadata = isObject(body.metadata) ? body.metadata : {};
  const spec = isObject(body.spec) ? body.spec : {};
  if (text(metadata.name) !== '' && metadata.name !== name) {
    throw invalid(kind, name, [
      causes.invalid('metadata.name', metadata.name, 'must match the service account name if specified'),
    ]);
  }
  if (text(metadata.namespace) !== '' && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  const [account, home] = await readStored(ctx.keyspace, [
    keys.serviceAccount(namespace, name),
    `/registry/namespaces/${namespace}`,
  ]);
  if (account === undefined && home === undefined) throw notFound({ group: '', name: 'namespaces' }, namespace);
  if (account === undefined) throw notFound({ group: '', name: 'serviceaccounts' }, name);
  matchMetadata(ctx, metadata, account);

  const asked = Array.isArray(spec.audiences) ? spec.audiences.map(text) : [];
  const audiences = asked.length === 0 ? [config.serviceAccountIssuer] : asked;
  const seconds = typeof spec.expirationSeconds === 'number' ? spec.expirationSeconds : DEFAULT_SECONDS;
  validate(seconds);
  const ref = isObject(spec.boundObjectRef) ? spec.boundObjectRef : undefined;
  const bound = ref === undefined ? undefined : await resolveBound(ctx, name, ref);

  const now = ctx.now().getTime();
  const issuedAt = Math.floor(now / 1000);
  const forServer = audiences.every((a) => a === config.serviceAccountIssuer);
  const extended = bound?.isPod === true && seconds === WARN_ONLY_SECONDS && forServer;
  const token = await sign(config, {
    aud: audiences,
    exp: issuedAt + (extended ? EXTENDED_SECONDS : seconds),
    iat: issuedAt,
    iss: config.serviceAccountIssuer,
    jti: crypto.randomUUID(),
    'kubernetes.io': {
      namespace,
      ...bound?.claims,
      serviceaccount: refClaim(account),
      ...(extended ? { warnafter: issuedAt + seconds } : {}),
    },
    nbf: issuedAt,
    sub: `system:serviceaccount:${namespace}:${name}`,
  });
  const filled = { ...metadata, name, namespace, uid: account.metadata.uid ?? '', creationTimestamp: rfc3339(now) };
  const typeMeta = { kind: 'TokenRequest', apiVersion: `${GROUP}/v1` };
  const sent = { ...typeMeta, metadata: filled, spec: { ...spec, expirationSeconds: seconds } };
  return {
    ...typeMeta,
    metadata: withSender(ctx, sent, typeMeta.apiVersion, typeMeta.kind, 'token').metadata,
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: ref ?? null },
    status: { token, expirationTimestamp: rfc3339(now + seconds * 1000) },
  };
}
