import type { Tree } from '../e2e/api.ts';
import { behaviours } from './behaviours.ts';
import { conversions } from './conversions.ts';
import { answers, configMap, type Finding, type Stage, told, webhook, withWebhooks } from './scenarios.ts';

const MUTATING_ONLY = new Set(['/inject', '/judge', '/count']);

/** Plays every scenario. */
export async function* play(stage: Stage): AsyncGenerator<Finding> {
  const paths = Object.keys(behaviours).filter((path) => !MUTATING_ONLY.has(path));
  yield* answers(stage, 'Validating', paths);
  yield* answers(stage, 'Mutating', paths);
  yield* reviews(stage);
  yield* reinvocation(stage);
  yield* injection(stage);
  yield* subresources(stage);
  yield* conversions(stage);
}

/** What a webhook is sent. */
async function* reviews(stage: Stage): AsyncGenerator<Finding> {
  const { api, namespace, hooks } = stage;
  const rules = [
    { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['configmaps', 'services', 'deployments/*'] },
  ];
  const path = '/warn';
  const look = () => hooks.seen(path).map(({ review, query, headers }) => clean(stage, { review, query, headers }));
  const more = { rules, admissionReviewVersions: ['v2', 'v1beta1', 'v1'] };
  for (const versions of [['v1'], ['v2', 'v1beta1', 'v1']]) {
    const before = look().length;
    await withWebhooks(
      stage,
      'Validating',
      [webhook(stage, path, { ...more, admissionReviewVersions: versions })],
      async () => {
        const maps = `${namespace}/configmaps`;
        await api.post(`${maps}?fieldManager=me&fieldValidation=Strict`, configMap('seen', { a: '1' }, { k: 'v' }));
        await api.merge(`${maps}/seen?fieldManager=me`, { data: { k: 'w' } });
        await api.apply(`${maps}/applied`, 'applier', {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'applied' },
        });
        await api.delete(`${maps}/seen`, { gracePeriodSeconds: 0, propagationPolicy: 'Background' });
        await api.delete(`${maps}/applied?dryRun=All`);
        await api.delete(`${maps}/applied`);
      },
      async () => {
        const known = look().length;
        await api.post(`${namespace}/configmaps?dryRun=All`, configMap('probe'));
        return look().length > known;
      },
    );
    const sent = look().slice(before);
    yield [`reviews sent to ${versions.join()}`, sent.filter((one) => one.review.request.name !== 'probe')];
  }
}

function clean(stage: Stage, { review, query, headers }: Tree): Tree {
  const text = JSON.stringify(review)
    .replaceAll(stage.name, 'NS')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
    .replace(/"resourceVersion":"\d+"/g, '"resourceVersion":"RV"');
  const cleaned = JSON.parse(text);
  cleaned.request.userInfo = Object.keys(cleaned.request.userInfo).sort();
  const { 'content-type': type, accept, 'user-agent': agent } = headers;
  return { review: cleaned, query, headers: { type, accept, agent } };
}

/** Webhooks that run again because later ones changed the object. */
async function* reinvocation(stage: Stage): AsyncGenerator<Finding> {
  const { api, namespace, hooks } = stage;
  const again = { reinvocationPolicy: 'IfNeeded' };
  const cases: Record<string, Tree[]> = {
    'the first again': [webhook(stage, '/count', again), webhook(stage, '/label-a')],
    'none asks for it': [webhook(stage, '/count'), webhook(stage, '/label-a')],
    'nothing changes': [webhook(stage, '/count', again), webhook(stage, '/same')],
    'both again': [webhook(stage, '/count', again), webhook(stage, '/label-a', again)],
    'the last': [webhook(stage, '/label-a'), webhook(stage, '/count', again)],
  };
  for (const [name, webhooks] of Object.entries(cases)) {
    const probe = async () => {
      const before = hooks.seen('/count').length;
      await api.post(`${namespace}/configmaps?dryRun=All`, configMap('probe', { x: '1' }));
      return hooks.seen('/count').length > before;
    };
    const outcome = await withWebhooks(
      stage,
      'Mutating',
      webhooks,
      async () => {
        const before = hooks.seen('/count').length;
        const answer = await api.post(`${namespace}/configmaps?dryRun=All`, configMap('c', { x: '1' }));
        return { ...told(stage, answer), calls: hooks.seen('/count').length - before };
      },
      probe,
    );
    yield [`reinvocation: ${name}`, outcome];
  }
}

