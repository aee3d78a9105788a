import { documentCache } from '../../src/aggregation/documents.ts';
import { createApp } from '../../src/app.ts';
import { parseConfig } from '../../src/config.ts';
import { Metrics } from '../../src/discovery/metrics.ts';
import { FlowControl } from '../../src/flowcontrol/index.ts';
import type { Keyspace } from '../../src/keyspace/types.ts';
import type { Outbound } from '../../src/outbound/index.ts';
import { forgetPolicy } from '../../src/policy/bundle.ts';
import type { TenantUid, UserInfo } from '../../src/request/context.ts';
import { memoryKeyspace } from './memory-keyspace.ts';

/** Who a test acts as unless it says otherwise: an administrator. */
export const ADMIN: UserInfo = {
  name: 'kubernetes-admin',
  groups: ['system:masters', 'system:authenticated'],
  extra: {},
};

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

export interface TestApp {
  keyspace: Keyspace;
  /** Serves a request as it is. */
  fetch(request: Request): Promise<Response>;
  /** Sends a request with a JSON body; answers with the parsed body, or its text. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

let count = 0;

/** The whole pipeline in memory, as an administrator, with the namespaces that are given; `outbound` plays the world,
 * `settings` are more of the configuration. */
export async function testApp(
  namespaces: string[] = ['default'],
  outbound?: Outbound,
  settings: object = {},
): Promise<TestApp> {
  const uid = `test-${++count}`;
  const config = parseConfig(JSON.stringify({ tenant: { uid, name: 'default', replicas: [1] }, ...settings }));
  const keyspace = memoryKeyspace();
  forgetPolicy(uid as TenantUid);
  const app = createApp({
    config,
    keyspace: () => keyspace,
    metrics: new Metrics(new Date()),
    flowControl: new FlowControl(600, () => Date.now()),
    now: () => new Date(),
    loopback: ADMIN,
    documents: documentCache(),
    ...(outbound && { outbound }),
  });
  const call: TestApp['call'] = async (method, path, body, headers = {}) => {
    const init: RequestInit = { method, headers: { accept: 'application/json', 'user-agent': 'test/1', ...headers } };
    if (body !== undefined) {
      init.body = typeof body === 'string' ? body : JSON.stringify(body);
      (init.headers as Record<string, string>)['content-type'] ??= 'application/json';
    }
    const response = await app.fetch(new Request(`https://test${path}`, init));
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    return {
      status: response.status,
      headers: response.headers,
      body: type.startsWith('application/json') && text !== '' ? JSON.parse(text) : text,
    };
  };
  for (const name of namespaces) {
    await call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  return { keyspace, call, fetch: async (request) => app.fetch(request) };
}
