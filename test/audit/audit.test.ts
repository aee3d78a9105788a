import { describe, expect, it } from 'vitest';
import { AuditRecord } from '../../src/audit/event.ts';
import { auditConfig, parseAuditPolicy } from '../../src/audit/policy.ts';
import { AuditSink, LOG_BATCHING } from '../../src/audit/sink.ts';
import { webhookBackend } from '../../src/audit/webhook.ts';
import type { OutboundRequest } from '../../src/outbound/index.ts';
import type { RequestInfo, UserInfo } from '../../src/request/context.ts';

const user = (name: string, ...groups: string[]): UserInfo => ({ name, groups, extra: {} });
const resource = (
  verb: string,
  group: string,
  name: string,
  subresource = '',
  namespace = 'n',
  object = '',
): RequestInfo =>
  ({
    isResourceRequest: true,
    verb,
    group,
    version: 'v1',
    resource: name,
    subresource,
    namespace,
    name: object,
  }) as RequestInfo;
const path = (p: string): RequestInfo => ({ isResourceRequest: false, verb: 'get', path: p }) as RequestInfo;

const policy = parseAuditPolicy(`
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: None, users: [quiet]}
- {level: None, nonResourceURLs: ["/livez*", "/version"]}
- {level: RequestResponse, omitManagedFields: false, resources: [{group: "", resources: [configmaps], resourceNames: [one]}]}
- {level: Request, userGroups: [ops], verbs: [delete], namespaces: [n, ""]}
- {level: Metadata, omitStages: [Panic], resources: [{group: "", resources: ["pods/*", "*/scale"]}, {group: "*", resources: [jobs]}]}
`);

describe('audit policy', () => {
  it.each([
    [user('quiet'), resource('get', '', 'pods', 'log'), 'None'],
    [user('a'), path('/livez/ping'), 'None'],
    [user('a'), path('/metrics'), 'None'],
    [user('a'), resource('get', '', 'configmaps', '', 'n', 'one'), 'RequestResponse'],
    [user('a'), resource('get', '', 'configmaps', '', 'n', 'two'), 'None'],
    [user('a', 'ops'), resource('delete', 'apps', 'deployments'), 'Request'],
    [user('a', 'ops'), resource('delete', '', 'nodes', '', ''), 'Request'],
    [user('a', 'ops'), resource('delete', 'apps', 'deployments', '', 'other'), 'None'],
    [user('a'), resource('get', '', 'pods'), 'None'],
    [user('a'), resource('get', '', 'pods', 'log'), 'Metadata'],
    [user('a'), resource('get', 'apps', 'deployments', 'scale'), 'None'],
    [user('a'), resource('get', '', 'replicationcontrollers', 'scale'), 'Metadata'],
    [user('a'), resource('get', 'batch', 'jobs'), 'Metadata'],
  ] as const)('%#: the first rule that matches decides', (who, info, level) => {
    expect(auditConfig(policy, who, info).level).toBe(level);
  });

  it('joins the stages left out, and lets a rule decide on managed fields', () => {
    const pods = auditConfig(policy, user('a'), resource('get', '', 'pods', 'log'));
    expect([...pods.omitStages]).toEqual(['RequestReceived', 'Panic']);
    expect(pods.omitManagedFields).toBe(true);
    const one = auditConfig(policy, user('a'), resource('get', '', 'configmaps', '', 'n', 'one'));
    expect(one.omitManagedFields).toBe(false);
  });

  it.each([
    ['kind: Policy\napiVersion: audit.k8s.io/v1\nrules: []', /rules/],
    ['kind: Policy\napiVersion: audit.k8s.io/v2\nrules: [{level: None}]', /apiVersion/],
    ['kind: Policy\napiVersion: audit.k8s.io/v1\nrules: [{level: All}]', /rules\.0\.level/],
    ['kind: Policy\napiVersion: audit.k8s.io/v1\nrules: [{level: None, verb: [get]}]', /rules\.0\.verb/],
  ])('%#: says where a policy is wrong', (text, where) => {
    expect(() => parseAuditPolicy(text)).toThrow(where);
  });
});

function recordAt(level: 'Metadata' | 'Request' | 'RequestResponse', omitManagedFields = false) {
  const events: Record<string, unknown>[] = [];
  const request = new Request('https://host/api/v1/namespaces/n/configmaps', {
    headers: { 'user-agent': 'x'.repeat(1100) },
  });
  const info = resource('create', '', 'configmaps');
  const received = new Date(Date.UTC(2026, 0, 1));
  const facts = { auditId: 'id', request, uri: '/u', info, user: user('ann', 'g'), received, sourceIPs: ['192.0.2.1'] };
  const config = { level, omitStages: new Set<never>(), omitManagedFields };
  return { record: new AuditRecord(facts, config, (event) => void events.push(event)), events };
}

const configMap = {
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name: 'c', uid: 'u', managedFields: [] },
  data: { a: '1' },
};
const answered = (record: AuditRecord) => {
  record.answered(new TextEncoder().encode(JSON.stringify(configMap)), 'application/json');
  record.answer(new Response('{}', { status: 201 }), undefined, false, () => new Date(Date.UTC(2026, 0, 2)));
};

