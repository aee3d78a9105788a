import { beforeEach, describe, expect, it } from 'vitest';
import { Cluster } from './support.ts';

const NS = '/api/v1/namespaces/default';
const QUOTAS = `${NS}/resourcequotas`;

let cluster: Cluster;
const configMap = (name: string) =>
  cluster.api.create(`${NS}/configmaps`, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const pod = (name: string) =>
  cluster.api.create(`${NS}/pods`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'c', image: 'a', resources: { requests: { cpu: '100m' } } }] },
  });
const quota = (name: string, hard: Record<string, string>) =>
  cluster.api.create(QUOTAS, { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name }, spec: { hard } });
const statusOf = async (name: string) => (await cluster.api.get(`${QUOTAS}/${name}`)).status;

describe('the recount of quotas', () => {
  beforeEach(async () => {
    cluster = await Cluster.make();
  });

  it('puts a new quota in force, with what is there already', async () => {
    await configMap('a');
    const hard = { 'count/configmaps': '3', pods: '2', 'count/deployments.apps': '1' };
    await quota('q', hard);
    await cluster.settle();
    // The root certificate counts too.
    expect(await statusOf('q')).toEqual({
      hard,
      used: { 'count/configmaps': '2', pods: '0', 'count/deployments.apps': '0' },
    });
    await configMap('b');
    await expect(configMap('c')).rejects.toThrow(/exceeded quota: q/);
    expect(await cluster.work()).toEqual([]);
  });

  it('gives back what objects that went had used', async () => {
    await quota('q', { 'count/configmaps': '2' });
    await cluster.settle();
    await configMap('a');
    await expect(configMap('b')).rejects.toThrow(/exceeded/);
    await cluster.api.delete(`${NS}/configmaps/a`, {});
    await cluster.settle();
    await configMap('b');
  });

  it('gives back what pods that have ended had used', async () => {
    await quota('q', { pods: '1', 'requests.cpu': '1' });
    await cluster.settle();
    await pod('a');
    expect((await statusOf('q')) as object).toMatchObject({ used: { pods: '1', 'requests.cpu': '100m' } });
    await cluster.api.mergePatch(`${NS}/pods/a/status`, { status: { phase: 'Succeeded' } });
    await cluster.settle();
    expect((await statusOf('q')) as object).toMatchObject({ used: { pods: '0', 'requests.cpu': '0' } });
    await pod('b');
  });

  it('follows the spec', async () => {
    await quota('q', { 'count/configmaps': '1' });
    await cluster.settle();
    await cluster.api.mergePatch(`${QUOTAS}/q`, { spec: { hard: { 'count/configmaps': '5' } } });
    await cluster.settle();
    expect(await statusOf('q')).toEqual({ hard: { 'count/configmaps': '5' }, used: { 'count/configmaps': '1' } });
  });

  it('does nothing where it is off', async () => {
    cluster = await Cluster.make('none');
    await quota('q', { 'count/configmaps': '1' });
    await cluster.settle();
    expect(await statusOf('q')).not.toHaveProperty('hard');
  });
});
