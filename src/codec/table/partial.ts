import type { JsonObject, KubeObject } from '../../api/object.ts';
import type { Resource } from '../../registry/resource.ts';
import { notConvertible } from '../../status/status.ts';

export type MetaVersion = 'v1' | 'v1beta1';

/** metav1.ListMeta. */
export interface ListMeta extends JsonObject {
  resourceVersion?: string;
  continue?: string;
  remainingItemCount?: number;
}

/** The metadata of an object alone. The metadata is shared with the object, not copied. */
export const toPartialObjectMetadata = (object: KubeObject, version: MetaVersion): JsonObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion: `meta.k8s.io/${version}`,
  metadata: object.metadata,
});

/** A list of metadata. `items` of an empty list is null, as upstream writes it. */
export const toPartialObjectMetadataList = (
  objects: readonly KubeObject[],
  version: MetaVersion,
  listMeta: ListMeta,
): JsonObject => ({
  kind: 'PartialObjectMetadataList',
  apiVersion: `meta.k8s.io/${version}`,
  metadata: listMeta,
  items: objects.length === 0 ? null : objects.map((object) => toPartialObjectMetadata(object, version)),
});

/** Go type that upstream names in refusals. */
function goType(resource: Resource, list: boolean): string {
  if (resource.custom !== undefined) return list ? '*unstructured.UnstructuredList' : '*unstructured.Unstructured';
  const group = resource.group === 'events.k8s.io' ? '' : resource.group;
  const [name = ''] = group.split('.');
  return `*${name === '' ? 'core' : name}.${resource.kind}${list ? 'List' : ''}`;
}

/**
 * Checks that a list or an object can be turned into what was asked for: a list into no PartialObjectMetadata, an
 * object into no PartialObjectMetadataList. Throws 406.
 */
export function checkTransform(kind: string, resource: Resource, list: boolean): void {
  const noun = list ? 'a list' : 'not a list';
  if (kind !== (list ? 'PartialObjectMetadata' : 'PartialObjectMetadataList')) return;
  throw notConvertible(`you requested ${kind}, but the requested object is ${noun} (${goType(resource, list)})`);
}
