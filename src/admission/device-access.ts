import { mapOf, objects, text } from '../api/fields.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../api/object.ts';
import { forbiddenError } from '../authz/attributes.ts';
import { authorize, isSuperuser } from '../authz/index.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/context.ts';
import { causes, type StatusCause, StatusError } from '../status/status.ts';
import { builtinRow, lookUp } from './lookup.ts';
import { question, type Wanted } from './permission.ts';

/** What writers of ResourceClaims need leave for (pkg/registry/resource/utils.go). */

const GROUP = 'resource.k8s.io';
const ADMIN_LABEL = 'resource.kubernetes.io/admin-access';
const NODE_NAME = 'authentication.kubernetes.io/node-name';
const ACCOUNT = 'system:serviceaccount:';

const resultsOf = (status: JsonObject) => objects(mapOf(mapOf(status.allocation).devices).results);
const isAdmins = ({ adminAccess }: JsonObject) => adminAccess === true;

/** Where a claim asks for devices as an administrator, or its status gives them. */
function adminField(subresource: string, object: KubeObject, old: KubeObject | undefined): string | undefined {
  if (subresource === 'status') {
    if (resultsOf(mapOf(old?.status)).some(isAdmins)) return undefined;
    const index = resultsOf(mapOf(object.status)).findIndex(isAdmins);
    return index < 0 ? undefined : `status.allocation.devices.results[${index}].adminAccess`;
  }
  if (old !== undefined) return undefined;
  const requests = objects(mapOf(mapOf(object.spec).devices).requests);
  const index = requests.findIndex(({ exactly }) => isAdmins(mapOf(exactly)));
  return index < 0 ? undefined : `spec.devices.requests[${index}].adminAccess`;
}

async function adminFaults(ctx: RequestContext, namespace: string, field: string | undefined): Promise<StatusCause[]> {
  if (field === undefined) return [];
  const found = await lookUp(ctx, builtinRow('v1', 'namespaces'), '', namespace);
  if (found?.metadata.labels?.[ADMIN_LABEL] === 'true') return [];
  const why = `admin access to devices requires the \`${ADMIN_LABEL}: true\` label on the containing namespace`;
  return [causes.forbidden(field, why)];
}

/** Why none of these things is allowed; nothing where one is. */
async function refusal(ctx: RequestContext, wanted: readonly Wanted[]): Promise<string | undefined> {
  const { policy } = ctx;
  if (policy === undefined || isSuperuser(ctx.user)) return undefined;
  try {
    await policy.decide(async (bundle) => {
      let first: StatusError | undefined;
      for (const one of wanted) {
        const asked = question(ctx, one);
        const verdict = await authorize(asked, policy.data(bundle));
        if (verdict.decision === 'allow') return;
        first ??= forbiddenError(asked, verdict.reason);
      }
      if (first !== undefined) throw first;
    });
    return undefined;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return error.message;
  }
}

async function bindingFaults(ctx: RequestContext, status: JsonObject, old: JsonObject): Promise<StatusCause[]> {
  if (['allocation', 'reservedFor'].every((key) => deepEqual(status[key] ?? null, old[key] ?? null))) return [];
  const { verb } = ctx.info;
  const why = await refusal(ctx, [{ verb, group: GROUP, resource: 'resourceclaims', subresource: 'binding' }]);
  if (why === undefined) return [];
  const what = `changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="${verb}" permission`;
  return [causes.forbidden('status.allocation', `${what}: ${why}`)];
}

const deviceKey = ({ driver, pool, device, shareID }: JsonObject) =>
  [driver, pool, device, shareID].map(text).join('/');

/** Drivers of devices whose state was added, removed or changed. */
function changedDrivers(status: JsonObject, old: JsonObject): string[] {
  const byKey = (from: JsonObject) => new Map(objects(from.devices).map((one) => [deviceKey(one), one]));
  const [now, before] = [byKey(status), byKey(old)];
  const changed = [...new Set([...now.keys(), ...before.keys()])].filter(
    (key) => !deepEqual(now.get(key) ?? null, before.get(key) ?? null),
  );
  return [...new Set(changed.map((key) => text((now.get(key) ?? before.get(key)!).driver)))].sort();
}

/** The one node that an allocation is for. */
function allocatedNode(status: JsonObject): string | undefined {
  const terms = objects(mapOf(mapOf(status.allocation).nodeSelector).nodeSelectorTerms);
  const [field, ...others] = objects(terms[0]?.matchFields);
  if (terms.length !== 1 || field === undefined || others.length > 0) return undefined;
  if (objects(terms[0]?.matchExpressions).length > 0) return undefined;
  const names = Array.isArray(field.values) ? field.values : [];
  const isName = field.key === 'metadata.name' && field.operator === 'In' && names.length === 1;
  return isName && text(names[0]) !== '' ? text(names[0]) : undefined;
}

/** A driver's account may change the state of devices on its node, or on all nodes. */
async function deviceFaults(ctx: RequestContext, status: JsonObject, old: JsonObject): Promise<StatusCause[]> {
  const { user, info } = ctx;
  const node = allocatedNode(status);
  const [own, ...others] = user.extra[NODE_NAME] ?? [];
  const isNear = node !== undefined && node === own && others.length === 0 && user.name.startsWith(ACCOUNT);
  const verbs = [...(isNear ? ['associated-node'] : []), 'arbitrary-node'].map((scope) => `${scope}:${info.verb}`);
  const out: StatusCause[] = [];
  for (const name of changedDrivers(status, old)) {
    const wanted = { group: GROUP, resource: 'resourceclaims', subresource: 'driver', namespace: info.namespace, name };
    const why = await refusal(
      ctx,
      verbs.map((verb) => ({ ...wanted, verb })),
    );
    if (why === undefined) continue;
    const what = `changing status.devices requires resource="resourceclaims/driver", verb="[${verbs.join(' ')}]" permission`;
    out.push(causes.forbidden('status.devices', `${what}: ${why}`));
  }
  return out;
}

/** Causes where the writer of a claim or template, or of a claim's status, may not ask for or give what is in it. */
export async function deviceAccessFaults(
  ctx: RequestContext,
  resource: Resource,
  subresource: string,
  object: KubeObject,
  old?: KubeObject,
): Promise<StatusCause[]> {
  if (resource.group !== GROUP) return [];
  const namespace = object.metadata.namespace ?? '';
  if (resource.resource === 'resourceclaimtemplates') return templateFaults(ctx, object, old);
  if (resource.resource !== 'resourceclaims') return [];
  const out = await adminFaults(ctx, namespace, adminField(subresource, object, old));
  if (subresource !== 'status') return out;
  const [status, before] = [mapOf(object.status), mapOf(old?.status)];
  out.push(...(await bindingFaults(ctx, status, before)));
  if (mapOf(status).allocation === undefined) return out;
  return [...out, ...(await deviceFaults(ctx, status, before))];
}

/** A template's claims are asked for in the template's namespace. */
function templateFaults(ctx: RequestContext, object: KubeObject, old: KubeObject | undefined): Promise<StatusCause[]> {
  const claim = { ...object, spec: mapOf(mapOf(object.spec).spec) };
  return adminFaults(ctx, object.metadata.namespace ?? '', adminField('', claim, old));
}
