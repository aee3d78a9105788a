import { describe, expect, test } from 'vitest';
import { applyDefaults } from '../../src/api/defaults.ts';
import type { JsonObject, JsonValue, KubeObject } from '../../src/api/object.ts';
import { plainValue } from '../../src/codec/json.ts';
import { decodeTyped } from '../../src/codec/typed.ts';
import observed from './testdata/observed.json';

function defaulted(groupVersion: string, kind: string, sent: JsonValue): KubeObject {
  const { object } = decodeTyped(plainValue(sent), groupVersion, kind);
  applyDefaults(object, groupVersion, kind, new Date(0));
  return object;
}

/** Leaves by path; empty objects and lists are leaves. */
function flatten(value: JsonValue | undefined, path: string, out: Map<string, string>): Map<string, string> {
  if (Array.isArray(value) && value.length > 0) value.forEach((item, i) => void flatten(item, `${path}[${i}]`, out));
  else if (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0) {
    for (const [key, item] of Object.entries(value)) flatten(item, path === '' ? key : `${path}.${key}`, out);
  } else out.set(path, JSON.stringify(value));
  return out;
}

/** What an answer has from strategies, admission, allocation and controllers, which are not defaults. */
const ELSEWHERE: Record<string, RegExp> = {
  '': /^metadata\.(creationTimestamp|resourceVersion|uid|generation|namespace|finalizers)/,
  'apiextensions.k8s.io/v1 CustomResourceDefinition': /^status\.(acceptedNames|conditions)/,
  'apiregistration.k8s.io/v1 APIService': /^status/,
  'apps/v1 DaemonSet': /^metadata\.annotations/,
  'batch/v1 Job': /labels|matchLabels|^spec.template.metadata$/,
  'certificates.k8s.io/v1 CertificateSigningRequest': /^spec\.(extra|groups|username|request)/,
  'flowcontrol.apiserver.k8s.io/v1 FlowSchema': /^status/,
  'v1 Namespace': /^spec/,
  'v1 Node': /^spec/,
  'v1 PersistentVolume': /^status\.lastPhaseTransitionTime/,
  'v1 Pod': /volumeMounts|volumes|tolerations|^spec\.(priority|preemptionPolicy|serviceAccount)|^status/,
  'v1 Secret': /^stringData/,
  'v1 Service': /^spec\.(clusterIP|ipFamil)/,
};

describe('what kube-apiserver added to a minimal object', () => {
  const entries = Object.entries(observed as unknown as Record<string, { sent: JsonObject; added: JsonObject }>);
  test.each(entries)('%s', (key, { sent, added }) => {
    const [groupVersion = '', kind = ''] = key.split(' ');
    const got = flatten(defaulted(groupVersion, kind, sent), '', new Map());
    const want = new Map([
      ...flatten(sent, '', new Map()),
      ...Object.entries(added).map(([k, v]) => [k, JSON.stringify(v)] as const),
    ]);
    const elsewhere = (path: string) => ELSEWHERE['']?.test(path) || ELSEWHERE[key]?.test(path);
    const replaced = (path: string) =>
      [...want.keys()].some((k) => k.startsWith(`${path}.`) || k.startsWith(`${path}[`));
    const kept = (paths: Map<string, string>) =>
      Object.fromEntries(
        [...paths].filter(([path, value]) => !elsewhere(path) && !replaced(path) && value !== '[]').sort(),
      );
    expect(kept(got)).toEqual(kept(want));
  });
});

const pod = (spec: JsonObject) => (defaulted('v1', 'Pod', { spec }).spec ?? {}) as JsonObject;
const container = (fields: JsonObject) => (pod({ containers: [fields] }).containers as JsonObject[])[0];

