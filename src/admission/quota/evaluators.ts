import { claims } from './claims.ts';
import type { Evaluator } from './evaluator.ts';
import { pods } from './pods.ts';
import { resourceClaims } from './resource-claims.ts';
import { services } from './services.ts';

/** The entry of a quota that counts objects of a resource. */
export const countName = (group: string, resource: string): string =>
  group === '' ? `count/${resource}` : `count/${resource}.${group}`;

/** Resources that quotas counted by their bare name before there were `count/` entries. */
const aliases: ReadonlySet<string> = new Set(['configmaps', 'resourcequotas', 'replicationcontrollers', 'secrets']);

function counter(group: string, resource: string): Evaluator {
  const names = [countName(group, resource), ...(group === '' && aliases.has(resource) ? [resource] : [])];
  return {
    handles: ({ operation, subresource }) => operation === 'CREATE' && subresource === '',
    counts: (name) => names.includes(name),
    inScope: () => false,
    usage: () => Object.fromEntries(names.map((name) => [name, '1'])),
  };
}

const special: ReadonlyMap<string, Evaluator> = new Map([
  ['/pods', pods],
  ['/services', services],
  ['/persistentvolumeclaims', claims],
  ['resource.k8s.io/resourceclaims', resourceClaims],
]);

/** Resources that no quota counts. */
const uncounted: ReadonlySet<string> = new Set(['/events', 'events.k8s.io/events', '/bindings']);

/** How objects of a resource count, if they do. */
export function evaluatorOf({ group, resource }: { group: string; resource: string }): Evaluator | undefined {
  const key = `${group}/${resource}`;
  return uncounted.has(key) ? undefined : (special.get(key) ?? counter(group, resource));
}
