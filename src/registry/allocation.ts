import type { KubeObject } from '../api/object.ts';
import type { Operation } from '../keyspace/types.ts';
import { markQuota, releaseQuota } from './quotas.ts';
import type { Allocate, Scope } from './scope.ts';
import { allocateService, releaseService } from './services/allocate.ts';

/** What commits beside the objects of a resource when they come and change, and when they go. */
interface Allocator {
  allocate: (scope: Scope) => Allocate;
  release: (object: KubeObject) => Operation[];
}

const allocators: ReadonlyMap<string, Allocator> = new Map([
  ['/services', { allocate: allocateService, release: releaseService }],
  ['/resourcequotas', { allocate: markQuota, release: releaseQuota }],
]);

const allocatorFor = ({ resource }: Scope) => allocators.get(`${resource.group}/${resource.resource}`);

/** How writes of a resource allocate what commits beside the object, if they do: addresses, ports, marks of quotas. */
export const allocatorOf = (scope: Scope): Allocate | undefined =>
  scope.subresource === '' ? allocatorFor(scope)?.allocate(scope) : undefined;

/** The operations that give back what was allocated to an object that goes. */
export const releasesOf = (scope: Scope, object: KubeObject): Operation[] => allocatorFor(scope)?.release(object) ?? [];
