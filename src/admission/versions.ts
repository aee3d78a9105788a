import { convertTo } from '../api/conversion.ts';
import type { KubeObject } from '../api/object.ts';
import { convertCustom } from '../registry/conversion/webhook.ts';
import type { Resource } from '../registry/resource.ts';
import type { Attributes } from './chain.ts';

/** The objects of a request in one version of its resource. */
export interface Versioned {
  object: KubeObject | undefined;
  old: KubeObject | undefined;
}

/** The objects of a request in the version that a webhook or policy asked for. */
export async function versioned(attributes: Attributes, { groupVersion }: Resource): Promise<Versioned> {
  const { object, old } = attributes;
  return {
    object: object && (await inVersion(attributes, object, groupVersion)),
    old: old && (await inVersion(attributes, old, groupVersion)),
  };
}

/** An object of a request in another version of its resource; a kind that only a subresource has (Scale) has one. */
export async function inVersion(
  { ctx, resource, subresource }: Attributes,
  object: KubeObject,
  groupVersion: string,
): Promise<KubeObject> {
  const hasOwnKind = (resource.subresources.get(subresource)?.kind ?? resource.kind) !== resource.kind;
  if (hasOwnKind) return object;
  if (resource.custom?.conversion === undefined) return convertTo(object, groupVersion);
  return (await convertCustom(ctx, resource, [object], groupVersion))[0]!;
}
