import { exportJWK, generateKeyPair } from 'jose';
import type { AuthenticationDeps } from '../../src/authn/index.ts';
import { type Config, parseConfig } from '../../src/config.ts';
import type { RecordMeta } from '../../src/keyspace/types.ts';
import { unreachable } from '../../src/outbound/index.ts';
import { RequestPolicy } from '../../src/policy/guard.ts';
import type { RequestContext, RequestInfo, TenantUid, UserInfo } from '../../src/request/context.ts';
import { StatusError } from '../../src/status/status.ts';
import { type MemoryKeyspace, memoryKeyspace } from '../support/memory-keyspace.ts';

export const tenant = 'tenant-1' as TenantUid;
export const now = new Date('2026-11-29T12:00:00Z');

const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 1 };

/** A configuration with one RSA key. */
export async function makeConfig(more: object = {}): Promise<Config> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const privateJwk = { ...(await exportJWK(privateKey)) };
  const base = {
    tenant: { uid: tenant, name: 'default', replicas: [1] },
    serviceAccountKeys: [{ kid: 'k1', privateJwk }],
  };
  return parseConfig(JSON.stringify({ ...base, ...more }));
}

/** Stores objects at keys as bare JSON. */
export async function store(
  keyspace: MemoryKeyspace,
  objects: Record<string, object>,
  terms: string[] = [],
): Promise<void> {
  const meta: RecordMeta = { labels: {}, fields: {}, terms, tag };
  const encoder = new TextEncoder();
  await keyspace.propose({
    conditions: [],
    operations: Object.entries(objects).map(([key, object]) => ({
      type: 'put',
      key,
      value: encoder.encode(JSON.stringify(object)),
      meta,
    })),
  });
}

export function makeDeps(
  config: Config,
  keyspace: MemoryKeyspace = memoryKeyspace(),
  at = now,
  more: Partial<AuthenticationDeps> = {},
): AuthenticationDeps {
  return {
    config,
    tenant,
    keyspace,
    now: () => at,
    outbound: unreachable,
    sleep: async () => {},
    path: '/api',
    ...more,
  };
}

export const infoOf = (more: Partial<RequestInfo>): RequestInfo => ({
  isResourceRequest: true,
  path: '/',
  verb: 'get',
  apiPrefix: 'api',
  group: '',
  version: 'v1',
  namespace: '',
  resource: 'pods',
  subresource: '',
  name: '',
  parts: [],
  ...more,
});

export const userOf = (name: string, groups: string[] = ['system:authenticated']): UserInfo => ({
  name,
  groups,
  extra: {},
});

/** A request context over a keyspace, with a policy of its own tenant so that tests share no cache. */
export async function makeContext(
  keyspace: MemoryKeyspace,
  user: UserInfo,
  info: Partial<RequestInfo> = {},
): Promise<RequestContext & { policy: RequestPolicy }> {
  const own = crypto.randomUUID() as TenantUid;
  const policy = await RequestPolicy.open(own, keyspace);
  const request = new Request('https://server/');
  return {
    request,
    url: new URL(request.url),
    tenant: own,
    auditId: 'audit',
    info: infoOf(info),
    user,
    keyspace: policy.keyspace,
    policy,
    warnings: [],
    now: () => now,
    longRunning: () => () => {},
  };
}

/** The Status of a rejected promise. */
export async function statusOf(promise: Promise<unknown>): Promise<StatusError['status']> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  throw new Error('expected a refusal');
}
