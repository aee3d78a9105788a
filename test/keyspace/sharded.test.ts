import { describe, expect, it } from 'vitest';
import { ShardedKeyspace } from '../../src/keyspace/sharded.ts';
import { SHARDABLE, shardsFault } from '../../src/keyspace/shards.ts';
import { unknownFloor } from '../../src/keyspace/side-shard.ts';
import type { Batch, Operation, WorkItem } from '../../src/keyspace/types.ts';
import { RequestPolicy } from '../../src/policy/guard.ts';
import { builtins } from '../../src/registry/resource.ts';
import type { TenantUid } from '../../src/request/context.ts';
import { forbidden, StatusError } from '../../src/status/status.ts';
import { memoryKeyspace } from '../support/memory-keyspace.ts';

const SHARDS = [{ name: 'volatile', resources: ['events', 'leases'], replicas: [1] }];
const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 0, resourceVersionAt: 0 };
const fresh = { type: 'linearizable' } as const;

function put(
  key: string,
  { fields = {}, terms = [], work }: { fields?: Record<string, string>; terms?: string[]; work?: WorkItem[] } = {},
  value = '{}',
): Operation & { type: 'put' } {
  const meta = { labels: {}, fields, terms, tag };
  return { type: 'put', key, value: new TextEncoder().encode(value), meta, ...(work && { work }) };
}

const namespace = (name: string, uid: string, phase = 'Active') =>
  put(`/registry/namespaces/${name}`, { fields: { 'status.phase': phase }, terms: [`uid:${uid}`] });
const inNamespace = (name: string, ...operations: Operation[]): Batch => ({
  conditions: [{ type: 'field', key: `/registry/namespaces/${name}`, field: 'status.phase', value: 'Active' }],
  operations,
});
const plain = (...operations: Operation[]): Batch => ({ conditions: [], operations });

/** A tenant of two shards; `isolate` gives the keyspace of one isolate, each with a memory of its own. */
function tenant() {
  const stores = { main: memoryKeyspace(), volatile: memoryKeyspace() };
  const isolate = () => {
    const floor = unknownFloor();
    return new ShardedKeyspace(SHARDS, (name) => ({ keyspace: stores[name as keyof typeof stores], floor }));
  };
  return { ...stores, isolate };
}

const keysOf = async (keyspace: { list: ShardedKeyspace['list'] }, prefix = '/registry/') =>
  (await keyspace.list({ prefix, limit: 0, consistency: fresh })).records.map(({ key }) => key);

describe('placement', () => {
  it('names the prefixes that the registry stores below', () => {
    const rows = [...builtins.values()].flatMap((byName) => [...byName.values()]);
    for (const [name, prefix] of Object.entries(SHARDABLE)) {
      const stored = rows.filter(({ resource, storage }) => resource === name && storage !== undefined);
      expect(new Set(stored.map(({ storage }) => `${storage!.prefix}/`))).toEqual(new Set([prefix]));
      expect(rows.filter(({ storage }) => storage && `${storage.prefix}/` === prefix)).toEqual(stored);
    }
  });

  it.each([
    [[{ name: 'main', resources: [] }], 'taken'],
    [[{ name: 'a b', resources: [] }], 'lower-case'],
    [[{ name: 'a', resources: ['secrets'] }], 'secrets'],
    [[{ name: 'a', resources: ['toString'] }], 'toString'],
    [
      [
        { name: 'a', resources: ['events'] },
        { name: 'b', resources: ['events'] },
      ],
      'two shards',
    ],
  ])('refuses %j', (shards, fault) => expect(shardsFault(shards)).toContain(fault));

  it('keeps each resource in its shard, and lists what spans shards in key order and in pages', async () => {
    const { main, volatile, isolate } = tenant();
    const keyspace = isolate();
    const keys = ['/registry/configmaps/a/x', '/registry/events/a/1', '/registry/events/a/2', '/registry/leases/a/l'];
    keys.push('/registry/eventsources/z', '/registry/pods/a/p');
    for (const key of keys) await keyspace.propose(plain(put(key, { terms: ['t'] })));
    expect(await keysOf(main)).toEqual([keys[0], keys[4], keys[5]]);
    expect(await keysOf(volatile)).toEqual([keys[1], keys[2], keys[3]]);
    const seen: string[] = [];
    for (let after: string | undefined; ; ) {
      const request = { prefix: '/registry/', limit: 2, consistency: fresh, term: 't', ...(after && { after }) };
      const page = await keyspace.list(request);
      seen.push(...page.records.map(({ key }) => key));
      after = seen.at(-1);
      if (!page.more) break;
    }
    expect(seen).toEqual([...keys].sort());
    const got = await keyspace.get([keys[3]!, keys[0]!, '/registry/leases/none', keys[1]!], fresh);
    expect(got.records.map((record) => record?.key)).toEqual([keys[3], keys[0], undefined, keys[1]]);
  });
});