describe('defaults with two causes', () => {
  test.each([
    ['nginx', 'Always'],
    ['nginx:latest', 'Always'],
    ['nginx:1.25', 'IfNotPresent'],
    ['localhost:5000/x', 'Always'],
    ['x.y/z:1@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'IfNotPresent'],
    ['x@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'IfNotPresent'],
    ['UPPER', 'IfNotPresent'],
    ['', 'IfNotPresent'],
  ])('image %j is pulled %s', (image, policy) => {
    expect(container({ image })?.imagePullPolicy).toBe(policy);
  });

  test('limits fill in requests of a pod, not of a template', () => {
    const resources = { limits: { cpu: '2', memory: '1Gi' }, requests: { cpu: '1' } };
    expect(container({ resources })?.resources).toEqual({
      limits: { cpu: '2', memory: '1Gi' },
      requests: { cpu: '1', memory: '1Gi' },
    });
    const template = defaulted('v1', 'PodTemplate', { template: { spec: { containers: [{ resources }] } } });
    expect(JSON.stringify(template)).toContain('"requests":{"cpu":"1"}');
  });

  test('pod-level requests are the sum of the containers, with sidecars and start-up', () => {
    const cpu = (amount: string, more: JsonObject = {}) => ({ resources: { requests: { cpu: amount } }, ...more });
    const { resources } = pod({
      resources: { limits: { cpu: '4', memory: '1Gi' } },
      containers: [cpu('100m'), cpu('0.2')],
      initContainers: [cpu('50m', { restartPolicy: 'Always' }), cpu('600m')],
    });
    expect(resources).toEqual({ limits: { cpu: '4', memory: '1Gi' }, requests: { cpu: '650m', memory: '1Gi' } });
  });

  test('host ports follow the host network', () => {
    const { containers } = pod({
      hostNetwork: true,
      containers: [{ ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 8 }] }],
    });
    expect((containers as JsonObject[])[0]?.ports).toMatchObject([{ hostPort: 80 }, { hostPort: 8 }]);
  });

  test('the strategy of a Deployment is filled in only when it rolls', () => {
    const spec = (strategy?: JsonObject) =>
      (defaulted('apps/v1', 'Deployment', { spec: { ...(strategy && { strategy }) } }).spec as JsonObject).strategy;
    expect(spec()).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } });
    expect(spec({ rollingUpdate: { maxSurge: 0 } })).toMatchObject({
      rollingUpdate: { maxUnavailable: '25%', maxSurge: 0 },
    });
    expect(spec({ type: 'Recreate' })).toEqual({ type: 'Recreate' });
  });

  test('explicit zeroes of pointers stay', () => {
    expect((defaulted('apps/v1', 'Deployment', { spec: { replicas: 0 } }).spec as JsonObject).replicas).toBe(0);
    const level = defaulted('flowcontrol.apiserver.k8s.io/v1', 'PriorityLevelConfiguration', {
      spec: { limited: { nominalConcurrencyShares: 0, limitResponse: { queuing: { queues: 0 } } } },
    });
    expect((level.spec as JsonObject).limited).toMatchObject({
      nominalConcurrencyShares: 0,
      limitResponse: { queuing: { queues: 64, handSize: 8 } },
    });
  });

  test('stringData of a Secret becomes data and wins', () => {
    const secret = defaulted('v1', 'Secret', { data: { a: 'YQ==', c: null }, stringData: { a: 'é', b: '' } });
    expect(secret.data).toEqual({ a: 'w6k=', b: '', c: '' });
    expect(secret).not.toHaveProperty('stringData');
  });

  test('an autoscaler without metrics scales by processor time', () => {
    const scaler = defaulted('autoscaling/v1', 'HorizontalPodAutoscaler', { spec: { maxReplicas: 1 } });
    expect((scaler.spec as JsonObject).targetCPUUtilizationPercentage).toBe(80);
  });

  test('a headless Service with client affinity', () => {
    const { spec } = defaulted('v1', 'Service', {
      spec: { clusterIP: 'None', sessionAffinity: 'ClientIP', ports: [{ port: 80 }] },
    });
    expect(spec).toMatchObject({
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } },
      ports: [{ protocol: 'TCP', port: 80, targetPort: 80 }],
      internalTrafficPolicy: 'Cluster',
    });
  });
});
