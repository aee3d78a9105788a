import { at, mapOf, objects } from '../api/fields.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';

/** Containers of every kind: init, ordinary, ephemeral. */
export const containersOf = (spec: JsonObject): JsonObject[] =>
  ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) => objects(spec[list]));

/** Init and ordinary containers. */
export const lastingContainersOf = (spec: JsonObject): JsonObject[] =>
  ['initContainers', 'containers'].flatMap((list) => objects(spec[list]));

/** Where workloads keep the template of their pods, by `group/resource`. */
const templatePaths: ReadonlyMap<string, readonly string[]> = new Map([
  ['/replicationcontrollers', ['spec', 'template']],
  ['/podtemplates', ['template']],
  ['apps/replicasets', ['spec', 'template']],
  ['apps/deployments', ['spec', 'template']],
  ['apps/statefulsets', ['spec', 'template']],
  ['apps/daemonsets', ['spec', 'template']],
  ['batch/jobs', ['spec', 'template']],
  ['batch/cronjobs', ['spec', 'jobTemplate', 'spec', 'template']],
]);

/** `group/resource` of everything that has a template of pods. */
export const workloads: readonly string[] = [...templatePaths.keys()];

/** The template of a workload's pods, if it has one. */
export function templateOf(
  resource: string,
  object: KubeObject,
): { metadata: JsonObject; spec: JsonObject } | undefined {
  const template = at(object, ...(templatePaths.get(resource) ?? []));
  if (template === undefined || template === null) return undefined;
  return { metadata: mapOf(at(template, 'metadata')), spec: mapOf(at(template, 'spec')) };
}
