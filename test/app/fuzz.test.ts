import fc from 'fast-check';
import { beforeAll, expect, test, vi } from 'vitest';
import { type TestApp, testApp } from '../support/app.ts';
import { samples } from './fuzz-samples.ts';

// Requests that nobody would write on purpose: whatever they say, the server answers, and it is never at fault.

/** Another seed and more runs find more: `FAST_CHECK_SEED=7 FUZZ_RUNS=20000`. */
const seed = Number(process.env.FAST_CHECK_SEED ?? 20_261_130);
const RUNS = Number(process.env.FUZZ_RUNS ?? 800);
const PATIENCE_MS = 10_000;

const parts = [
  'api',
  'apis',
  'v1',
  'v2',
  'namespaces',
  'default',
  'pods',
  'configmaps',
  'secrets',
  'nodes',
  'status',
  'scale',
  'log',
  'exec',
  'proxy',
  'binding',
  'finalize',
  'token',
  'eviction',
  'ephemeralcontainers',
  'approval',
  'apps',
  'deployments',
  'batch',
  'jobs',
  'rbac.authorization.k8s.io',
  'clusterroles',
  'authorization.k8s.io',
  'selfsubjectaccessreviews',
  'authentication.k8s.io',
  'tokenreviews',
  'apiextensions.k8s.io',
  'customresourcedefinitions',
  'watch',
  'openapi',
  'v3',
  'healthz',
  'readyz',
  'metrics',
  'version',
  'debug',
  'seeded',
  '__proto__',
  'constructor',
  'toString',
  '%00',
  '%2F',
  '%2e%2e',
  '%ff',
  '%E2%82',
  '..',
  '.',
  '',
  '*',
  'A'.repeat(300),
  'ü',
  '%zz',
  'a b',
  ';x=1',
];
const part = fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...parts) }, { weight: 1, arbitrary: fc.webSegment() });
const goodPaths = [
  '/api/v1/namespaces/default/configmaps',
  '/api/v1/namespaces/default/configmaps/seeded',
  '/api/v1/namespaces/default/pods',
  '/apis/apps/v1/namespaces/default/deployments',
  '/apis/batch/v1/namespaces/default/jobs',
  '/api/v1/namespaces',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  '/apis/authorization.k8s.io/v1/subjectaccessreviews',
  '/apis/authentication.k8s.io/v1/tokenreviews',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  '/api/v1/namespaces/default/services',
  '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
  '/api/v1/nodes',
  '/apis/coordination.k8s.io/v1/namespaces/default/leases',
  '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
  '/apis/storage.k8s.io/v1/storageclasses',
  '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews',
  '/apis/resource.k8s.io/v1/deviceclasses',
  '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
  '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
];
const path = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...Object.keys(samples)) },
  { weight: 2, arbitrary: fc.constantFrom(...goodPaths) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...goodPaths), part).map(([base, more]) => `${base}/${more}`) },
  { weight: 2, arbitrary: fc.array(part, { maxLength: 8 }).map((list) => `/${list.join('/')}`) },
);

const parameters = [
  'watch',
  'limit',
  'continue',
  'resourceVersion',
  'resourceVersionMatch',
  'labelSelector',
  'fieldSelector',
  'timeoutSeconds',
  'sendInitialEvents',
  'allowWatchBookmarks',
  'dryRun',
  'fieldManager',
  'fieldValidation',
  'force',
  'propagationPolicy',
  'gracePeriodSeconds',
  'orphanDependents',
  'preconditions',
  'pretty',
  'timeout',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
];
const values = [
  '',
  '0',
  '1',
  '-1',
  'true',
  'false',
  'All',
  'Exact',
  'NotOlderThan',
  'Strict',
  'Ignore',
  '99999999999999999999',
  '1e3',
  'NaN',
  'a=b',
  'a in (b,c)',
  'a in (',
  '!a',
  'a!=b,c',
  'metadata.name=seeded',
  'spec.nodeName!=x',
  'metadata.name=',
  ',',
  '=',
  '\\',
  'a>1',
  'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0=',
  '__proto__',
  '%',
  '\u0000',
  'Background',
  'Orphan',
  'x'.repeat(2000),
];
const query = fc
  .array(fc.tuple(fc.constantFrom(...parameters), fc.oneof(fc.constantFrom(...values), fc.string({ maxLength: 12 }))), {
    maxLength: 4,
  })
  .map((pairs) => pairs.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join('&'));

