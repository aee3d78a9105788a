import type { Answer, Api, Tree } from '../e2e/api.ts';
import { until } from '../e2e/api.ts';
import type { HookServer } from './server.ts';

/** One thing that was tried, and what came of it, without what differs from run to run. */
export type Finding = readonly [name: string, outcome: Tree];

const GROUP = '/apis/admissionregistration.k8s.io/v1';
const CREATE_CONFIGMAPS = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }];

/** Where the scenarios are played. */
export interface Stage {
  api: Api;
  hooks: HookServer;
  /** Path of a namespace of their own. */
  namespace: string;
  /** Its name. */
  name: string;
}

type Kind = 'Validating' | 'Mutating';

/** A webhook that asks for the creation of config maps in the stage's namespace with the label `hook: NAME`. */
export function webhook({ hooks, name }: Stage, path: string, more: Tree = {}): Tree {
  return {
    name: `${path.slice(1)}.example.com`,
    clientConfig: { url: `https://127.0.0.1:${hooks.port}${path}`, caBundle: hooks.caBundle },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    rules: CREATE_CONFIGMAPS,
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
    timeoutSeconds: 1,
    ...more,
  };
}

/** Puts webhooks in force while `act` runs. `probe`: tells whether they are in force by now. */
export async function withWebhooks<T>(
  stage: Stage,
  kind: Kind,
  webhooks: Tree[],
  act: () => Promise<T>,
  probe: () => Promise<boolean> = async () => true,
): Promise<T> {
  const { api, name } = stage;
  const path = `${GROUP}/${kind.toLowerCase()}webhookconfigurations`;
  const own = `${name}-${kind.toLowerCase()}-${++count}`;
  const body = { kind: `${kind}WebhookConfiguration`, metadata: { name: own }, webhooks };
  const { code, text } = await api.post(path, body);
  if (code !== 201) throw new Error(text);
  try {
    await until(probe, `${own} to be in force`);
    return await act();
  } finally {
    await api.delete(`${path}/${own}`);
  }
}
let count = 0;

export const configMap = (name: string, labels: Tree = {}, data: Tree = {}) => ({ metadata: { name, labels }, data });

/** An answer without what differs from run to run. */
export function told({ hooks, name }: Stage, { code, json, warnings }: Answer): Tree {
  const text = JSON.stringify(json)
    .replaceAll(String(hooks.port), 'PORT')
    .replaceAll(name, 'NS')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
    .replace(/tcp 127.0.0.1:\d+->/g, 'tcp HERE->');
  const body = JSON.parse(text);
  if (code < 400) return { code, labels: body.metadata?.labels, data: body.data, warnings };
  return { code, reason: body.reason, message: body.message, details: body.details, warnings };
}

/** Plays each way in which a webhook of a kind can answer, against creations of config maps. */
export async function* answers(stage: Stage, kind: Kind, paths: readonly string[]): AsyncGenerator<Finding> {
  const { api, hooks, namespace } = stage;
  for (const failurePolicy of ['Fail', 'Ignore']) {
    const webhooks = paths.map((path) =>
      webhook(stage, path, { failurePolicy, objectSelector: { matchLabels: { hook: path.slice(1) } } }),
    );
    const marker = webhook(stage, '/allow', { name: 'marker.example.com' });
    const probe = async () => {
      const before = hooks.seen('/allow').length;
      await api.post(`${namespace}/configmaps?dryRun=All`, configMap('probe'));
      return hooks.seen('/allow').length > before;
    };
    const findings: Finding[] = [];
    await withWebhooks(
      stage,
      kind,
      [...webhooks, marker],
      async () => {
        for (const path of paths) {
          const object = configMap('c', { hook: path.slice(1) }, { a: '1' });
          const answer = await api.post(`${namespace}/configmaps?dryRun=All`, object);
          findings.push([`${kind} ${failurePolicy} ${path}`, told(stage, answer)]);
        }
      },
      probe,
    );
    yield* findings;
  }
}
