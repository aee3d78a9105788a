import { beforeAll, describe, expect, test } from 'vitest';
import { APPLY, JSON_PATCH, MERGE, type Tree, YAML } from './api.ts';
import { bareCluster, causeFields, configMap, definition, gizmo, gizmoDefinition, gizmosOf } from './user-reports.ts';

const bare = bareCluster();
const root = '/api/v1/namespaces/values';
const gizmos = gizmosOf('values');

beforeAll(async () => {
  await bare.api.namespace('values');
  await bare.api.define(gizmoDefinition);
});

const container = { name: 'c', image: 'registry.example/c:1' };
const podTemplate = { metadata: { labels: { app: 'x' } }, spec: { containers: [container] } };

describe('B09 64-bit integers', () => {
  const raw = (name: string, spec: string) =>
    `{"apiVersion":"bug.test/v1","kind":"Gizmo","metadata":{"name":"${name}"},"spec":${spec}}`;
  const spec =
    '{"big":9007199254740993,"ratio":1.0,"free":{"a":9223372036854775807,"b":1000000009,"c":1e3,"d":1.50,"e":100000000000000000000000}}';
  const exact = [
    '"big":9007199254740993',
    '"a":9223372036854775807',
    '"b":1000000009',
    '"c":1000,',
    '"d":1.5',
    '"e":1e+23',
  ];

  test('come back digit for digit, also after patches that do not touch them', async () => {
    const created = await bare.api.post(gizmos, raw('exact', spec));
    expect(created.code).toBe(201);
    const yaml = (await bare.api.get(`${gizmos}/exact`, { accept: YAML })).text;
    for (const part of [
      'big: 9007199254740993',
      'a: 9223372036854775807',
      'b: 1000000009',
      'c: 1000',
      'd: 1.5',
      'e: 1e+23',
    ])
      expect(yaml).toContain(`${part}\n`);
    expect(yaml).toMatch(/ratio: 1\n/);
    expect((await bare.api.merge(`${gizmos}/exact`, { spec: { size: 9 } })).code).toBe(200);
    const tested = (value: string) =>
      bare.api.patch(
        `${gizmos}/exact`,
        JSON_PATCH,
        `[{"op":"test","path":"/spec/big","value":${value}},{"op":"replace","path":"/spec/size","value":10}]`,
      );
    expect((await tested('9007199254740993')).code).toBe(200);
    expect((await tested('9007199254740992')).code).toBe(422);
    const { text } = await bare.api.get(`${gizmos}/exact`);
    for (const part of [...exact, '"size":10']) expect(text).toContain(part);
    expect(text).toMatch(/"ratio":1[,}]/);
  });

  test.each([
    ['{"big":9223372036854775808}', 422],
    ['{"size":5.5}', 422],
    ['{"size":5.0}', 201],
  ])('%s is answered %i', async (body, code) => {
    const answer = await bare.api.post(gizmos, raw(`n${code}-${body.length}`, body));
    expect(answer.code).toBe(code);
    if (code === 201) expect(answer.text).toMatch(/"size":5[,}]/);
  });

  test('a Job keeps its deadline exactly', async () => {
    const job = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"long"},"spec":{"activeDeadlineSeconds":9007199254740993,"template":{"spec":{"restartPolicy":"Never","containers":[${JSON.stringify(container)}]}}}}`;
    const path = '/apis/batch/v1/namespaces/values/jobs';
    expect((await bare.api.post(path, job)).code).toBe(201);
    expect((await bare.api.get(`${path}/long`)).text).toContain('"activeDeadlineSeconds":9007199254740993');
  });

  test.each([
    ['"3"', 400],
    ['3.0', 400],
    ['3e0', 400],
    ['null', 201],
  ])('replicas of %s is answered %i', async (replicas, code) => {
    const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":${replicas},"selector":{"matchLabels":{"app":"x"}},"template":${JSON.stringify(podTemplate)}}}`;
    const answer = await bare.api.post('/apis/apps/v1/namespaces/values/deployments?dryRun=All', deployment);
    expect(answer.code).toBe(code);
    if (code === 201) expect(answer.json.spec.replicas).toBe(1);
  });
});