const types = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'application/apply-patch+cbor',
  'application/cbor',
  'text/plain',
  'application/json; charset=utf-16',
  'application/json;;',
  '',
  '*/*',
];
const accepts = [
  'application/json',
  '*/*',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io',
  'text/html',
  'application/json;q=x',
  ',,;',
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io',
];
const headers = fc.record(
  {
    accept: fc.constantFrom(...accepts),
    'content-type': fc.constantFrom(...types),
    'user-agent': fc.constantFrom(
      'kubectl/v1.36.3',
      '',
      '/',
      'a/b/c',
      'ü'.normalize('NFD').replace(/[^\x20-\x7e]/g, '?'),
    ),
    authorization: fc.constantFrom('Bearer x', 'Bearer a.b.c', 'Basic x', 'Bearer', 'Bearer  x'),
    'audit-id': fc.constantFrom('x', 'x'.repeat(1000)),
    'content-encoding': fc.constantFrom('gzip', 'identity', 'br'),
    'if-none-match': fc.constantFrom('*', '"x"'),
    'accept-encoding': fc.constantFrom('gzip', 'br;q=1.0, *;q=0'),
  },
  { requiredKeys: [] },
);

/** Who the request is to be taken for; that ends most requests early, so few say it. */
const impersonation = fc.oneof(
  { weight: 9, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        'impersonate-user': fc.constantFrom(
          '',
          'ann',
          'system:anonymous',
          'system:serviceaccount:default:a',
          'system:node:n',
        ),
        'impersonate-group': fc.constantFrom('dev', 'system:masters, dev', ''),
        'impersonate-uid': fc.constantFrom('1', ''),
        'impersonate-extra-%zz': fc.constant('x'),
      },
      { requiredKeys: [] },
    ),
  },
);

const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    'a',
    'seeded',
    0,
    -1,
    1.5,
    2 ** 53,
    1e300,
    true,
    '1Gi',
    '2026-01-01T00:00:00Z',
    'x'.repeat(300),
    {},
    [],
    [null],
    {
      '': '',
    },
  ),
  fc.jsonValue({ maxDepth: 2 }),
);
const tree = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(
    fc.constantFrom(
      'metadata',
      'name',
      'namespace',
      'labels',
      'annotations',
      'finalizers',
      'ownerReferences',
      'managedFields',
      'uid',
      'spec',
      'status',
      'data',
      'stringData',
      'binaryData',
      'template',
      'containers',
      'image',
      'ports',
      'selector',
      'matchLabels',
      'replicas',
      'rules',
      'verbs',
      'resources',
      'subjects',
      'roleRef',
      'versions',
      'schema',
      'openAPIV3Schema',
      'properties',
      'type',
      'x-kubernetes-validations',
      'items',
      'names',
      'group',
      'scope',
      'kind',
      'apiVersion',
      'user',
      'groups',
      'extra',
      'resourceAttributes',
      'nonResourceAttributes',
      'token',
      'audiences',
      'validations',
      'expression',
      'matchConstraints',
      'matchConditions',
      'variables',
      '__proto__',
      'constructor',
      'resourceVersion',
      'deletionTimestamp',
      'creationTimestamp',
      'generateName',
      'op',
      'path',
      'value',
      'from',
      '$patch',
      '$retainKeys',
      'metrics',
      'behavior',
    ),
    tie('value'),
    { maxKeys: 6, noNullPrototype: true },
  ),
})).object as fc.Arbitrary<Record<string, unknown>>;