describe('namespaces', () => {
  it('conditions writes elsewhere on the namespace in main', async () => {
    const keyspace = tenant().isolate();
    const create = inNamespace('a', put('/registry/events/a/1'));
    expect(await keyspace.propose(create)).toMatchObject({ ok: false, failed: 0, current: undefined });
    await keyspace.propose(plain(namespace('a', 'u1')));
    expect(await keyspace.propose(create)).toMatchObject({ ok: true });
    await keyspace.propose(plain(namespace('a', 'u1', 'Terminating')));
    const refused = await keyspace.propose(inNamespace('a', put('/registry/events/a/2')));
    expect(refused).toMatchObject({ ok: false, failed: 0, current: { key: '/registry/namespaces/a' } });
  });

  it('lets no write that began before into a namespace that is gone, whenever it arrives', async () => {
    for (const recreated of [false, true]) {
      const { main, volatile, isolate } = tenant();
      const keyspace = isolate();
      await keyspace.propose(plain(namespace('a', 'u1')));
      // The write looks at the namespace; before it goes on, the namespace ends.
      const late = new ShardedKeyspace(SHARDS, (name) => ({
        floor: unknownFloor(),
        keyspace:
          name === 'main'
            ? main
            : {
                ...bound(volatile),
                propose: async (batch: Batch, policy?: number) => {
                  await keyspace.propose(plain(put('/registry/events/a/left')));
                  await keyspace.propose(plain(namespace('a', 'u1', 'Terminating')));
                  await keyspace.propose(plain({ type: 'delete', key: '/registry/namespaces/a' }));
                  if (recreated) await keyspace.propose(plain(namespace('a', 'u2', 'Terminating')));
                  return volatile.propose(batch, policy);
                },
              },
      }));
      const result = await late.propose(inNamespace('a', put('/registry/events/a/late')));
      expect(result).toMatchObject({ ok: false, failed: 0 });
      expect(await keysOf(volatile)).toEqual([]);
    }
  });

  it('gives back what a failed write elsewhere was charged in main', async () => {
    const { main, isolate } = tenant();
    const keyspace = isolate();
    await keyspace.propose(plain(namespace('a', 'u1'), put('/registry/resourcequotas/a/q', {}, 'used 0')));
    await keyspace.propose(inNamespace('a', put('/registry/leases/a/l')));
    const batch = inNamespace('a', put('/registry/leases/a/l'), put('/registry/resourcequotas/a/q', {}, 'used 1'));
    batch.conditions.push({ type: 'absent', key: '/registry/leases/a/l' });
    expect(await keyspace.propose(batch)).toMatchObject({ ok: false, failed: 1, current: { createRevision: 1 } });
    const value = async () =>
      new TextDecoder().decode((await main.get(['/registry/resourcequotas/a/q'], fresh)).records[0]!.value);
    expect(await value()).toBe('used 0');
    const other = inNamespace('a', put('/registry/leases/a/m'), put('/registry/resourcequotas/a/q', {}, 'used 1'));
    const done = await keyspace.propose(other);
    expect(done).toMatchObject({ ok: true, previous: [undefined, { key: '/registry/resourcequotas/a/q' }] });
    expect(await value()).toBe('used 1');
  });
});

/** The methods of a keyspace as an object that may be spread. */
function bound(keyspace: ReturnType<typeof memoryKeyspace>) {
  return {
    get: keyspace.get.bind(keyspace),
    list: keyspace.list.bind(keyspace),
    propose: keyspace.propose.bind(keyspace),
    watch: keyspace.watch.bind(keyspace),
    policyRevision: keyspace.policyRevision.bind(keyspace),
    work: keyspace.work.bind(keyspace),
  };
}

