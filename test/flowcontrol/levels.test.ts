import { describe, expect, it } from 'vitest';
import { FlowIndex, flowEntry } from '../../src/flowcontrol/flow-schemas.ts';
import { FlowControl } from '../../src/flowcontrol/index.ts';
import type { RequestInfo, TenantUid, UserInfo } from '../../src/request/context.ts';

const schema = (name: string, precedence: number, level: string, user: string) =>
  flowEntry({
    kind: 'FlowSchema',
    metadata: { name, uid: `uid-${name}` },
    spec: {
      matchingPrecedence: precedence,
      priorityLevelConfiguration: { name: level },
      distinguisherMethod: { type: 'ByUser' },
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: user } }],
          resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
        },
      ],
    },
  })!;
const level = (name: string, limitResponse: object) =>
  flowEntry({
    kind: 'PriorityLevelConfiguration',
    metadata: { name, uid: `uid-${name}` },
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 1, borrowingLimitPercent: 0, limitResponse } },
  } as never)!;

const QUEUE = { type: 'Queue', queuing: { queues: 4, handSize: 1, queueLengthLimit: 2 } };
const index = new FlowIndex([
  schema('narrow', 10, 'rejecting', 'ann'),
  schema('wide', 20, 'queuing', '*'),
  level('rejecting', { type: 'Reject' }),
  level('queuing', QUEUE),
]);
const tenant = 'flow' as TenantUid;
const userOf = (name: string): UserInfo => ({ name, groups: [], extra: {} });
const info = {
  ...{ isResourceRequest: true, verb: 'get', group: '', resource: 'pods', subresource: '' },
  ...{ namespace: 'a', name: 'p' },
} as RequestInfo;

/** Two levels of two seats each; `enter` says whether a request got in. */
function setUp() {
  const flows = new FlowControl(4, () => 0);
  const enter = (name: string, signal = new AbortController().signal) => {
    const user = userOf(name);
    return flows.enter(tenant, index, index.classify(user, info)!, { user, info, limit: 0 }, signal);
  };
  return { flows, enter };
}

describe('priority levels', () => {
  it('tries schemas by precedence', () => {
    expect(index.classify(userOf('ann'), info)?.schema.name).toBe('narrow');
    expect(index.classify(userOf('bob'), info)).toMatchObject({ schema: { name: 'wide' }, flow: 'bob' });
    expect(index.classify(userOf('bob'), { ...info, isResourceRequest: false })).toBeUndefined();
  });

  it('refuses at once where the level does not queue, and only that level', async () => {
    const { enter } = setUp();
    const passes = [await enter('ann'), await enter('ann')];
    expect(passes).not.toContain(undefined);
    expect(await enter('ann')).toBeUndefined();
    expect(await enter('bob')).toBeDefined();
    passes[0]!.done();
    expect(await enter('ann')).toBeDefined();
  });

  it('lets the next in when a seat is free, and refuses what finds no place to wait', async () => {
    const { enter } = setUp();
    const first = await enter('bob');
    await enter('bob');
    const waiting = [enter('bob'), enter('bob')];
    expect(await enter('bob')).toBeUndefined();
    first!.done();
    expect(await waiting[0]).toBeDefined();
  });

  it('forgets who goes away while waiting', async () => {
    const { flows, enter } = setUp();
    await enter('bob');
    await enter('bob');
    const client = new AbortController();
    const waiting = enter('bob', client.signal);
    client.abort();
    expect(await waiting).toBeUndefined();
    expect(flows.levels(tenant, index).level('queuing')).toMatchObject({ waiting: 0, counts: { cancelled: 1 } });
  });
});
