import type { JsonObject, JsonValue, KubeObject } from '../../api/object.ts';
import { JsonSyntaxError, parseJson } from '../../codec/json.ts';
import type { Resource } from '../../registry/resource.ts';
import { internalError } from '../../status/status.ts';
import type { Attributes } from '../chain.ts';
import { applyOperations, PatchFault } from '../json-patches.ts';
import { takePatched } from '../patched.ts';
import { CallFailure } from './call.ts';
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
export const applyPatchTo = (
  attributes: Attributes,
  row: Resource,
  given: KubeObject,
  operations: readonly JsonValue[],
): Promise<boolean> => takePatched(attributes, row, given, apply(given, operations));

function apply(given: KubeObject, operations: readonly JsonValue[]): JsonObject {
  try {
    return applyOperations(given, operations);
  } catch (error) {
    throw error instanceof PatchFault ? internalError(error.message) : error;
  }
}
