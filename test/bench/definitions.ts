import { setTimeout as sleep } from 'node:timers/promises';
import { Api, type Tree } from '../e2e/api.ts';
import { startLocalCluster } from '../support/local-cluster.ts';

// 1,000 custom resource definitions in one tenant: what discovery, OpenAPI and a request to a process that has seen none
// of them cost. npm run bench:definitions -- [--count N] [--starts N]
const args = process.argv.slice(2);
const option = (name: string, otherwise: number) =>
  Number(args[args.indexOf(`--${name}`) + 1] ?? otherwise) || otherwise;
const COUNT = option('count', 1000);
const STARTS = option('starts', 10);
const PARALLEL = 8;
const GROUPS = 50;
const FIELDS = 60;

const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** A definition with a schema of about the size that operators have (8 KB). */
function definition(i: number): Tree {
  const group = `g${i % GROUPS}.example.com`;
  const field = (n: number): [string, Tree] => [
    `field${n}`,
    {
      type: 'object',
      description: `What field ${n} is for.`,
      properties: { a: { type: 'string' }, b: { type: 'integer' } },
    },
  ];
  const spec = { type: 'object', properties: Object.fromEntries(Array.from({ length: FIELDS }, (_, n) => field(n))) };
  const openAPIV3Schema = { type: 'object', properties: { spec } };
  return {
    metadata: { name: `things${i}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: `things${i}`, kind: `Thing${i}` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

/** Milliseconds and bytes of a request. */
async function timed(api: Api, target: string, accept = 'application/json') {
  const started = performance.now();
  const { code, body } = await api.get(target, { accept });
  if (code !== 200) throw new Error(`${target}: ${code}`);
  return { milliseconds: performance.now() - started, bytes: body.byteLength };
}

async function create(api: Api): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < COUNT) {
      const { code, text } = await api.post(path, definition(next++));
      if (code !== 201 && code !== 409) throw new Error(text);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  for (;;) {
    const { json } = await api.get(path);
    const established = json.items.filter((item: Tree) =>
      item.status?.conditions?.some((c: Tree) => c.type === 'Established' && c.status === 'True'),
    );
    if (established.length >= COUNT) return;
    await sleep(200);
  }
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const first = await startLocalCluster([]);
const folder = first.folder;
const api = new Api(first.run().kubeconfig);
const began = performance.now();
await create(api);
console.log(`${COUNT} definitions established in ${Math.round(performance.now() - began)} ms`);
for (const [name, target, accept] of [
  ['discovery, aggregated', '/apis', AGGREGATED],
  ['openapi/v3', '/openapi/v3', 'application/json'],
  ['openapi/v3 of a group', '/openapi/v3/apis/g1.example.com/v1', 'application/json'],
  ['objects', '/apis/g1.example.com/v1/things1', 'application/json'],
] as const) {
  const [cold, warm] = [await timed(api, target, accept), await timed(api, target, accept)];
  console.log(
    `${name}: ${cold.milliseconds.toFixed(0)} ms, then ${warm.milliseconds.toFixed(0)} ms, ${cold.bytes} bytes`,
  );
}
await first.stop();
const times: number[] = [];
for (let i = 0; i < STARTS; i++) {
  const cluster = await startLocalCluster(['--control-loops', 'none'], folder);
  times.push(
    (await timed(new Api(cluster.run().kubeconfig), `/apis/g${i % GROUPS}.example.com/v1/things${i}`)).milliseconds,
  );
  await cluster.stop();
}
times.sort((a, b) => a - b);
const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))]!.toFixed(0);
console.log(`first request to a process without a bundle: median ${at(0.5)} ms, longest ${at(1)} ms of ${STARTS}`);
first.remove();
process.exit(0);
