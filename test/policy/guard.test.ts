import { beforeEach, describe, expect, test } from 'vitest';
import { attributesOf } from '../../src/authz/attributes.ts';
import { requireAllowed } from '../../src/authz/index.ts';
import type { Batch, Keyspace } from '../../src/keyspace/types.ts';
import { policyFor } from '../../src/policy/bundle.ts';
import { byPolicy, RequestPolicy } from '../../src/policy/guard.ts';
import type { TenantUid } from '../../src/request/context.ts';
import { infoOf } from '../authn/support.ts';
import { binding, byKey, role, statusOf, store, userOf } from '../authz/support.ts';
import { type MemoryKeyspace, memoryKeyspace } from '../support/memory-keyspace.ts';

const linearizable = { type: 'linearizable' } as const;
const BINDING = '/registry/rolebindings/web/reader';
const bound = byKey(
  binding('RoleBinding', 'web', 'reader', { kind: 'Role', name: 'reader' }, [{ kind: 'User', name: 'ann' }]),
);
const put = (key: string): Batch => ({
  conditions: [],
  operations: [
    {
      type: 'put',
      key,
      value: new Uint8Array([123, 125]),
      meta: {
        labels: {},
        fields: {},
        terms: [],
        tag: { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 1 },
      },
    },
  ],
});

describe('a request under the policy', () => {
  let tenant: TenantUid;
  let memory: MemoryKeyspace;
  let calls: string[];
  let keyspace: Keyspace;

  beforeEach(async () => {
    tenant = crypto.randomUUID() as TenantUid;
    memory = memoryKeyspace();
    calls = [];
    keyspace = new Proxy<Keyspace>(memory, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => {
          calls.push(String(name));
          return value.apply(target, args);
        };
      },
    });
    await store(memory, {
      ...byKey(role('Role', 'web', 'reader', [{ verbs: ['get', 'create'], apiGroups: [''], resources: ['pods'] }])),
      ...bound,
    });
    await policyFor(tenant, keyspace);
    calls = [];
  });

  /** What another isolate does: this one's cache learns nothing of it. */
  const elsewhere = {
    unbind: () => memory.propose({ conditions: [], operations: [{ type: 'delete', key: BINDING }] }),
    bind: () => store(memory, bound),
    bindMore: () => store(memory, byKey(role('Role', 'web', 'other', []))),
  };
  const open = () => RequestPolicy.open(tenant, keyspace);
  const authorize = (policy: RequestPolicy, name = 'ann', groups?: string[]) =>
    requireAllowed(attributesOf(userOf(name, groups), infoOf({ namespace: 'web' })), policy);

  test('costs no round trip while nothing moves', async () => {
    const policy = await open();
    await authorize(policy);
    await policy.keyspace.get(['/registry/pods/web/a'], linearizable);
    expect(calls).toEqual(['get']);
  });

  test('is refused only after the refusal is confirmed', async () => {
    await elsewhere.unbind();
    const stale = await open();
    await authorize(stale);
    await elsewhere.bind();
    const policy = await open();
    await authorize(policy);
    expect(await statusOf(authorize(policy, 'eve'))).toMatchObject({ code: 403 });
  });

  test('answers nothing that was read after the right was taken away', async () => {
    const policy = await open();
    await authorize(policy);
    await elsewhere.unbind();
    const status = await statusOf(policy.keyspace.get(['/registry/pods/web/a'], linearizable));
    expect(status).toMatchObject({ code: 403, reason: 'Forbidden' });
  });

  test('starts no watch after the right was taken away', async () => {
    const policy = await open();
    await authorize(policy);
    await elsewhere.unbind();
    const request = { prefix: '/registry/pods/', start: { type: 'now', consistency: linearizable } } as const;
    expect((await statusOf(policy.keyspace.watch(request, new AbortController().signal))).code).toBe(403);
  });

  test('writes nothing after the right was taken away', async () => {
    const policy = await open();
    await authorize(policy);
    await elsewhere.unbind();
    expect((await statusOf(policy.keyspace.propose(put('/registry/pods/web/a')))).code).toBe(403);
    expect((await memory.get(['/registry/pods/web/a'], linearizable)).records).toEqual([undefined]);
  });

  test('is decided anew and written when the policy moved and still allows it', async () => {
    const policy = await open();
    await authorize(policy);
    await elsewhere.bindMore();
    expect((await policy.keyspace.propose(put('/registry/pods/web/a'))).ok).toBe(true);
    expect(calls.filter((c) => c === 'propose')).toHaveLength(2);
  });

  test('of a superuser does not look at the policy', async () => {
    const policy = await open();
    await authorize(policy, 'root', ['system:masters']);
    await elsewhere.bindMore();
    await policy.keyspace.get(['/registry/pods/web/a'], linearizable);
    await policy.keyspace.propose(put('/registry/pods/web/a'));
    expect(calls).toEqual(['get', 'propose']);
  });

  test('starts from the newest revision that the isolate has seen', async () => {
    const first = await open();
    await elsewhere.bindMore();
    await first.keyspace.get(['/registry/pods/web/a'], linearizable);
    calls = [];
    const second = await open();
    expect(second.bundle.revision).toBeGreaterThan(first.bundle.revision);
    expect(calls).not.toEqual([]);
  });

  test('reloads only what changed', async () => {
    const before = await policyFor(tenant, keyspace);
    await elsewhere.bindMore();
    const policy = await open();
    await policy.confirm();
    expect(policy.bundle.compiled.get(BINDING)).toBe(before.compiled.get(BINDING));
    expect(policy.bundle.rbac.rules('web', 'other')).toEqual([]);
    expect(calls.filter((c) => c === 'get')).toHaveLength(1);
  });
});

