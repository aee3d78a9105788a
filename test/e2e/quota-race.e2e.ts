import { afterAll, beforeAll, expect, test } from 'vitest';
import { type StartedCluster, startLocalCluster } from '../support/local-cluster.ts';
import { replicaStatus } from '../support/replica-status.ts';
import { Api, pause, until } from './api.ts';

// A race for the last units of two quotas, with a process per replica, one of which is killed meanwhile.
const CREATES = 100;
const UNITS = 10;
const REPLICAS = [1, 2, 3];
let cluster: StartedCluster;
let api: Api;

beforeAll(async () => {
  cluster = await startLocalCluster(['--processes', '3']);
  api = new Api(cluster.run().kubeconfig);
});

afterAll(async () => {
  await cluster.stop();
  cluster.remove();
});

async function quotaInForce(namespace: string, name: string, hard: Record<string, string>): Promise<void> {
  const path = `${namespace}/resourcequotas`;
  expect((await api.post(path, { metadata: { name }, spec: { hard } })).code).toBe(201);
  await until(
    async () => (await api.get(`${path}/${name}`)).json.status.used !== undefined,
    'the quota to be in force',
  );
}

async function leader(): Promise<number> {
  const roles = await Promise.all(REPLICAS.map(async (id) => (await replicaStatus(cluster, id)).role));
  return REPLICAS[roles.indexOf('leader')]!;
}

/** Creates a secret, again where no answer said what became of it: 201 or 409 if it is there, 403 if it is refused. */
async function create(namespace: string, name: string): Promise<number> {
  for (;;) {
    const code = await api.post(`${namespace}/secrets`, { metadata: { name } }).then(
      (answer) => answer.code,
      () => 0,
    );
    if ([201, 403, 409].includes(code)) return code;
    await pause(20);
  }
}

const victims: readonly [string, () => Promise<number>][] = [
  ['the leader', leader],
  ['a follower', async () => ((await leader()) % REPLICAS.length) + 1],
];

test.each(victims)('100 creates at once at a quota of 10 leave exactly 10 while %s is killed', async (who, find) => {
  const namespace = await api.namespace(`race-${who.split(' ').at(-1)}`);
  await quotaInForce(namespace, 'wide', { 'count/secrets': '50' });
  await quotaInForce(namespace, 'narrow', { secrets: `${UNITS}` });
  const role = `replica-${await find()}`;
  const victim = cluster.run().processes[role]!;
  const creates = Array.from({ length: CREATES }, (_, i) => create(namespace, `s-${i}`));
  await Promise.race(creates);
  process.kill(victim, 'SIGKILL');
  const codes = await Promise.all(creates);
  expect(codes.filter((code) => code !== 403)).toHaveLength(UNITS);
  expect((await api.get(`${namespace}/secrets`)).json.items).toHaveLength(UNITS);
  const used = async (name: string) => (await api.get(`${namespace}/resourcequotas/${name}`)).json.status.used;
  expect([await used('wide'), await used('narrow')]).toEqual([{ 'count/secrets': '10' }, { secrets: '10' }]);
  await until(() => ![undefined, victim].includes(cluster.run().processes[role]), 'the process to be back');
});
