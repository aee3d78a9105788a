import { type Tree, until } from '../e2e/api.ts';
import { type Finding, type Stage, told } from './scenarios.ts';
import type { Behaviour } from './server.ts';

/** `host: a:80` of v1 is `host: a, port: 80` of v2. */
function converted(object: Tree, apiVersion: string): Tree {
  const { spec = {}, metadata } = object;
  const labels = { ...metadata.labels, converted: apiVersion.split('/')[1] };
  if (apiVersion.endsWith('/v2')) {
    const [host, port = '0'] = (spec.host ?? '').split(':');
    return { ...object, apiVersion, metadata: { ...metadata, labels }, spec: { ...spec, host, port: Number(port) } };
  }
  const { port, ...rest } = spec;
  return { ...object, apiVersion, metadata: { ...metadata, labels }, spec: { ...rest, host: `${spec.host}:${port}` } };
}

const success =
  (change: (object: Tree, index: number) => Tree): Behaviour =>
  ({ request }) => ({
    result: { status: 'Success' },
    convertedObjects: request.objects.map((object: Tree, i: number) =>
      change(converted(object, request.desiredAPIVersion), i),
    ),
  });

/** What the conversion hooks of the scenarios do, by path. */
export const conversionBehaviours: Readonly<Record<string, Behaviour>> = {
  '/convert': success((object) => object),
  '/convert-adds': success((object) => ({ ...object, spec: { ...object.spec, unknown: 1 } })),
  '/convert-renames': success((object) => ({ ...object, metadata: { ...object.metadata, name: 'other' } })),
  '/convert-uid': success((object) => ({ ...object, metadata: { ...object.metadata, uid: 'other' } })),
  '/convert-finalizers': success((object) => ({ ...object, metadata: { ...object.metadata, finalizers: ['x/y'] } })),
  '/convert-no-metadata': success(({ metadata: _, ...object }) => object),
  '/convert-kind': success((object) => ({ ...object, kind: 'Other' })),
  '/convert-not': success((object) => ({ ...object, apiVersion: 'v9' })),
  '/convert-labels': success((object) => ({ ...object, metadata: { ...object.metadata, labels: { a: 1 } } })),
  '/convert-none': () => ({ result: { status: 'Success' }, convertedObjects: [] }),
  '/convert-fails': () => ({ result: { status: 'Failed', message: 'I will not' } }),
  '/convert-fails-silently': () => ({ result: { status: 'Failed' } }),
  '/convert-no-result': () => ({}),
  '/convert-other-uid': () => ({ uid: 'x', result: { status: 'Success' }, convertedObjects: [] }),
  '/convert-500': (_, answer) => void answer.writeHead(500, { 'content-type': 'text/plain' }).end('boom'),
  '/convert-hangs-up': (_, answer) => void answer.destroy(),
};

function definition({ hooks, name }: Stage, path: string): Tree {
  const group = `${path.slice(1)}.${name}.example.com`;
  const schema = (spec: Tree) => ({
    openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: spec } } },
  });
  const host = { type: 'string' };
  const version = (v: string, storage: boolean, spec: Tree) => ({
    name: v,
    served: true,
    storage,
    schema: schema(spec),
    subresources: { status: {} },
    ...(storage && { selectableFields: [{ jsonPath: '.spec.host' }] }),
  });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        version('v1', true, { host }),
        version('v2', false, { host, port: { type: 'integer' }, color: { type: 'string', default: 'red' } }),
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          clientConfig: { url: `https://127.0.0.1:${hooks.port}${path}`, caBundle: hooks.caBundle },
          conversionReviewVersions: ['v1'],
        },
      },
    },
  };
}

const brief = ({ apiVersion, kind, metadata, spec }: Tree) => ({
  apiVersion,
  kind,
  labels: metadata?.labels,
  finalizers: metadata?.finalizers,
  spec,
});

