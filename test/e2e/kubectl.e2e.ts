import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { follow, getJson, kubectl, tryKubectl } from './kubectl.ts';

const namespace = `e2e-${process.pid}`;
const web = join(import.meta.dirname, 'manifests/web.yaml');
const inNamespace = (...args: string[]) => kubectl([...args, '-n', namespace]);

beforeAll(() => {
  kubectl(['create', 'namespace', namespace]);
});

afterAll(() => {
  kubectl(['delete', 'namespace', namespace, '--wait=false']);
});

describe('create and apply', () => {
  test('apply makes what a manifest names, and then leaves it alone', () => {
    expect(inNamespace('apply', '-f', web)).toContain('deployment.apps/web created');
    expect(inNamespace('apply', '-f', web).match(/unchanged/g)).toHaveLength(4);
  });

  test('create refuses what is there', () => {
    const { code, stderr } = tryKubectl(['create', 'configmap', 'web-settings', '-n', namespace]);
    expect(code).toBe(1);
    expect(stderr).toContain('already exists');
  });

  test('create makes objects from flags', () => {
    inNamespace('create', 'configmap', 'from-flags', '--from-literal=a=1');
    inNamespace('create', 'serviceaccount', 'robot');
    inNamespace('create', 'deployment', 'from-flags', '--image=registry.example/a:1');
    inNamespace('create', 'role', 'reader', '--verb=get,list', '--resource=configmaps');
    inNamespace('create', 'rolebinding', 'reader', '--role=reader', `--serviceaccount=${namespace}:robot`);
    inNamespace('create', 'job', 'once', '--image=registry.example/a:1');
    inNamespace('create', 'ingress', 'front', '--rule=example.org/*=web:80');
    expect(getJson(['configmap', 'from-flags', '-n', namespace]).data).toEqual({ a: '1' });
  });

  test('an unknown field is refused by the server', () => {
    const manifest = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'typo' },
      spec: { contaienrs: [] },
    };
    const { code, stderr } = tryKubectl(['create', '-n', namespace, '-f', '-'], JSON.stringify(manifest));
    expect(code).toBe(1);
    expect(stderr).toContain('unknown field "spec.contaienrs"');
  });

  test('a server-side apply owns its fields', () => {
    const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data: { a: '1' } };
    inNamespace('apply', '--server-side', '-f', web, '--force-conflicts');
    kubectl(['apply', '--server-side', '-n', namespace, '-f', '-'], JSON.stringify(manifest));
    const { stderr } = tryKubectl(
      ['apply', '--server-side', '--field-manager=other', '-n', namespace, '-f', '-'],
      JSON.stringify({ ...manifest, data: { a: '2' } }),
    );
    expect(stderr).toContain('conflict with "kubectl"');
  });

  test('dry runs change nothing', () => {
    inNamespace('create', 'configmap', 'dry', '--dry-run=server');
    expect(tryKubectl(['get', 'configmap', 'dry', '-n', namespace]).code).toBe(1);
  });
});

describe('get in every output form', () => {
  const get = (...args: string[]) => inNamespace('get', 'deployment', 'web', ...args);

  test('table and wide', () => {
    expect(get()).toMatch(/NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0\/2/);
    expect(get('-o', 'wide')).toMatch(/CONTAINERS +IMAGES +SELECTOR\n.*registry.example\/web:1.0/);
    expect(get('--show-labels')).toContain('app=web');
    expect(inNamespace('get', 'all')).toContain('service/web');
  });

  test('json, yaml and name', () => {
    expect(JSON.parse(get('-o', 'json')).spec.replicas).toBe(2);
    expect(get('-o', 'yaml')).toContain('kind: Deployment');
    expect(get('-o', 'name')).toBe('deployment.apps/web\n');
  });

  test('jsonpath, go-template and custom columns', () => {
    expect(get('-o', 'jsonpath={.spec.template.spec.containers[0].image}')).toBe('registry.example/web:1.0');
    expect(get('-o', 'go-template={{.metadata.name}}')).toBe('web');
    expect(get('-o', 'custom-columns=NAME:.metadata.name,N:.spec.replicas')).toMatch(/NAME +N\nweb +2/);
  });

  test('selectors, sorting, raw and chunks', () => {
    expect(inNamespace('get', 'configmaps', '-l', 'app=web', '-o', 'name')).toBe('configmap/web-settings\n');
    expect(inNamespace('get', 'configmaps', '--field-selector', 'metadata.name=from-flags', '-o', 'name')).toBe(
      'configmap/from-flags\n',
    );
    expect(inNamespace('get', 'configmaps', '--chunk-size=1', '-o', 'name').split('\n').length).toBeGreaterThan(3);
    expect(JSON.parse(kubectl(['get', '--raw', `/api/v1/namespaces/${namespace}`])).status.phase).toBe('Active');
    expect(kubectl(['get', 'deployments', '-A', '--sort-by=.metadata.name'])).toContain(namespace);
  });

  test('what is not there', () => {
    expect(tryKubectl(['get', 'configmap', 'nothing', '-n', namespace]).stderr).toContain(
      'configmaps "nothing" not found',
    );
  });
});