describe('outbox', () => {
  const gc = (uid: string): WorkItem => ({
    loop: 'garbage-collector',
    item: `owner-deleted:${uid}`,
    ifTerm: `owner:${uid}`,
  });

  it('has the rows of all shards, of owners with dependents in another one too, and takes each out where it is', async () => {
    const keyspace = tenant().isolate();
    await keyspace.propose(plain(put('/registry/minions/n'), put('/registry/leases/a/l', { terms: ['owner:node'] })));
    await keyspace.propose(plain(put('/registry/leases/a/m'), put('/registry/pods/a/p', { terms: ['owner:lease'] })));
    await keyspace.propose(plain({ type: 'delete', key: '/registry/minions/n', work: [gc('node')] }));
    await keyspace.propose(plain({ type: 'delete', key: '/registry/leases/a/m', work: [gc('lease')] }));
    await keyspace.propose(plain({ type: 'delete', key: '/registry/leases/a/l', work: [gc('nobody')] }));
    const rows = await keyspace.work(10);
    expect(rows.map(({ item }) => item)).toEqual(['owner-deleted:node', 'owner-deleted:lease']);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(2);
    await keyspace.propose(plain({ type: 'done', id: rows[1]!.id }));
    expect(await keyspace.work(10)).toEqual([rows[0]]);
    await keyspace.propose(plain({ type: 'done', id: rows[0]!.id }));
    expect(await keyspace.work(10)).toEqual([]);
  });
});

describe('policy floor', () => {
  const BINDING = '/registry/clusterrolebindings/b';
  let isolates = 0;

  /** A request in an isolate of its own, whose right to write events rests on the binding. */
  async function request(keyspace: ShardedKeyspace) {
    const policy = await RequestPolicy.open(`isolate-${isolates++}` as TenantUid, keyspace);
    const decide = () =>
      policy.decide((bundle) => {
        if (!bundle.compiled.has(BINDING)) throw forbidden({ group: '', name: 'events' }, 'e', 'no binding');
      });
    return { policy, decide };
  }
  const code = (promise: Promise<unknown>) =>
    promise.then(
      () => 'done',
      (error: unknown) => (error instanceof StatusError ? error.status.code : error),
    );

  it('lets nothing through that was decided by a binding which another isolate has seen revoked', async () => {
    const { volatile, isolate } = tenant();
    const admin = isolate();
    await admin.propose(plain(put(BINDING)));
    const requests = await Promise.all(Array.from({ length: 3 }, () => request(isolate())));
    for (const { decide } of requests) await decide();
    const [writer, reader, lister] = requests;
    expect(await code(writer!.policy.keyspace.propose(plain(put('/registry/events/a/1'))))).toBe('done');
    await admin.propose(plain({ type: 'delete', key: BINDING }));
    expect(await code(writer!.policy.keyspace.propose(plain(put('/registry/events/a/2'))))).toBe(403);
    expect(await code(reader!.policy.keyspace.get(['/registry/events/a/1'], fresh))).toBe(403);
    const list = { prefix: '/registry/events/', limit: 0, consistency: fresh };
    expect(await code(lister!.policy.keyspace.list(list))).toBe(403);
    expect(await keysOf(volatile)).toEqual(['/registry/events/a/1']);
  });

  it('is raised by whoever acts under a newer policy, and moves on with every change of it', async () => {
    const { main, volatile, isolate } = tenant();
    await isolate().propose(plain(put(BINDING)));
    const old = await request(isolate());
    await old.decide();
    // A Worker that was lost before it could raise the floor.
    await main.propose(plain({ type: 'delete', key: BINDING }), undefined);
    await main.propose(plain(put(`${BINDING}2`)), undefined);
    const now = await main.policyRevision();
    expect(await isolate().propose(plain(put('/registry/events/a/1')), now)).toMatchObject({ ok: true });
    expect(await code(old.policy.keyspace.propose(plain(put('/registry/events/a/2'))))).toBe(403);
    expect(await keysOf(volatile)).toEqual(['/registry/events/a/1']);
    const refused = await isolate().propose(plain(put('/registry/events/a/3')), now - 1);
    expect(refused).toEqual({ ok: false, policyMoved: true, policyRevision: now });
  });

  it('needs no second decision where the policy stays', async () => {
    const keyspace = tenant().isolate();
    await keyspace.propose(plain(put(BINDING)));
    const { policy, decide } = await request(keyspace);
    await decide();
    for (let i = 0; i < 3; i++) {
      expect(await policy.keyspace.propose(plain(put(`/registry/events/a/${i}`)))).toMatchObject({ ok: true });
    }
    expect((await policy.keyspace.get(['/registry/events/a/1'], fresh)).policyRevision).toBe(
      await keyspace.policyRevision(),
    );
  });
});