describe('B10 quantities', () => {
  const create = (requests: Tree) =>
    bare.api.post('/apis/apps/v1/namespaces/values/statefulsets?dryRun=All', {
      metadata: { name: 'q' },
      spec: {
        serviceName: 's',
        selector: { matchLabels: { app: 'x' } },
        template: { ...podTemplate, spec: { containers: [{ ...container, resources: { requests } }] } },
      },
    });

  test.each([
    ['memory', '1000M', '1G'],
    ['memory', '1.5Gi', '1536Mi'],
    ['memory', '1024Ki', '1Mi'],
    ['memory', '1048576Ki', '1Gi'],
    ['memory', '0.5Mi', '512Ki'],
    ['memory', '1.1Gi', '1181116006400m'],
    ['memory', '1500M', '1500M'],
    ['memory', '1e3', '1e3'],
    ['memory', '1E3', '1E3'],
    ['memory', '129e6', '129e6'],
    ['memory', '128974848', '128974848'],
    ['memory', 1073741824, '1073741824'],
    ['cpu', '1000m', '1'],
    ['cpu', '0.5', '500m'],
    ['cpu', '1.0', '1'],
    ['cpu', '3.00', '3'],
    ['cpu', '0.1', '100m'],
    ['cpu', '1500m', '1500m'],
    ['cpu', '2000m', '2'],
    ['cpu', '0.0001', '1m'],
    ['cpu', '100u', '1m'],
    ['cpu', '1e-3', '1e-3'],
    ['cpu', 0.25, '250m'],
  ])('%s %s comes back as %s', async (resource, sent, returned) => {
    const { code, json } = await create({ [resource]: sent });
    expect(code).toBe(201);
    expect(json.spec.template.spec.containers[0].resources.requests).toEqual({ [resource]: returned });
  });

  test('an unknown unit is a bad request', async () => {
    const { code, json } = await create({ memory: '123Mb' });
    expect([code, json.reason]).toEqual([400, 'BadRequest']);
  });
});

describe('B11 times', () => {
  test.each([
    ['2026-08-11T19:37:19.103Z', undefined],
    ['2026-08-11T19:37:19Z', undefined],
    ['2026-08-11T19:37:19.103456789Z', undefined],
    ['2026-08-11T19:37:19.103456Z', '2026-08-11T19:37:19.103456Z'],
    ['2026-08-11T19:37:19.100000Z', '2026-08-11T19:37:19.100000Z'],
    ['2026-08-11T19:37:19.000000Z', '2026-08-11T19:37:19.000000Z'],
    ['2026-08-11T21:37:19.000000+02:00', '2026-08-11T19:37:19.000000Z'],
  ])('a Lease renewed at %s shows %s', async (renewTime, shown) => {
    const lease = { metadata: { name: 'l' }, spec: { renewTime } };
    const path = '/apis/coordination.k8s.io/v1/namespaces/values/leases?dryRun=All';
    const { code, json } = await bare.api.post(path, lease);
    if (shown === undefined) expect([code, json.reason]).toEqual([400, 'BadRequest']);
    else expect([code, json.spec.renewTime]).toEqual([201, shown]);
  });

  test('times of whole seconds lose their fraction and their zone', async () => {
    const { code, json } = await bare.api.post(`${root}/events`, {
      metadata: { name: 'e' },
      involvedObject: { kind: 'Pod', name: 'p', namespace: 'values' },
      firstTimestamp: '2026-08-11T19:37:19.987Z',
      lastTimestamp: '2026-08-11T21:37:19+02:00',
    });
    expect(code).toBe(201);
    expect([json.firstTimestamp, json.lastTimestamp]).toEqual(Array(2).fill('2026-08-11T19:37:19Z'));
  });
});

