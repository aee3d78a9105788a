import { mapOf } from '../api/fields.ts';
import { deepCopy, type KubeObject } from '../api/object.ts';
import { decodeStored } from '../codec/stored.ts';
import type { Condition, Operation, StoredRecord } from '../keyspace/types.ts';
import { keyOf } from '../registry/keys.ts';
import { managed } from '../registry/managers.ts';
import { putOf, type Scope } from '../registry/scope.ts';
import { forbidden } from '../status/status.ts';
import { type Attributes, type Charge, type Plugin, subjectOf } from './chain.ts';
import { builtinRow, lookUpAll } from './lookup.ts';
import { type Assessment, assess } from './quota/charge.ts';
import type { Evaluator } from './quota/evaluator.ts';
import { evaluatorOf } from './quota/evaluators.ts';
import type { ResourceList } from './resource-lists.ts';

const quotas = builtinRow('v1', 'resourcequotas');
const none: readonly string[] = [];

/** What the policy is asked for to know a namespace's quotas. */
const partOf = (namespace: string) => `quotas of ${namespace}`;

/** Keys of the quotas of a namespace; where there are none, that costs no read. */
async function keysOf({ ctx, namespace }: Attributes): Promise<string[]> {
  const same = (a: readonly string[], b: readonly string[]) => a.join('/') === b.join('/');
  const names =
    ctx.policy === undefined
      ? (await lookUpAll(ctx, quotas, namespace)).map(({ metadata }) => metadata.name ?? '')
      : await ctx.policy.follow(partOf(namespace), (bundle) => bundle.quotas.get(namespace) ?? none, same);
  return names.map((name) => keyOf(quotas, namespace, name));
}

type Records = (StoredRecord | undefined)[];

/** The quotas as the leader has them; `inTurn`: once the writes before this one, which go for the same, are through. */
async function read({ ctx }: Attributes, keys: string[], inTurn: boolean): Promise<Records> {
  if (!inTurn) return (await ctx.keyspace.get(keys, { type: 'leader' })).records;
  const [first] = (await ctx.keyspace.get(keys.slice(0, 1), { type: 'turn' })).records;
  const rest = keys.slice(1);
  return [first, ...(rest.length === 0 ? [] : (await ctx.keyspace.get(rest, { type: 'leader' })).records)];
}

const sameRecords = (a: Records, b: Records): boolean => a.every((r, i) => r?.modRevision === b[i]?.modRevision);

const present = (records: Records): StoredRecord[] => records.filter((record) => record !== undefined);

interface Decided {
  records: Records;
  charges: Extract<Assessment, { charges: unknown }>['charges'];
}

/** Decides on the quotas as the leader has them, and refuses only on what a quorum has confirmed. */
async function decide(attributes: Attributes, evaluator: Evaluator, keys: string[], inTurn: boolean): Promise<Decided> {
  const { ctx, operation, subresource, old } = attributes;
  const write = { operation, subresource, object: attributes.object!, old };
  const judge = (records: Records) => assess(evaluator, present(records).map(decodeStored), write, ctx.now());
  const records = await read(attributes, keys, inTurn);
  const first = judge(records);
  if ('charges' in first) return { records, charges: first.charges };
  const confirmed = (await ctx.keyspace.get(keys, { type: 'linearizable' })).records;
  const second = sameRecords(records, confirmed) ? first : judge(confirmed);
  if ('charges' in second) return { records: confirmed, charges: second.charges };
  throw forbidden(subjectOf(attributes), attributes.name, second.refusal);
}

/** The quota's record with that usage. */
function putUsage({ ctx, namespace }: Attributes, quota: KubeObject, key: string, used: ResourceList): Operation {
  const name = quota.metadata.name ?? '';
  const scope: Scope = { ctx, resource: quotas, subresource: 'status', namespace, name, options: { dryRun: false } };
  const next = deepCopy(quota);
  next.status = { ...mapOf(quota.status), used };
  return putOf(scope, key, managed(scope, { fieldManager: 'kube-apiserver' }, quota, next), quota);
}

async function charge(attributes: Attributes, inTurn: boolean): Promise<Charge | undefined> {
  const { namespace, resource, operation, subresource, object, old } = attributes;
  if (namespace === '' || object === undefined || (resource.group === '' && resource.resource === 'namespaces')) {
    return undefined;
  }
  const evaluator = evaluatorOf(resource);
  if (evaluator === undefined || !evaluator.handles({ operation, subresource, object, old })) return undefined;
  const keys = await keysOf(attributes);
  if (keys.length === 0) return undefined;
  const { records, charges } = await decide(attributes, evaluator, keys, inTurn);
  const conditions: Condition[] = [];
  const operations: Operation[] = [];
  for (const { quota, used } of charges) {
    const key = keyOf(quotas, namespace, quota.metadata.name ?? '');
    const record = records.find((candidate) => candidate?.key === key)!;
    conditions.push({ type: 'revision', key, revision: record.modRevision });
    operations.push(putUsage(attributes, decodeStored(record), key, used));
  }
  return { conditions, operations };
}

/**
 * Keeps a namespace's objects within its quotas. What a write costs commits with it, on condition that no one else was
 * charged meanwhile, so the last unit of a quota goes to one write only. Only limits in a quota's status are in force.
 */
export const resourceQuota: Plugin = {
  name: 'ResourceQuota',
  operations: ['CREATE', 'UPDATE'],
  followed: ({ namespace }) => partOf(namespace),
  charge,
};