describe('what is done by a part of the policy', () => {
  const part = ({ revision }: { revision: number }) => revision;
  const same = (a: number, b: number) => a === b;

  async function setUp() {
    const memory = memoryKeyspace();
    await store(memory, bound);
    const policy = await RequestPolicy.open(crypto.randomUUID() as TenantUid, memory);
    let changes = 0;
    return {
      ctx: { warnings: ['before'], policy },
      read: () => policy.keyspace.get(['/registry/pods/web/a'], linearizable),
      change: () => store(memory, byKey(role('Role', 'web', `other-${++changes}`, []))),
    };
  }

  test('is done anew when it changed meanwhile, without the warnings of the first time', async () => {
    const { ctx, read, change } = await setUp();
    let times = 0;
    const done = await byPolicy(ctx, async () => {
      const taken = await ctx.policy.follow('part', part, same);
      ctx.warnings.push(`time ${++times}`);
      if (times === 1) await change();
      await read();
      return taken;
    });
    expect([done, times, ctx.warnings]).toEqual([ctx.policy.bundle.revision, 2, ['before', 'time 2']]);
  });

  test('binds the request no longer once it is done or refused', async () => {
    const { ctx, read, change } = await setUp();
    await byPolicy(ctx, () => ctx.policy.follow('part', part, same));
    await change();
    await read();
    const refused = byPolicy(ctx, async () => {
      await ctx.policy.follow('part', part, same);
      throw new Error('refused');
    });
    await expect(refused).rejects.toThrow('refused');
    await change();
    await read();
  });

  test('is the outer one’s to do anew when the inner one finds out', async () => {
    const { ctx, read, change } = await setUp();
    const done: string[] = [];
    await byPolicy(ctx, async () => {
      await ctx.policy.follow('outer', part, same);
      done.push('outer');
      await byPolicy(ctx, async () => {
        done.push('inner');
        if (done.length === 2) await change();
        await read();
      });
    });
    expect(done).toEqual(['outer', 'inner', 'outer', 'inner']);
  });
});
