// Kubernetes' JavaScript client does its CRUD, watch and patch round trip against the cluster of KUBECONFIG.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApiException,
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  type V1Deployment,
  Watch,
} from '@kubernetes/client-node';

const PATIENCE_MS = 30_000;
const config = new KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(CoreV1Api);
const apps = config.makeApiClient(AppsV1Api);
const namespace = `node-${randomBytes(4).toString('hex')}`;
let passed = 0;
let failed = 0;

async function check(title: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
    passed++;
    console.log(`ok   ${title}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${title}\n     ${(error as Error).stack}`);
  }
}

function equal(what: string, got: unknown, wanted: unknown): void {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: got ${a}, wanted ${b}`);
}

async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !holds(); await sleep(20)) {
    if (Date.now() > deadline) throw new Error(`never: ${what}`);
  }
}

/** The status that a request was refused with. */
async function refusal(request: Promise<unknown>): Promise<number> {
  try {
    await request;
  } catch (error) {
    if (error instanceof ApiException) return error.code;
    throw error;
  }
  throw new Error('the request was not refused');
}

const patchAs = (type: string) => setHeaderOptions('Content-Type', type);

function deployment(name: string): V1Deployment {
  const labels = { app: name };
  return {
    metadata: { name, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'nginx:1' }] } },
    },
  };
}

await check('create, read, replace, list and delete', async () => {
  await core.createNamespace({ body: { metadata: { name: namespace } } });
  const created = await core.createNamespacedConfigMap({
    namespace,
    body: { metadata: { name: 'settings', labels: { kind: 'mine' } }, data: { a: '1' } },
  });
  created.data = { a: '2' };
  const replaced = await core.replaceNamespacedConfigMap({ name: 'settings', namespace, body: created });
  equal('data', replaced.data, { a: '2' });
  equal(
    'an old version',
    await refusal(core.replaceNamespacedConfigMap({ name: 'settings', namespace, body: created })),
    409,
  );
  const read = await core.readNamespacedConfigMap({ name: 'settings', namespace });
  equal('version', read.metadata?.resourceVersion, replaced.metadata?.resourceVersion);
  const list = await core.listNamespacedConfigMap({ namespace, labelSelector: 'kind=mine' });
  equal(
    'names',
    list.items.map(({ metadata }) => metadata?.name),
    ['settings'],
  );
  await core.deleteNamespacedConfigMap({ name: 'settings', namespace });
  equal('after the delete', await refusal(core.readNamespacedConfigMap({ name: 'settings', namespace })), 404);
});

await check('strategic merge, merge and JSON patches', async () => {
  await apps.createNamespacedDeployment({ namespace, body: deployment('web') });
  const target = { name: 'web', namespace };
  const side = { spec: { template: { spec: { containers: [{ name: 'side', image: 'envoy:1' }] } } } };
  const strategic = await apps.patchNamespacedDeployment(
    { ...target, body: side },
    patchAs(PatchStrategy.StrategicMergePatch),
  );
  equal(
    'containers',
    strategic.spec?.template.spec?.containers.map(({ name }) => name),
    ['side', 'main'],
  );
  const label = { metadata: { labels: { tier: 'front' } } };
  const merged = await apps.patchNamespacedDeployment({ ...target, body: label }, patchAs(PatchStrategy.MergePatch));
  equal('labels', merged.metadata?.labels, { app: 'web', tier: 'front' });
  const scale = [{ op: 'replace', path: '/spec/replicas', value: 4 }];
  const patched = await apps.patchNamespacedDeployment({ ...target, body: scale }, patchAs(PatchStrategy.JsonPatch));
  equal('replicas', patched.spec?.replicas, 4);
});

await check('server-side apply of any object', async () => {
  const objects = KubernetesObjectApi.makeApiClient(config);
  const wanted: V1ConfigMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'applied', namespace },
    data: { mine: 'yes' },
  };
  const apply = (object: V1ConfigMap, manager: string) =>
    objects.patch<V1ConfigMap>(object, undefined, undefined, manager, false, PatchStrategy.ServerSideApply);
  await apply(wanted, 'first');
  const both = await apply({ ...wanted, data: { yours: 'yes' } }, 'second');
  equal('data', both.data, { mine: 'yes', yours: 'yes' });
  equal('a conflict', await refusal(apply({ ...wanted, data: { mine: 'no' } }, 'second')), 409);
});

await check('watch', async () => {
  const seen: string[] = [];
  const list = await core.listNamespacedConfigMap({ namespace });
  const abort = await new Watch(config).watch(
    `/api/v1/namespaces/${namespace}/configmaps`,
    { resourceVersion: list.metadata?.resourceVersion, labelSelector: 'watched=yes' },
    (type, object: V1ConfigMap) => seen.push(`${type} ${object.metadata?.name}`),
    () => undefined,
  );
  const body = { metadata: { name: 'watched', labels: { watched: 'yes' } }, data: { a: '1' } };
  await core.createNamespacedConfigMap({ namespace, body });
  await core.patchNamespacedConfigMap(
    { name: 'watched', namespace, body: { data: { a: '2' } } },
    patchAs(PatchStrategy.MergePatch),
  );
  await core.deleteNamespacedConfigMap({ name: 'watched', namespace });
  await eventually('three events', () => seen.length >= 3);
  abort.abort();
  equal('events', seen, ['ADDED watched', 'MODIFIED watched', 'DELETED watched']);
});

await check('informer', async () => {
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const informer = makeInformer(config, path, () => core.listNamespacedSecret({ namespace }));
  const seen: string[] = [];
  informer.on('add', ({ metadata }) => seen.push(`add ${metadata?.name}`));
  informer.on('delete', ({ metadata }) => seen.push(`delete ${metadata?.name}`));
  await core.createNamespacedSecret({ namespace, body: { metadata: { name: 'before' }, stringData: { a: 'b' } } });
  await informer.start();
  await core.createNamespacedSecret({ namespace, body: { metadata: { name: 'after' } } });
  await core.deleteNamespacedSecret({ name: 'before', namespace });
  await eventually('the informer sees all', () => seen.includes('add after') && seen.includes('delete before'));
  equal('the cache', informer.get('after', namespace)?.metadata?.name, 'after');
  await informer.stop();
});

await check('custom objects', async () => {
  const custom = config.makeApiClient(CustomObjectsApi);
  const leases = { group: 'coordination.k8s.io', version: 'v1', namespace, plural: 'leases' };
  const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'mine' } };
  await custom.createNamespacedCustomObject({ ...leases, body });
  const got = (await custom.getNamespacedCustomObject({ ...leases, name: 'mine' })) as { kind: string };
  equal('kind', got.kind, 'Lease');
  await custom.deleteNamespacedCustomObject({ ...leases, name: 'mine' });
});

await core.deleteNamespace({ name: namespace });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