describe('describe and explain', () => {
  test('describe', () => {
    expect(inNamespace('describe', 'deployment', 'web')).toMatch(/Replicas: +2 desired/);
    expect(inNamespace('describe', 'service', 'web')).toMatch(/Port: +http +80\/TCP/);
    expect(kubectl(['describe', 'namespace', namespace])).toMatch(/Status: +Active/);
  });

  test('explain', () => {
    expect(kubectl(['explain', 'deployment.spec.strategy'])).toMatch(/FIELD: strategy <DeploymentStrategy>/);
    expect(kubectl(['explain', 'pod.spec.containers', '--recursive'])).toContain('livenessProbe');
  });

  test('api-resources, api-versions and version', () => {
    expect(kubectl(['api-resources'])).toMatch(/deployments +deploy +apps\/v1 +true +Deployment/);
    expect(kubectl(['api-resources', '--namespaced=false', '-o', 'name'])).toContain('nodes');
    expect(kubectl(['api-versions'])).toContain('rbac.authorization.k8s.io/v1');
    expect(kubectl(['version'])).toMatch(/Server Version: v1\.36\.3/);
    expect(kubectl(['cluster-info'])).toContain('is running at');
  });
});

describe('changes', () => {
  const deployment = () => JSON.parse(inNamespace('get', 'deployment', 'web', '-o', 'json'));

  test('the three kinds of patch', () => {
    inNamespace('patch', 'configmap', 'web-settings', '--type=merge', '-p', '{"data":{"greeting":"hi"}}');
    inNamespace(
      'patch',
      'configmap',
      'web-settings',
      '--type=json',
      '-p',
      '[{"op":"add","path":"/data/more","value":"1"}]',
    );
    inNamespace(
      'patch',
      'deployment',
      'web',
      '-p',
      '{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"registry.example/web:2.0"}]}}}}',
    );
    expect(getJson(['configmap', 'web-settings', '-n', namespace]).data).toMatchObject({ greeting: 'hi', more: '1' });
    expect(inNamespace('get', 'deployment', 'web', '-o', 'jsonpath={..image}')).toBe('registry.example/web:2.0');
  });

  test('edit', () => {
    process.env.KUBE_EDITOR = 'sed -i s/hi/edited/';
    inNamespace('edit', 'configmap', 'web-settings');
    expect(getJson(['configmap', 'web-settings', '-n', namespace]).data).toMatchObject({ greeting: 'edited' });
  });

  test('label and annotate', () => {
    inNamespace('label', 'deployment', 'web', 'tier=front');
    expect(tryKubectl(['label', 'deployment', 'web', 'tier=back', '-n', namespace]).code).toBe(1);
    inNamespace('label', 'deployment', 'web', 'tier=back', '--overwrite');
    inNamespace('annotate', 'deployment', 'web', 'note=hello');
    expect(deployment().metadata).toMatchObject({ labels: { tier: 'back' }, annotations: { note: 'hello' } });
    inNamespace('label', 'deployment', 'web', 'tier-');
    expect(deployment().metadata.labels).not.toHaveProperty('tier');
  });

  test('scale, set image, rollout restart and replace', () => {
    inNamespace('scale', 'deployment', 'web', '--replicas=5');
    expect(deployment().spec.replicas).toBe(5);
    inNamespace('set', 'image', 'deployment/web', 'web=registry.example/web:3.0');
    inNamespace('rollout', 'restart', 'deployment/web');
    expect(deployment().spec.template.metadata.annotations).toHaveProperty('kubectl.kubernetes.io/restartedAt');
    const object = getJson(['configmap', 'from-flags', '-n', namespace]);
    kubectl(['replace', '-f', '-'], JSON.stringify({ ...object, data: { a: '2' } }));
    const { stderr } = tryKubectl(['replace', '-f', '-'], JSON.stringify({ ...object, data: { a: '3' } }));
    expect(stderr).toContain('(Conflict)');
  });
});