describe('B12 keys given twice', () => {
  const json =
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d","labels":{"a":"1","a":"2"}},"data":{"k":"x"},"data":{"k2":"w"}}';
  const yaml =
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: d\n  labels:\n    a: "1"\n    a: "2"\ndata:\n  k: x\ndata:\n  k2: w\n';
  const forms: [string, string, string, string[]][] = [
    ['JSON', json, 'application/json', ['duplicate field "metadata.labels.a"', 'duplicate field "data"']],
    ['YAML', yaml, YAML, ['key "a" already set in map', 'key "data" already set in map']],
  ];
  const send = (body: string, type: string, validation: string) =>
    bare.api.post(`${root}/configmaps?dryRun=All${validation}`, body, { type });

  test.each(forms)('%s', async (_, body, type, findings) => {
    const strict = await send(body, type, '&fieldValidation=Strict');
    expect(strict.code).toBe(400);
    for (const finding of findings) expect(strict.json.message).toContain(finding);
    for (const validation of ['&fieldValidation=Warn', '']) {
      const { code, warnings, json } = await send(body, type, validation);
      expect(code).toBe(201);
      expect(warnings).toHaveLength(findings.length);
      for (const finding of findings) expect(warnings.join('\n')).toContain(finding.replaceAll('"', '\\"'));
      for (const warning of warnings) expect(warning).toMatch(/^299 - "/);
      expect(json.metadata.labels).toEqual({ a: '2' });
    }
    const ignored = await send(body, type, '&fieldValidation=Ignore');
    expect([ignored.code, ignored.warnings]).toEqual([201, []]);
    expect(ignored.json.data).toEqual(type === YAML ? { k2: 'w' } : { k: 'x', k2: 'w' });
  });

  test('in a custom resource', async () => {
    const body = (name: string) =>
      `{"apiVersion":"bug.test/v1","kind":"Gizmo","metadata":{"name":"${name}"},"spec":{"size":1,"size":2,"nope":1},"spec":{"size":4}}`;
    const once = `{"apiVersion":"bug.test/v1","kind":"Gizmo","metadata":{"name":"once"},"spec":{"size":1,"size":2,"nope":1}}`;
    const strict = await bare.api.post(`${gizmos}?fieldValidation=Strict`, once);
    expect(strict.code).toBe(400);
    expect(strict.json.message).toContain('duplicate field "spec.size", unknown field "spec.nope"');
    const warned = await bare.api.post(gizmos, once);
    expect([warned.code, warned.warnings.length, warned.json.spec.size]).toEqual([201, 2, 2]);
    expect((await bare.api.post(gizmos, body('twice'))).json.spec.size).toBe(4);
  });
});

describe('B13 metadata inside a spec', () => {
  const object = {
    ...gizmo('nested', {
      nope: { a: 1 },
      template: { metadata: { creationTimestamp: null, labels: { a: 'b' } }, image: 'i' },
      free: { nope: { a: null } },
    }),
    extra: 1,
  };
  const dropped = ['extra', 'spec.nope', 'spec.template.metadata.creationTimestamp', 'spec.template.metadata.labels'];

  test('is pruned like anything the schema does not name, with a warning each', async () => {
    const { code, json, warnings } = await bare.api.post(gizmos, object);
    expect(code).toBe(201);
    expect(json.spec).toEqual({
      free: { nope: { a: null } },
      keep: 'auto',
      mode: 'auto',
      size: 3,
      template: { image: 'i', metadata: {} },
    });
    expect(json).not.toHaveProperty('extra');
    expect(warnings).toHaveLength(4);
    for (const field of dropped) expect(warnings.join('\n')).toContain(`unknown field \\"${field}\\"`);
    const strict = await bare.api.post(`${gizmos}?fieldValidation=Strict`, object);
    expect(strict.code).toBe(400);
    for (const field of dropped) expect(strict.json.message).toContain(`unknown field "${field}"`);
  });

  test('is kept where the schema keeps unknown fields', async () => {
    const metadata = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    await bare.api.define(definition('Keeper', { template: { type: 'object', properties: { metadata } } }));
    const template = { metadata: { creationTimestamp: null, labels: { a: 'b' } } };
    const path = '/apis/bug.test/v1/namespaces/values/keepers';
    for (const query of ['', '?fieldValidation=Strict']) {
      const keeper = { ...gizmo(`k${query.length}`, { template }), kind: 'Keeper' };
      const { code, json, warnings } = await bare.api.post(path + query, keeper);
      expect([code, json.spec, warnings]).toEqual([201, { template }, []]);
    }
  });
});

describe('B14 a number or a text', () => {
  test.each([
    [8080, undefined],
    ['50%', undefined],
    ['8080', 'FieldValueInvalid'],
    [true, 'FieldValueTypeInvalid'],
    [1.5, 'FieldValueTypeInvalid'],
  ])('%s: %s', async (port, reason) => {
    const { code, json } = await bare.api.post(`${gizmos}?dryRun=All`, gizmo('port', { port }));
    if (reason === undefined) expect([code, json.spec.port]).toEqual([201, port]);
    else {
      expect(code).toBe(422);
      expect(json.details.causes).toContainEqual(expect.objectContaining({ reason, field: 'spec.port' }));
    }
  });
});

describe('B15 transition rules of custom resources', () => {
  const guarded = definition('Guarded', {});
  const guardeds = '/apis/bug.test/v1/namespaces/values/guardeds';
  const rules = (spec: Tree) => ({ 'x-kubernetes-validations': [spec] });
  guarded.spec.versions[0]!.schema.openAPIV3Schema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          storageClass: {
            type: 'string',
            ...rules({ rule: 'self == oldSelf', message: 'storageClass is immutable' }),
          },
          lock: { type: 'string' },
        },
        ...rules({ rule: '!has(oldSelf.lock) || has(self.lock)', message: 'lock may not be removed' }),
      },
    },
  } as Tree;

  test('run where there is a value before and after, and not where it comes or goes', async () => {
    await bare.api.define(guarded);
    const spec = { storageClass: 'fast', lock: 'x' };
    const object = { apiVersion: 'bug.test/v1', kind: 'Guarded', metadata: { name: 'g' }, spec };
    expect((await bare.api.post(guardeds, object)).code).toBe(201);
    const merge = (changed: Tree) => bare.api.patch(`${guardeds}/g`, MERGE, { spec: changed });
    const slow = await merge({ storageClass: 'slow' });
    expect(slow.code).toBe(422);
    expect(slow.json.details.causes).toContainEqual(
      expect.objectContaining({ reason: 'FieldValueInvalid', field: 'spec.storageClass' }),
    );
    expect(slow.json.message).toContain('storageClass is immutable');
    expect((await merge({ storageClass: null })).code).toBe(200);
    expect((await merge({ storageClass: 'slow' })).code).toBe(200);
    const unlocked = await merge({ lock: null });
    expect([unlocked.code, causeFields(unlocked.json)]).toEqual([422, ['spec']]);
    expect(unlocked.json.message).toContain('lock may not be removed');
    expect((await merge(null)).code).toBe(200);
  });

  test('that do not compile are refused with the definition', async () => {
    const bad = definition('Misruled', { a: { type: 'string', ...rules({ rule: 'self.foo > 1' }) } });
    const refused = await bare.api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', bad);
    expect(refused.code).toBe(422);
    expect(causeFields(refused.json)).toEqual([
      'spec.validation.openAPIV3Schema.properties[spec].properties[a].x-kubernetes-validations[0].rule',
    ]);
    expect(refused.json.message).toContain('compilation failed');
  });
});

