import type { KubeObject } from '../api/object.ts';
import type { Operation } from '../keyspace/types.ts';
import type { Allocate, Scope } from './scope.ts';
import { allocateService, releaseService } from './services/allocate.ts';

const allocators: ReadonlyMap<string, (scope: Scope) => Allocate> = new Map([['/services', allocateService]]);

/** How writes of a resource allocate what commits beside the object, if they do: addresses and ports of services. */
export function allocatorOf(scope: Scope): Allocate | undefined {
  const { group, resource } = scope.resource;
  return scope.subresource === '' ? allocators.get(`${group}/${resource}`)?.(scope) : undefined;
}

/** The operations that give back what was allocated to an object that goes. */
export function releasesOf({ resource }: Scope, object: KubeObject): Operation[] {
  return resource.group === '' && resource.resource === 'services' ? releaseService(object) : [];
}
