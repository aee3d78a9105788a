import type { JsonObject } from '../../src/api/object.ts';
import type { CustomRows } from '../../src/discovery/catalog.ts';
import { Metrics } from '../../src/discovery/metrics.ts';
import { answerDiscovery, type DiscoveryDeps } from '../../src/discovery/routes.ts';
import { customResources } from '../../src/policy/custom-resources.ts';
import type { Resource } from '../../src/registry/resource.ts';

const well = async () => {};
export const now = new Date('2026-11-29T20:00:00Z');

export const deps = (more: Partial<DiscoveryDeps> = {}): DiscoveryDeps => ({
  custom: new Map(),
  aggregated: new Map(),
  health: { storage: well, bootstrap: well, policy: well },
  metrics: new Metrics(now),
  objectCounts: async () => new Map(),
  now: () => now,
  ...more,
});

export interface Ask {
  method?: string;
  accept?: string;
  headers?: Record<string, string>;
}

/** Asks for a path; undefined when discovery has no such path. */
export async function ask(target: string, { method = 'GET', accept, headers = {} }: Ask = {}, from = deps()) {
  const url = new URL(`https://cluster.example:6443${target}`);
  const all = new Headers(headers);
  if (accept !== undefined) all.set('accept', accept);
  return answerDiscovery({ path: url.pathname, method, headers: all, query: url.searchParams, host: url.host }, from);
}

export async function askJson(target: string, how?: Ask, from?: DiscoveryDeps): Promise<JsonObject> {
  const answer = await ask(target, how, from);
  return JSON.parse((await answer?.text()) ?? 'null') as JsonObject;
}

const schema = {
  type: 'object',
  description: 'A gizmo.',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', default: 3 },
        port: { 'x-kubernetes-int-or-string': true },
        keep: { type: 'string', nullable: true },
        inner: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
};

const version = (name: string, storage: boolean) => ({
  name,
  storage,
  served: true,
  subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } },
  schema: { openAPIV3Schema: schema },
  selectableFields: [{ jsonPath: '.spec.size' }],
});

/** Rows of a definition with a kind in two versions. */
export async function customRows(group = 'toys.example.com', plural = 'gizmos', kind = 'Gizmo'): Promise<CustomRows> {
  const definition = {
    metadata: { generation: 1 },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind, singular: kind.toLowerCase(), shortNames: ['gz'] },
      versions: [version('v1beta1', false), version('v1', true)],
    },
    status: { conditions: [{ type: 'Established', status: 'True' }] },
  };
  const rows = new Map<string, Map<string, Resource>>();
  for (const row of await customResources(definition as unknown as JsonObject)) {
    rows.set(row.groupVersion, new Map([[row.resource, row]]));
  }
  return rows;
}