describe('wait and watch', () => {
  test('wait for a condition and for the end', () => {
    kubectl(['wait', `namespace/${namespace}`, '--for=jsonpath={.status.phase}=Active', '--timeout=10s']);
    inNamespace('create', 'configmap', 'short-lived');
    inNamespace('delete', 'configmap', 'short-lived', '--wait=false');
    inNamespace('wait', 'configmap/short-lived', '--for=delete', '--timeout=10s');
  });

  test('get --watch shows changes as they come', async () => {
    const watch = follow([
      'get',
      'configmaps',
      '-n',
      namespace,
      '--watch',
      '-o',
      'custom-columns=N:.metadata.name,V:.data.v',
      '--no-headers',
    ]);
    await watch.until((lines) => lines.some((line) => line.startsWith('web-settings')));
    inNamespace('create', 'configmap', 'watched', '--from-literal=v=1');
    await watch.until((lines) => lines.some((line) => /^watched +1/.test(line)));
    inNamespace('patch', 'configmap', 'watched', '-p', '{"data":{"v":"2"}}');
    await watch.until((lines) => lines.some((line) => /^watched +2/.test(line)));
    watch.stop();
  });
});

describe('authorization', () => {
  test('auth can-i', () => {
    expect(kubectl(['auth', 'can-i', '*', '*'])).toBe('yes\n');
    const robot = `--as=system:serviceaccount:${namespace}:robot`;
    expect(inNamespace('auth', 'can-i', 'list', 'configmaps', robot)).toBe('yes\n');
    expect(tryKubectl(['auth', 'can-i', 'delete', 'configmaps', robot, '-n', namespace]).stdout).toBe('no\n');
    expect(kubectl(['auth', 'whoami'])).toContain('kubernetes-admin');
  });

  test('what a user may not do is forbidden', () => {
    const { stderr } = tryKubectl(['get', 'secrets', '-n', namespace, `--as=system:serviceaccount:${namespace}:robot`]);
    expect(stderr).toContain(
      `secrets is forbidden: User "system:serviceaccount:${namespace}:robot" cannot list resource "secrets"`,
    );
  });
});

describe('delete', () => {
  test('by name, by selector and by manifest', () => {
    expect(inNamespace('delete', 'configmap', 'from-flags')).toContain('deleted');
    expect(inNamespace('delete', 'service', '-l', 'app=web')).toContain('service "web" deleted');
    expect(inNamespace('delete', '-f', web, '--ignore-not-found')).toContain('deployment.apps "web" deleted');
    expect(inNamespace('get', 'deployment', 'web', '--ignore-not-found')).toBe('');
  });

  test('a namespace goes with everything in it', () => {
    const name = `${namespace}-gone`;
    kubectl(['create', 'namespace', name]);
    kubectl(['create', 'configmap', 'inside', '-n', name]);
    kubectl(['delete', 'namespace', name, '--timeout=30s']);
    expect(tryKubectl(['get', 'namespace', name]).code).toBe(1);
  });
});

const shared = join(import.meta.dirname, '../../../shared/manifests');
describe.skipIf(!existsSync(shared))('manifests of real projects', () => {
  test.each(['guestbook.yaml', 'microservices-demo.yaml'])('%s', (file) => {
    const name = `${namespace}-${file.replace(/\..*/, '')}`;
    kubectl(['create', 'namespace', name]);
    const path = join(shared, file);
    expect(kubectl(['apply', '-n', name, '-f', path])).toContain('created');
    const again = kubectl(['apply', '-n', name, '-f', path]).trim().split('\n');
    expect(again.filter((line) => !line.endsWith('unchanged'))).toEqual([]);
    expect(kubectl(['get', '-n', name, '-f', path, '-o', 'name']).trim().split('\n')).toHaveLength(again.length);
    kubectl(['delete', '-n', name, '-f', path]);
    kubectl(['delete', 'namespace', name, '--timeout=30s']);
  });
});