describe('audit record', () => {
  it('leaves bodies out at Metadata, and completes the reference from the object', () => {
    const { record, events } = recordAt('Metadata');
    record.requestObject(configMap);
    answered(record);
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      stage: 'ResponseComplete',
      requestReceivedTimestamp: '2026-01-01T00:00:00.000000Z',
      stageTimestamp: '2026-01-02T00:00:00.000000Z',
      objectRef: { resource: 'configmaps', namespace: 'n', name: 'c', apiVersion: 'v1', uid: 'u' },
      responseStatus: { metadata: {}, code: 201 },
      userAgent: `${'x'.repeat(1024)}...TRUNCATED`,
    });
    expect(events[0]).not.toHaveProperty('requestObject');
    expect(events[0]).not.toHaveProperty('responseObject');
  });

  it('keeps the request at Request, and both at RequestResponse, without managed fields where told', () => {
    const asked = recordAt('Request');
    asked.record.requestObject(configMap);
    answered(asked.record);
    expect(asked.events[0]).toMatchObject({ requestObject: configMap });
    expect(asked.events[0]).not.toHaveProperty('responseObject');
    const both = recordAt('RequestResponse', true);
    both.record.requestObject(configMap);
    answered(both.record);
    const { managedFields: _, ...metadata } = configMap.metadata;
    expect(both.events[0]).toMatchObject({
      requestObject: { metadata },
      responseObject: { metadata, data: { a: '1' } },
    });
    expect(JSON.stringify(both.events[0])).not.toContain('managedFields');
  });

  it('records a stream when it begins and when it ends', async () => {
    const { record, events } = recordAt('Metadata');
    const response = record.answer(new Response('frame'), undefined, true, () => new Date());
    expect(events.map(({ stage }) => stage)).toEqual(['ResponseStarted']);
    expect(await response.text()).toBe('frame');
    expect(events.map(({ stage }) => stage)).toEqual(['ResponseStarted', 'ResponseComplete']);
  });
});

describe('audit sink', () => {
  const failsWith = (fault: string) => async () => {
    throw new Error(fault);
  };

  function sinkOver(send: (events: readonly string[]) => Promise<void>, maxSize = 10_000) {
    const work: Promise<void>[] = [];
    const lost: Record<string, number> = {};
    const runtime = { now: () => 0, sleep: async () => undefined, keep: (w: Promise<void>) => void work.push(w) };
    const sink = new AuditSink({ name: 'webhook', send }, { ...LOG_BATCHING, maxSize }, runtime, {
      auditErrors: (plugin, n) => {
        lost[plugin] = (lost[plugin] ?? 0) + n;
      },
    });
    return { sink, lost, settled: () => Promise.all(work) };
  }

  it('sends what gathers together, in order, in batches of at most a size', async () => {
    const batches: string[] = [];
    const { sink, settled } = sinkOver(async (events) => void batches.push(events.join()), 2);
    for (let i = 0; i < 5; i++) sink.write({ i });
    await settled();
    expect(batches).toEqual(['{"i":0},{"i":1}', '{"i":2},{"i":3}', '{"i":4}']);
  });

  it('tries again, and counts what is lost in the end', async () => {
    let failures = 2;
    const taken: string[] = [];
    const first = sinkOver(async (events) => {
      if (failures-- > 0) throw new Error('down');
      taken.push(...events);
    });
    first.sink.write({ a: 1 });
    await first.settled();
    expect([taken.length, first.lost]).toEqual([1, {}]);
    const second = sinkOver(failsWith('down'));
    second.sink.write({ a: 2 });
    second.sink.write({ a: 3 });
    await second.settled();
    expect(second.lost).toEqual({ webhook: 2 });
  });

  it('drops and counts what no longer fits', () => {
    const { sink, lost } = sinkOver(() => new Promise(() => undefined));
    for (let i = 0; i < 10_005; i++) sink.write({ i });
    expect(lost).toEqual({ buffered: 5 });
  });

  it('sends a webhook lists of events, which alone say their type', async () => {
    const sent: OutboundRequest[] = [];
    const connection = { server: 'https://audit.test/in?a=b', authority: 'PEM', insecure: false, serverName: '' };
    const webhook = { connection: { ...connection, authorization: 'Bearer abc' } };
    let status = 200;
    const backend = webhookBackend(webhook, async (request) => {
      sent.push(request);
      return new Response(null, { status });
    });
    await backend.send(['{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata"}', '{"x":"{}"}']);
    expect(sent).toMatchObject([
      {
        url: 'https://audit.test/in?a=b&timeout=30s',
        method: 'POST',
        authority: 'PEM',
        headers: { 'content-type': 'application/json', authorization: 'Bearer abc' },
      },
    ]);
    expect(JSON.parse(String(sent[0]?.body))).toEqual({
      kind: 'EventList',
      apiVersion: 'audit.k8s.io/v1',
      metadata: {},
      items: [{ level: 'Metadata' }, { x: '{}' }],
    });
    status = 500;
    await expect(backend.send(['{}'])).rejects.toThrow('500');
  });
});