describe('B16 keyed lists under apply', () => {
  test('a key given twice is refused by apply, and survives where a create stored it', async () => {
    const path = '/apis/apps/v1/namespaces/values/deployments';
    const twice = [
      { containerPort: 93, name: 'a' },
      { containerPort: 93, name: 'b' },
    ].map((port) => ({
      ...port,
      protocol: 'TCP',
    }));
    const deployment = (name: string) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: {
        selector: { matchLabels: { app: 'x' } },
        template: { ...podTemplate, spec: { containers: [{ ...container, ports: twice }] } },
      },
    });
    const refused = await bare.api.apply(`${path}/refused`, 'm1', deployment('refused'));
    expect(refused.code).toBeGreaterThanOrEqual(400);
    expect(refused.json.message).toContain('duplicate entries for key');
    expect(refused.json.message).toContain('containerPort=93,protocol="TCP"');
    expect((await bare.api.get(`${path}/refused`)).code).toBe(404);
    const created = await bare.api.post(path, deployment('created'));
    expect(created.code).toBe(201);
    expect(created.warnings.join()).toContain('ports[1]');
    expect((await bare.api.apply(`${path}/created`, 'm1', deployment('created'))).code).toBeGreaterThanOrEqual(400);
    const labelled = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'created', labels: { z: '1' } } };
    const second = await bare.api.apply(`${path}/created`, 'm2', labelled);
    expect(second.code).toBe(200);
    expect(second.json.spec.template.spec.containers[0].ports).toEqual(twice);
  });

  test('a key left to its default is a key all the same', async () => {
    const path = `${root}/services/dns`;
    const service = (ports: Tree[]) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'dns' },
      spec: { selector: { app: 'x' }, ports },
    });
    const d = { name: 'd', port: 53 };
    const created = await bare.api.apply(path, 'm1', service([d, { name: 'u', port: 53, protocol: 'UDP' }]));
    expect(created.code).toBe(201);
    const owned = created.json.metadata.managedFields[0].fieldsV1['f:spec']['f:ports'];
    const tcp = owned['k:{"port":53,"protocol":"TCP"}'];
    expect(Object.keys(tcp).sort()).toEqual(['.', 'f:name', 'f:port']);
    expect(owned['k:{"port":53,"protocol":"UDP"}']).toHaveProperty('f:protocol');
    const applied = await bare.api.apply(path, 'm1', service([d]));
    expect(applied.json.spec.ports.map(({ name }: Tree) => name)).toEqual(['d']);
    expect(applied.json.spec.clusterIP).toBe(created.json.spec.clusterIP);
  });
});