/** Custom resources whose versions a webhook converts. */
export async function* conversions(stage: Stage): AsyncGenerator<Finding> {
  for (const path of Object.keys(conversionBehaviours)) {
    const own = definition(stage, path);
    await stage.api.define(own);
    const findings = path === '/convert' ? roundTrip(stage, own) : failure(stage, own, path);
    yield* findings;
    await stage.api.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${own.metadata.name}`);
  }
}

const placesOf =
  ({ name }: Stage, { spec: { group } }: Tree) =>
  (version: string) =>
    `/apis/${group}/${version}/namespaces/${name}/widgets`;

/** The created object as the stage tells it; asked again while the definition is only about to be served. */
async function created({ api }: Stage, path: string, body: Tree) {
  let answer = await api.post(path, body);
  await until(async () => {
    if (answer.code !== 404) return true;
    answer = await api.post(path, body);
    return false;
  }, 'the definition to be served');
  return answer;
}

async function* failure(stage: Stage, own: Tree, path: string): AsyncGenerator<Finding> {
  const { api } = stage;
  const at = placesOf(stage, own);
  const { group } = own.spec;
  const widget = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'w' }, spec: { host: 'a:80' } };
  await created(stage, at('v1'), widget);
  const one = (answer: Tree) =>
    answer.code < 400 ? { code: answer.code, ...brief(answer.json) } : told(stage, answer);
  const clean = (tree: Tree) => JSON.parse(JSON.stringify(tree).replaceAll(stage.name, 'NS'));
  yield [`${path} read`, clean(one(await api.get(`${at('v2')}/w`)))];
  const other = { ...widget, apiVersion: `${group}/v2`, metadata: { name: 'x' }, spec: { host: 'b', port: 1 } };
  yield [`${path} create`, clean(one(await api.post(at('v2'), other)))];
}

async function* roundTrip(stage: Stage, own: Tree): AsyncGenerator<Finding> {
  const { api, hooks } = stage;
  const at = placesOf(stage, own);
  const { group } = own.spec;
  const clean = (tree: Tree) => JSON.parse(JSON.stringify(tree).replaceAll(stage.name, 'NS'));
  const told = (answer: Tree) => clean({ code: answer.code, ...brief(answer.json) });
  const one = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'one' }, spec: { host: 'a:80' } };
  yield ['conversion: stored version created', told(await created(stage, at('v1'), one))];
  const two = { ...one, apiVersion: `${group}/v2`, metadata: { name: 'two' }, spec: { host: 'b', port: 81 } };
  yield ['conversion: other version created', told(await api.post(at('v2'), two))];
  for (const name of ['one', 'two'])
    for (const version of ['v1', 'v2'])
      yield [`conversion: ${name} as ${version}`, told(await api.get(`${at(version)}/${name}`))];
  const list = await api.get(at('v2'));
  yield ['conversion: list', clean({ apiVersion: list.json.apiVersion, items: list.json.items.map(brief) })];
  yield ['conversion: merge patch', told(await api.merge(`${at('v2')}/one`, { spec: { port: 90 } }))];
  yield ['conversion: afterwards', told(await api.get(`${at('v1')}/one`))];
  const watch = await api.watch(`${at('v2')}?resourceVersion=0`);
  await watch.count(2);
  await api.merge(`${at('v1')}/one`, { spec: { host: 'c:1' } });
  const events = await watch.count(3);
  watch.cut();
  yield ['conversion: watch', clean(events.slice(0, 3).map(({ type, object }) => [type, brief(object)]))];
  const { json } = await api.get(`${at('v2')}/one`);
  json.spec.host = 'd';
  yield ['conversion: replaced', told(await api.put(`${at('v2')}/one`, json))];
  const applied = { ...two, spec: { host: 'e', port: 3 } };
  yield ['conversion: applied', told(await api.apply(`${at('v2')}/two?force=true`, 'me', applied))];
  const status = await api.send('PATCH', `${at('v2')}/one/status`, {
    body: { metadata: { labels: { s: '1' } } },
    type: 'application/merge-patch+json',
  });
  yield ['conversion: status', told(status)];
  yield ['conversion: deleted', (await api.delete(`${at('v2')}/two`)).code];
  const [{ review, headers }] = hooks.seen('/convert').slice(-1) as [Tree];
  const { uid: _, objects: _o, ...request } = review.request;
  yield ['conversion: review', clean({ ...review, request, type: headers['content-type'] })];
}
