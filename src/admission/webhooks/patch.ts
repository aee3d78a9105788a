import { applyDefaults } from '../../api/defaults.ts';
import { deepEqual, type JsonObject, type JsonValue, type KubeObject } from '../../api/object.ts';
import { jsonPatch } from '../../apply/json-patch.ts';
import { jsonPatchFault } from '../../apply/json-patch-faults.ts';
import { JsonSyntaxError, parseJson, plainValue } from '../../codec/json.ts';
import { DecodeError, decodeTyped, decodeUntyped } from '../../codec/typed.ts';
import { defaultCustom, pruneCustom } from '../../registry/custom.ts';
import { expectedOf } from '../../registry/endpoint.ts';
import type { Resource } from '../../registry/resource.ts';
import { internalError, StatusError } from '../../status/status.ts';
import type { Attributes } from '../chain.ts';
import { CallFailure, inVersion } from './call.ts';
import type { Answer } from './review.ts';
import type { Webhook } from './webhook.ts';

/** The operations of an answer's patch. Throws {@link CallFailure} for what is none. */
export function operationsOf(webhook: Webhook, { patch, patchType, result }: Answer): JsonValue[] {
  if (patch === '') return [];
  const undecodable = (why: string) =>
    new CallFailure(webhook, `received undecodable patch in webhook response: ${why}`, 503);
  let operations: JsonValue;
  try {
    operations = parseJson(new TextDecoder().decode(Uint8Array.from(atob(patch), (c) => c.charCodeAt(0)))).value;
  } catch (error) {
    throw undecodable(error instanceof JsonSyntaxError ? error.message : 'illegal base64 data');
  }
  if (operations === null) return [];
  if (!Array.isArray(operations)) {
    const what = typeof operations === 'object' ? 'object' : typeof operations;
    throw undecodable(`json: cannot unmarshal ${what} into Go value of type jsonpatch.Patch`);
  }
  if (operations.length > 0 && patchType !== 'JSONPatch')
    throw new CallFailure(webhook, `unsupported patch type ${JSON.stringify(patchType)}`, Number(result?.code) || 400);
  return operations;
}

/**
 * Applies a patch to the object of a request, which was given to the webhook in the version of `row`. Changes the object
 * in place and tells whether it is another now. Throws 500 for a patch that does not apply, or leaves no such object.
 */
export async function applyPatchTo(
  attributes: Attributes,
  row: Resource,
  given: KubeObject,
  operations: readonly JsonValue[],
): Promise<boolean> {
  const patched = decode(attributes, row, apply(given, operations));
  const changed = !deepEqual(given as JsonValue, patched as JsonValue);
  replace(attributes.object!, await inVersion(attributes, patched, expectedVersion(attributes)));
  return changed;
}

function apply(given: KubeObject, operations: readonly JsonValue[]): JsonObject {
  let document = given as JsonValue;
  for (const operation of operations) {
    try {
      document = jsonPatch(document, [operation]);
    } catch (error) {
      throw error instanceof StatusError ? internalError(jsonPatchFault(document, operation)) : error;
    }
  }
  return document as JsonObject;
}

function expectedVersion({ resource, subresource }: Attributes): string {
  const { group, version } = expectedOf(resource, subresource);
  return group === '' ? version : `${group}/${version}`;
}

function decode({ subresource }: Attributes, row: Resource, value: JsonObject): KubeObject {
  const { group, version, kind, custom } = expectedOf(row, subresource);
  const groupVersion = group === '' ? version : `${group}/${version}`;
  try {
    if (custom) {
      const { object } = decodeUntyped(plainValue(value));
      pruneCustom(row, object);
      defaultCustom(row, object);
      return object;
    }
    const { object } = decodeTyped(plainValue(value), groupVersion, kind);
    object.kind = kind;
    object.apiVersion = groupVersion;
    object.metadata ??= {};
    applyDefaults(object, groupVersion, kind);
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
