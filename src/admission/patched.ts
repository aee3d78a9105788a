import { applyDefaults } from '../api/defaults.ts';
import { deepEqual, type JsonObject, type JsonValue, type KubeObject } from '../api/object.ts';
import { plainValue } from '../codec/json.ts';
import { DecodeError, decodeTyped, decodeUntyped } from '../codec/typed.ts';
import { defaultCustom, pruneCustom } from '../registry/custom.ts';
import { expectedOf } from '../registry/endpoint.ts';
import type { Resource } from '../registry/resource.ts';
import { internalError } from '../status/status.ts';
import type { Attributes } from './chain.ts';
import { inVersion } from './versions.ts';

const groupVersionOf = ({ group, version }: { group: string; version: string }) =>
  group === '' ? version : `${group}/${version}`;

/** What a patch made of an object in the version of `row`, decoded and defaulted. Throws 500 where it is no such object. */
function decode({ subresource }: Attributes, row: Resource, value: JsonObject): KubeObject {
  const expected = expectedOf(row, subresource);
  const groupVersion = groupVersionOf(expected);
  try {
    if (expected.custom) {
      const { object } = decodeUntyped(plainValue(value));
      pruneCustom(row, object);
      defaultCustom(row, object);
      return object;
    }
    const { object } = decodeTyped(plainValue(value), groupVersion, expected.kind);
    object.kind = expected.kind;
    object.apiVersion = groupVersion;
    object.metadata ??= {};
    applyDefaults(object, groupVersion, expected.kind);
    return object;
  } catch (error) {
    throw error instanceof DecodeError ? internalError(error.message) : error;
  }
}

function replace(target: KubeObject, source: KubeObject): void {
  if (target === source) return;
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, source);
}

/**
 * Takes what a patch made of the object of a request, which was `given` to it in the version of `row`. Changes the object
 * in place and tells whether it is another now.
 */
export async function takePatched(
  attributes: Attributes,
  row: Resource,
  given: KubeObject,
  value: JsonObject,
): Promise<boolean> {
  const patched = decode(attributes, row, value);
  const changed = !deepEqual(given as JsonValue, patched as JsonValue);
  const expected = groupVersionOf(expectedOf(attributes.resource, attributes.subresource));
  replace(attributes.object!, await inVersion(attributes, patched, expected));
  return changed;
}
