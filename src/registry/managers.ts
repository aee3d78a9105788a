import { convertTo } from '../api/conversion.ts';
import type { KubeObject } from '../api/object.ts';
import { builtinKind, customKind, type KindType } from '../apply/kind-type.ts';
import {
  type FieldManagerOptions,
  managerOf,
  type OtherVersion,
  updateManagedFields,
} from '../apply/managed-fields.ts';
import type { WriteOptions } from '../request/options.ts';
import { builtins, type Resource } from './resource.ts';
import type { Scope } from './scope.ts';
import { strategyOf } from './strategy.ts';

/** The merge type of a resource's kind. */
export function kindTypeOf(resource: Resource): KindType {
  if (resource.custom !== undefined) {
    return customKind(resource.custom.schema, resource.custom.preserveUnknownFields);
  }
  const kind = builtinKind(resource.groupVersion, resource.kind);
  if (kind === undefined) throw new TypeError(`${resource.groupVersion} ${resource.kind} has no schema`);
  return kind;
}

/** Who writes: the manager that the request names, else what its user agent is called. */
export function managerName(scope: Scope, options: Pick<WriteOptions, 'fieldManager'>): string {
  return options.fieldManager || managerOf(scope.ctx.request.headers.get('user-agent') ?? '');
}

function otherVersion(resource: Resource): FieldManagerOptions['otherVersion'] {
  return (groupVersion): OtherVersion | undefined => {
    const row = builtins.get(groupVersion)?.get(resource.resource);
    if (row === undefined || row.storage?.prefix !== resource.storage?.prefix) return undefined;
    return {
      kind: kindTypeOf(row),
      convert: (object) => convertTo(object, groupVersion),
      back: (object) => convertTo(object, resource.groupVersion),
    };
  };
}

/** Paths that an endpoint drops, so that no one who writes them there owns them. */
function resetFieldsOf(resource: Resource, subresource: string): Readonly<Record<string, readonly string[]>> {
  if (resource.custom === undefined) return strategyOf(resource, subresource).resetFields;
  if (subresource === 'status') return { [resource.groupVersion]: ['metadata', 'spec'] };
  return resource.subresources.has('status') ? { [resource.groupVersion]: ['status'] } : {};
}

/** What the field manager needs to know of a write. */
export function fieldManagerOptions(scope: Scope, options: Pick<WriteOptions, 'fieldManager'>): FieldManagerOptions {
  const { ctx, resource, subresource } = scope;
  return {
    manager: managerName(scope, options),
    groupVersion: resource.groupVersion,
    subresource,
    now: ctx.now(),
    kind: kindTypeOf(resource),
    resetFields: resetFieldsOf(resource, subresource),
    otherVersion: otherVersion(resource),
  };
}

/** The object with the managed fields that this write leaves behind. */
export function managed(
  scope: Scope,
  options: Pick<WriteOptions, 'fieldManager'>,
  live: KubeObject | undefined,
  object: KubeObject,
): KubeObject {
  return updateManagedFields(live, object, fieldManagerOptions(scope, options));
}
