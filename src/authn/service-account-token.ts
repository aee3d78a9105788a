import { compactVerify, decodeJwt, decodeProtectedHeader } from 'jose';
import { isObject, type JsonObject, type KubeObject } from '../api/object.ts';
import type { UserInfo } from '../request/context.ts';
import type { TokenDeps } from './index.ts';
import { type ServiceAccountKey, serviceAccountKeys } from './service-account-keys.ts';
import { keys, readStored } from './stored.ts';
import { TokenFault, type TokenIdentity } from './token.ts';

/** Clocks may differ by this much, and a deleted object's tokens live on for it. */
const LEEWAY_SECONDS = 60;

/** A named object in the private claims. */
interface Ref {
  name: string;
  uid: string;
}

interface Claims {
  subject: string;
  audiences: string[];
  expires?: number;
  notBefore?: number;
  issuedAt?: number;
  id: string;
  namespace: string;
  serviceAccount: Ref;
  pod?: Ref;
  secret?: Ref;
  node?: Ref;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const seconds = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

function ref(value: unknown): Ref | undefined {
  return isObject(value) ? { name: text(value.name), uid: text(value.uid) } : undefined;
}

function readClaims(payload: JsonObject): Claims {
  const kubernetes = isObject(payload['kubernetes.io']) ? payload['kubernetes.io'] : {};
  const audience = payload.aud;
  const [expires, notBefore, issuedAt] = [seconds(payload.exp), seconds(payload.nbf), seconds(payload.iat)];
  const [pod, secret, node] = [ref(kubernetes.pod), ref(kubernetes.secret), ref(kubernetes.node)];
  return {
    subject: text(payload.sub),
    audiences: Array.isArray(audience) ? audience.map(text) : audience === undefined ? [] : [text(audience)],
    ...(expires === undefined ? {} : { expires }),
    ...(notBefore === undefined ? {} : { notBefore }),
    ...(issuedAt === undefined ? {} : { issuedAt }),
    id: text(payload.jti),
    namespace: text(kubernetes.namespace),
    serviceAccount: ref(kubernetes.serviceaccount) ?? { name: '', uid: '' },
    ...(pod === undefined ? {} : { pod }),
    ...(secret === undefined ? {} : { secret }),
    ...(node === undefined ? {} : { node }),
  };
}

/** The issuer that a token claims and the key that it names, unverified; undefined for what is no JWT. */
function unverified(token: string): { issuer: string; kid?: string } | undefined {
  try {
    const { kid } = decodeProtectedHeader(token);
    return { issuer: text(decodeJwt(token).iss), ...(kid === undefined ? {} : { kid }) };
  } catch {
    return undefined;
  }
}

async function verifiedPayload(token: string, candidates: readonly ServiceAccountKey[]): Promise<JsonObject> {
  for (const key of candidates) {
    try {
      const { payload } = await compactVerify(token, key.publicKey, { algorithms: [key.alg] });
      return JSON.parse(new TextDecoder().decode(payload)) as JsonObject;
    } catch {
      // Another key may have signed it.
    }
  }
  throw new TokenFault(
    candidates.length === 0 ? 'invalid signature, no keys found' : 'go-jose/go-jose: error in cryptographic primitive',
  );
}

function checkTimes(claims: Claims, now: number): void {
  if (claims.notBefore !== undefined && now + LEEWAY_SECONDS < claims.notBefore) {
    throw new TokenFault('service account token is not valid yet');
  }
  if (claims.expires !== undefined && now - LEEWAY_SECONDS > claims.expires) {
    throw new TokenFault('service account token has expired');
  }
  if (claims.issuedAt !== undefined && now + LEEWAY_SECONDS < claims.issuedAt) {
    throw new TokenFault('service account token is issued in the future');
  }
}

function isDeleted(object: KubeObject, now: number): boolean {
  const at = object.metadata.deletionTimestamp;
  return at !== undefined && Date.parse(at) / 1000 < now - LEEWAY_SECONDS;
}

/** The bound object that a token lives and dies with. */
function boundTo(claims: Claims): { kind: string; ref: Ref; key: string } | undefined {
  const { namespace, pod, secret, node } = claims;
  if (secret !== undefined) return { kind: 'secret', ref: secret, key: keys.secret(namespace, secret.name) };
  if (pod !== undefined) return { kind: 'pod', ref: pod, key: keys.pod(namespace, pod.name) };
  if (node !== undefined) return { kind: 'node', ref: node, key: keys.node(node.name) };
  return undefined;
}

async function checkObjects(claims: Claims, deps: TokenDeps, now: number): Promise<void> {
  const { namespace, serviceAccount } = claims;
  const bound = boundTo(claims);
  const accountKey = keys.serviceAccount(namespace, serviceAccount.name);
  const [account, object] = await readStored(
    deps.keyspace,
    bound === undefined ? [accountKey] : [accountKey, bound.key],
  );
  if (account === undefined) throw new TokenFault(`serviceaccounts ${JSON.stringify(serviceAccount.name)} not found`);
  if (account.metadata.uid !== serviceAccount.uid) {
    throw new TokenFault(`service account UID (${account.metadata.uid}) does not match claim (${serviceAccount.uid})`);
  }
  if (isDeleted(account, now))
    throw new TokenFault(`service account ${namespace}/${serviceAccount.name} has been deleted`);
  if (bound === undefined) return;
  if (object === undefined || isDeleted(object, now))
    throw new TokenFault('service account token has been invalidated');
  if (object.metadata.uid !== bound.ref.uid) {
    throw new TokenFault(
      `${bound.kind} UID (${object.metadata.uid}) does not match service account ${bound.kind} ref claim (${bound.ref.uid})`,
    );
  }
}

function userOf(claims: Claims): UserInfo {
  const { namespace, serviceAccount, pod, node } = claims;
  const extra: Record<string, string[]> = {};
  const add = (key: string, value: string | undefined) => {
    if (value !== undefined && value !== '') extra[`authentication.kubernetes.io/${key}`] = [value];
  };
  add('credential-id', claims.id === '' ? undefined : `JTI=${claims.id}`);
  add('node-name', node?.name);
  add('node-uid', node?.uid);
  add('pod-name', pod?.name);
  add('pod-uid', pod?.uid);
  return {
    name: `system:serviceaccount:${namespace}:${serviceAccount.name}`,
    uid: serviceAccount.uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    extra,
  };
}

/**
 * Service account tokens: JWTs of this cluster's issuer, signed with one of its keys, within their times, for one of
 * the asked audiences, whose account and bound object still exist with the uids that the token names (KEP-1205).
 */
export async function serviceAccountToken(
  token: string,
  audiences: readonly string[],
  deps: TokenDeps,
): Promise<TokenIdentity | undefined> {
  const claimed = unverified(token);
  if (claimed?.issuer !== deps.config.serviceAccountIssuer) return undefined;
  const all = await serviceAccountKeys(deps.config);
  const named = claimed.kid === undefined ? all : all.filter((k) => k.kid === claimed.kid);
  const claims = readClaims(await verifiedPayload(token, named));
  const own = claims.audiences.length === 0 ? [deps.config.serviceAccountIssuer] : claims.audiences;
  const good = own.filter((a) => audiences.includes(a));
  if (good.length === 0) {
    const list = (a: readonly string[]) => `[${a.map((s) => JSON.stringify(s)).join(' ')}]`;
    throw new TokenFault(`token audiences ${list(own)} is invalid for the target audiences ${list(audiences)}`);
  }
  const now = Math.floor(deps.now().getTime() / 1000);
  checkTimes(claims, now);
  await checkObjects(claims, deps, now);
  return { user: userOf(claims), audiences: good };
}