/** Subresources that have a kind of their own, and those that have not. */
async function* subresources(stage: Stage): AsyncGenerator<Finding> {
  const { api, namespace, hooks } = stage;
  const at = `/apis/apps/v1${namespace.slice('/api/v1'.length)}/deployments`;
  const labels = { app: 'a' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'main:1' }] } };
  await api.post(at, { metadata: { name: 'd' }, spec: { selector: { matchLabels: labels }, template } });
  const rule = { apiGroups: ['apps', ''], apiVersions: ['v1'], operations: ['*'] };
  const rules = [{ ...rule, resources: ['deployments/scale', 'deployments/status', 'serviceaccounts'] }];
  const look = () => hooks.seen('/warn').filter(({ review }) => review.request.name !== 'probe');
  const before = look().length;
  const probe = async () => {
    const known = hooks.seen('/warn').length;
    await api.post(`${namespace}/serviceaccounts?dryRun=All`, { metadata: { name: 'probe' } });
    return hooks.seen('/warn').length > known;
  };
  const answers = await withWebhooks(
    stage,
    'Validating',
    [webhook(stage, '/warn', { rules })],
    async () => [
      await api.merge(`${at}/d/scale`, { spec: { replicas: 3 } }),
      await api.merge(`${at}/d/status`, { status: { replicas: 1 } }),
    ],
    probe,
  );
  const brief = ({ kind, apiVersion, spec, status }: Tree) => ({ kind, apiVersion, replicas: spec?.replicas, status });
  const sent = look()
    .slice(before)
    .map((one) => {
      const { object, oldObject, ...request } = clean(stage, one).review.request;
      return { ...request, object: brief(object), oldObject: brief(oldObject) };
    });
  yield ['subresources', { codes: answers.map(({ code }) => code), warnings: answers[0]?.warnings, sent }];
}

/** A sidecar injector and a policy engine over pods, with the objects of equivalent versions and subresources. */
async function* injection(stage: Stage): AsyncGenerator<Finding> {
  const { api, namespace, hooks } = stage;
  const pods = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['pods'] }];
  const pod = (name: string, labels: Tree) => ({
    metadata: { name, labels },
    spec: { containers: [{ name: 'main', image: 'main:1' }], automountServiceAccountToken: false },
  });
  await api.post(`${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
  const probe = async () => {
    const before = hooks.seen('/judge').length;
    await api.post(`${namespace}/pods?dryRun=All`, pod('probe', { owner: 'me' }));
    return hooks.seen('/judge').length > before && hooks.seen('/inject').length > 0;
  };
  const findings: Finding[] = [];
  await withWebhooks(stage, 'Mutating', [webhook(stage, '/inject', { rules: pods })], () =>
    withWebhooks(
      stage,
      'Validating',
      [webhook(stage, '/judge', { rules: pods })],
      async () => {
        for (const owner of ['me', 'unknown', '']) {
          const labels: Tree = { app: 'a', ...(owner && { owner }) };
          const answer = await api.post(`${namespace}/pods`, pod(`pod-${owner || 'none'}`, labels));
          const { containers } = answer.json.spec ?? {};
          findings.push([`injection: owner ${owner}`, { ...told(stage, answer), containers }]);
        }
        const changed = await api.merge(`${namespace}/pods/pod-me`, { metadata: { labels: { owner: null } } });
        findings.push(['injection: the owner goes', told(stage, changed)]);
      },
      probe,
    ),
  );
  yield* findings;
}