const kinds: Record<string, [string, string]> = {
  configmaps: ['v1', 'ConfigMap'],
  pods: ['v1', 'Pod'],
  deployments: ['apps/v1', 'Deployment'],
  jobs: ['batch/v1', 'Job'],
  namespaces: ['v1', 'Namespace'],
  clusterroles: ['rbac.authorization.k8s.io/v1', 'ClusterRole'],
  subjectaccessreviews: ['authorization.k8s.io/v1', 'SubjectAccessReview'],
  localsubjectaccessreviews: ['authorization.k8s.io/v1', 'LocalSubjectAccessReview'],
  tokenreviews: ['authentication.k8s.io/v1', 'TokenReview'],
  customresourcedefinitions: ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
  validatingadmissionpolicies: ['admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy'],
  services: ['v1', 'Service'],
  ingresses: ['networking.k8s.io/v1', 'Ingress'],
  nodes: ['v1', 'Node'],
  leases: ['coordination.k8s.io/v1', 'Lease'],
  flowschemas: ['flowcontrol.apiserver.k8s.io/v1', 'FlowSchema'],
  storageclasses: ['storage.k8s.io/v1', 'StorageClass'],
  deviceclasses: ['resource.k8s.io/v1', 'DeviceClass'],
  horizontalpodautoscalers: ['autoscaling/v2', 'HorizontalPodAutoscaler'],
  poddisruptionbudgets: ['policy/v1', 'PodDisruptionBudget'],
};

/** An object of the path's kind with a name, so that it gets further than the decoder. */
function fitting(at: string, object: Record<string, unknown>): Record<string, unknown> {
  const kind = kinds[at.split('/').findLast((name) => Object.hasOwn(kinds, name)) ?? ''];
  if (kind === undefined) return object;
  const metadata = object.metadata;
  const named =
    typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata) ? metadata : { name: 'fuzzed' };
  return { ...object, apiVersion: kind[0], kind: kind[1], metadata: named };
}

type Body =
  | { form: 'changed'; changes: { at: number; value: unknown }[] }
  | { form: 'fitting' | 'json'; object: Record<string, unknown> }
  | { form: 'text'; text: string }
  | { form: 'bytes'; bytes: Uint8Array };