describe('B17 what an apply owns', () => {
  const path = `${gizmos}/s`;
  const body = (rest: Tree) => ({ apiVersion: 'bug.test/v1', kind: 'Gizmo', metadata: { name: 's' }, ...rest });

  test('is only what was stored', async () => {
    const one = await bare.api.apply(path, 'm1', body({ spec: { size: 1 }, status: { ready: true } }));
    expect(one.code).toBe(201);
    expect(one.json).not.toHaveProperty('status');
    expect(one.json.metadata.managedFields.map(({ fieldsV1 }: Tree) => fieldsV1)).toEqual([
      { 'f:spec': { 'f:size': {} } },
    ]);

    const two = await bare.api.apply(`${path}/status`, 'm1', body({ spec: { size: 77 }, status: { ready: true } }));
    expect([two.code, two.json.spec.size]).toEqual([200, 1]);
    expect(two.json.metadata.managedFields).toHaveLength(2);
    expect(two.json.metadata.managedFields.find(({ subresource }: Tree) => subresource === 'status')).toMatchObject({
      manager: 'm1',
      operation: 'Apply',
      fieldsV1: { 'f:status': { 'f:ready': {} } },
    });

    const three = await bare.api.apply(path, 'm1', body({ spec: { size: 1 } }));
    expect(three.json.metadata.resourceVersion).toBe(two.json.metadata.resourceVersion);

    const four = await bare.api.apply(path, 'm2', body({ spec: { size: 2 } }));
    expect([four.code, four.json.reason]).toEqual([409, 'Conflict']);
    expect(four.json.details.causes).toEqual([
      expect.objectContaining({ reason: 'FieldManagerConflict', field: '.spec.size' }),
    ]);
    expect((await bare.api.apply(path, 'm2', body({ spec: { size: 1 } }))).code).toBe(200);
    expect((await bare.api.apply(path, 'm1', body({}))).json.spec.size).toBe(1);

    const before = (await bare.api.get(path)).json;
    const seven = await bare.api.apply(path, 'm2', body({}));
    expect(seven.code).toBe(200);
    expect(seven.json).not.toHaveProperty('spec');
    expect(seven.json.status).toEqual({ ready: true });
    expect(seven.json.metadata.generation).toBe(before.metadata.generation + 1);
  });

  test('needs an object, a manager and no managed fields', async () => {
    const status = await bare.api.apply(`${gizmos}/none/status`, 'm1', { ...gizmo('none'), status: { ready: true } });
    expect(status.code).toBe(404);
    const uid = '5f5e4ef6-7b9a-4d52-a5a3-3f1f4b6a0c11';
    expect((await bare.api.apply(`${gizmos}/none`, 'm1', gizmo('none', {}, { uid }))).code).toBe(409);
    const managed = gizmo('none', {}, { managedFields: [{ manager: 'x', operation: 'Apply' }] });
    expect((await bare.api.apply(`${gizmos}/none`, 'm1', managed)).code).toBe(400);
    const anonymous = await bare.api.patch(`${gizmos}/none`, APPLY, gizmo('none'));
    expect([anonymous.code, causeFields(anonymous.json)]).toEqual([422, ['fieldManager']]);
    expect((await bare.api.post(`${root}/configmaps?dryRun=All`, configMap('control'))).code).toBe(201);
  });
});
