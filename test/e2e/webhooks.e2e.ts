import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { behaviours } from '../webhooks/behaviours.ts';
import { conversionBehaviours } from '../webhooks/conversions.ts';
import { play } from '../webhooks/play.ts';
import { configMap, type Stage, told, webhook, withWebhooks } from '../webhooks/scenarios.ts';
import { type HookServer, startHooks } from '../webhooks/server.ts';
import { Api, type Tree, until } from './api.ts';

// A sidecar injector, a policy engine and hooks that misbehave in every way, as HTTPS servers with a private authority.
// `expected.json` is what kube-apiserver 1.36.3 does in the same scenarios (test/webhooks/record.ts).
const expected = JSON.parse(readFileSync(join(import.meta.dirname, '../webhooks/expected.json'), 'utf8'));
const name = `webhooks-${process.pid}`;
const address = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === 'IPv4' && !one.internal)?.address;
let stage: Stage;
let hooks: HookServer;

beforeAll(async () => {
  hooks = await startHooks({ ...behaviours, ...conversionBehaviours }, ['127.0.0.1', 'localhost', `hook.${name}.svc`]);
  const api = new Api(process.env.KUBECONFIG!);
  stage = { api, hooks, name, namespace: await api.namespace(name) };
});

afterAll(async () => {
  hooks.close();
  await stage.api.delete(stage.namespace);
});

/** Creates a config map, without storing it, while a validating webhook is in force; `probe`: until that is answered. */
async function tried(hook: Tree): Promise<Tree> {
  const { api, namespace } = stage;
  return withWebhooks(stage, 'Validating', [hook], async () =>
    told(stage, await api.post(`${namespace}/configmaps?dryRun=All`, configMap('c'))),
  );
}

test('every scenario comes out as with kube-apiserver', { timeout: 240_000 }, async () => {
  const findings: Record<string, Tree> = {};
  for await (const [what, outcome] of play(stage)) findings[what] = outcome;
  expect(findings).toEqual(expected);
});

describe('Services', () => {
  const service = { namespace: name, name: 'hook', path: '/deny' };
  const client = () => ({ service, caBundle: hooks.caBundle });

  test('one that is missing', async () => {
    const { message } = await tried(webhook(stage, '/deny', { clientConfig: client() }));
    expect(message).toContain('Post "https://hook.NS.svc:443/deny?timeout=1s": service "hook" not found');
  });

  test('an external name, known by the name of the Service', async () => {
    const spec = { type: 'ExternalName', externalName: 'localhost' };
    await stage.api.post(`${stage.namespace}/services`, { metadata: { name: 'hook' }, spec });
    const clientConfig = { ...client(), service: { ...service, port: hooks.port } };
    const { message } = await tried(webhook(stage, '/deny', { clientConfig }));
    expect(message).toBe('admission webhook "deny.example.com" denied the request without explanation');
    await stage.api.delete(`${stage.namespace}/services/hook`);
  });

  test.skipIf(address === undefined)('ready endpoints by the port that the Service names', async () => {
    const { api, namespace } = stage;
    const spec = { ports: [{ name: 'https', port: 443, targetPort: hooks.port }] };
    await api.post(`${namespace}/services`, { metadata: { name: 'hook' }, spec });
    const slice = {
      metadata: { name: 'hook-1', labels: { 'kubernetes.io/service-name': 'hook' } },
      addressType: 'IPv4',
      endpoints: [
        { addresses: ['192.0.2.1'], conditions: { ready: false } },
        { addresses: [address], conditions: { ready: true } },
      ],
      ports: [{ name: 'https', port: hooks.port }],
    };
    const made = await api.post(`/apis/discovery.k8s.io/v1/namespaces/${name}/endpointslices`, slice);
    expect(made.code).toBe(201);
    const { message } = await tried(webhook(stage, '/deny', { clientConfig: client() }));
    expect(message).toBe('admission webhook "deny.example.com" denied the request without explanation');
  });
});

describe('TLS', () => {
  const fault = 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
  const url = () => `https://127.0.0.1:${hooks.port}/allow`;

  test('a private authority that the configuration does not name is unknown', async () => {
    const { message } = await tried(webhook(stage, '/allow', { clientConfig: { url: url() } }));
    expect(message).toContain(fault);
  });

  test('another authority does not do', async () => {
    const other = await startHooks({});
    other.close();
    const clientConfig = { url: url(), caBundle: other.caBundle };
    const { message } = await tried(webhook(stage, '/allow', { clientConfig }));
    expect(message).toContain(fault);
  });

  test('a name that the certificate does not have', async () => {
    const clientConfig = { url: url().replace('127.0.0.1', '127.0.0.2'), caBundle: hooks.caBundle };
    const { message } = await tried(webhook(stage, '/allow', { clientConfig }));
    expect(message).toContain('x509: certificate is valid for 127.0.0.1, not 127.0.0.2');
  });
});

test('a webhook that hangs holds up no request that it does not ask for', async () => {
  const { api, namespace } = stage;
  const hanging = webhook(stage, '/silent', { timeoutSeconds: 30, objectSelector: { matchLabels: { slow: 'yes' } } });
  await withWebhooks(stage, 'Validating', [hanging], async () => {
    let isHeld = true;
    const held = api.post(`${namespace}/configmaps?dryRun=All`, configMap('slow', { slow: 'yes' }));
    held.finally(() => (isHeld = false)).catch(() => {});
    const others = await Promise.all(
      Array.from({ length: 20 }, (_, i) => api.post(`${namespace}/configmaps?dryRun=All`, configMap(`quick-${i}`))),
    );
    expect(others.map(({ code }) => code)).toEqual(others.map(() => 201));
    expect(isHeld).toBe(true);
    hooks.close();
    expect((await held).code).toBe(500);
  });
});

test('a quota that others are charged to meanwhile is checked again without asking webhooks again', async () => {
  const { api, namespace } = stage;
  const own = { ...stage, hooks: await startHooks(behaviours) };
  const hard = { 'count/configmaps': '12' };
  await api.post(`${namespace}/resourcequotas`, { metadata: { name: 'q' }, spec: { hard } });
  const path = `${namespace}/resourcequotas/q`;
  await until(async () => (await api.get(path)).json.status?.hard !== undefined, 'the quota to be in force');
  await withWebhooks(own, 'Validating', [webhook(own, '/allow')], async () => {
    const codes = await Promise.all(
      Array.from({ length: 30 }, async (_, i) => (await api.post(`${namespace}/configmaps`, configMap(`q-${i}`))).code),
    );
    expect(new Set(codes)).toEqual(new Set([201, 403]));
    expect(own.hooks.seen('/allow')).toHaveLength(30);
  });
  await api.delete(path);
  own.hooks.close();
});

test('a webhook that crashed is asked again once it is back', async () => {
  const { api, namespace } = stage;
  const again = await startHooks(behaviours);
  const own = { ...stage, hooks: again };
  const make = () => api.post(`${namespace}/configmaps?dryRun=All`, configMap('c'));
  await withWebhooks(own, 'Validating', [webhook(own, '/allow')], async () => {
    expect((await make()).code).toBe(201);
    again.close();
    expect((await make()).json.message).toMatch(/connect: connection refused|EOF|connection reset/);
    const back = await startHooks(behaviours, ['127.0.0.1'], { port: again.port, authority: again.authority });
    await until(async () => (await make()).code === 201, 'the webhook to be asked again');
    back.close();
  });
});