const changed = fc.record({
  form: fc.constant('changed' as const),
  changes: fc.array(fc.record({ at: fc.nat(), value: fc.oneof(leaf, tree) }), { maxLength: 3 }),
});
const body: fc.Arbitrary<Body> = fc.oneof(
  { weight: 6, arbitrary: changed },
  { weight: 4, arbitrary: fc.record({ form: fc.constantFrom('fitting' as const, 'json' as const), object: tree }) },
  {
    weight: 1,
    arbitrary: fc.record({
      form: fc.constant('text' as const),
      text: fc.oneof(
        fc.string(),
        fc.constantFrom(
          '',
          '{',
          '[]',
          'null',
          '"x"',
          '{"a":1}{',
          '[{"op":"test"}]',
          '[{"op":"add","path":"/data","value":{}}]',
          'a: &a [*a]',
          '- x\n---\n- y',
          '\u0000',
          '{"kind":"Status"}',
          '1e999999',
          '{"kind":1}',
        ),
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      form: fc.constant('bytes' as const),
      bytes: fc.uint8Array({ maxLength: 64 }).map((b) => new Uint8Array([0x6b, 0x38, 0x73, 0, ...b])),
    }),
  },
);

const anything = fc.record({
  method: fc.constantFrom('GET', 'GET', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND'),
  path,
  query,
  headers: fc.tuple(headers, impersonation).map(([one, other]) => ({ ...one, ...other })),
  body,
  /** Whether the content type is one that the method takes. */
  typed: fc.integer({ max: 3, min: 0 }).map((n) => n > 0),
});

/** Requests that get as far as an object's own rules: creates and applies of good objects, a little changed. */
const writing = fc
  .record({
    method: fc.constantFrom('POST', 'POST', 'PATCH'),
    path: fc.constantFrom(...Object.keys(samples)),
    query: fc.constantFrom('', 'dryRun=All', 'fieldValidation=Strict'),
    headers: fc.constant<Record<string, string>>({ accept: 'application/json' }),
    body: changed,
    typed: fc.constant(true),
  })
  .map((one) => (one.method === 'PATCH' ? { ...one, path: `${one.path}/fuzzed`, query: 'fieldManager=m' } : one));
const request = fc.oneof({ weight: 1, arbitrary: anything }, { weight: 2, arbitrary: writing });

const patchTypes = [
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

/** Every place in an object, as a function that sets it. */
function placesIn(value: unknown): ((to: unknown) => void)[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [
    (to: unknown) => {
      holder[key] = to;
    },
    ...placesIn(holder[key]),
  ]);
}

/** The good object of the collection that the path begins with, with some places changed. */
function changedObject(at: string, changes: readonly { at: number; value: unknown }[]): Record<string, unknown> {
  const collection = Object.keys(samples).find((one) => at.startsWith(one)) ?? Object.keys(samples)[0]!;
  const object = structuredClone({
    metadata: at.endsWith('/fuzzed') ? { name: 'fuzzed' } : { generateName: 'fuzz-' },
    ...samples[collection],
  }) as Record<string, unknown>;
  for (const change of changes) {
    const places = placesIn(object);
    places[change.at % places.length]?.(structuredClone(change.value));
  }
  return object;
}

function payload(given: Body, at: string): BodyInit {
  switch (given.form) {
    case 'changed':
      return JSON.stringify(changedObject(at, given.changes));
    case 'text':
      return given.text.toWellFormed();
    case 'bytes':
      return given.bytes as Uint8Array<ArrayBuffer>;
    case 'json':
      return JSON.stringify(given.object);
    default:
      return JSON.stringify(fitting(at, given.object));
  }
}

const typeFor = (method: string, target: string) =>
  method !== 'PATCH'
    ? 'application/json'
    : target.includes('fieldManager=m')
      ? 'application/apply-patch+yaml'
      : patchTypes[target.length % patchTypes.length]!;

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  const seeded = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'seeded' }, data: { a: 'b' } };
  await app.call('POST', '/api/v1/namespaces/default/configmaps', seeded);
});

/** The answer's status, once it says something; what streams is ended. */
async function answerTo(sent: Request): Promise<number> {
  const response = await app.fetch(sent);
  const reader = response.body?.getReader();
  if (reader === undefined) return response.status;
  await Promise.race([reader.read(), new Promise<undefined>((resolve) => setTimeout(resolve, 50))]);
  await reader.cancel();
  return response.status;
}

test('whatever a request says, it is answered, and never as a fault of the server', async () => {
  // The Workers runtime's, which streams watches.
  vi.stubGlobal('IdentityTransformStream', TransformStream);
  const logged = vi.spyOn(console, 'error').mockReturnValue(undefined);
  vi.spyOn(console, 'warn').mockReturnValue(undefined);
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path: at, query: asked, headers: given, body: wanted, typed }) => {
      const url = new URL('https://test');
      const target = `${at}${asked === '' ? '' : `?${asked}`}`;
      let sent: Request;
      try {
        const bodiless = method === 'GET' || method === 'HEAD';
        sent = new Request(new URL(target, url), {
          method,
          headers: typed ? { ...given, 'content-type': typeFor(method, target) } : given,
          ...(bodiless ? {} : { body: payload(wanted, at) }),
        });
      } catch {
        // No such request can be made.
        return;
      }
      const late = new Promise<never>((_, reject) => {
        setTimeout(() => reject(new Error('no answer')), PATIENCE_MS).unref?.();
      });
      const status = await Promise.race([answerTo(sent), late]);
      // What the server cannot explain is logged, and told the client as a bare 500.
      const faults = logged.mock.calls.splice(0).map((call) => call.join(' ').slice(0, 600));
      expect(faults).toEqual([]);
      expect(status).not.toBe(503);
    }),
    { numRuns: RUNS, seed, endOnFailure: false },
  );
}, 120_000);
