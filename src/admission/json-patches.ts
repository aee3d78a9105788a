import type { JsonObject, JsonValue, KubeObject } from '../api/object.ts';
import { jsonPatch } from '../apply/json-patch.ts';
import { jsonPatchFault } from '../apply/json-patch-faults.ts';
import { StatusError } from '../status/status.ts';

/** An operation that does not apply, with the reason that upstream gives. */
export class PatchFault extends Error {
  /** Whether it is a test that did not hold. */
  readonly isTest: boolean;

  constructor(message: string) {
    super(message);
    this.isTest = /^testing value .* failed: test failed$/s.test(message);
  }
}

/** The object after a JSON patch of webhooks or policies; it is not changed itself. Throws a {@link PatchFault}. */
export function applyOperations(given: KubeObject, operations: readonly JsonValue[]): JsonObject {
  let document = given as JsonValue;
  for (const operation of operations) {
    try {
      document = jsonPatch(document, [operation]);
    } catch (error) {
      throw error instanceof StatusError ? new PatchFault(jsonPatchFault(document, operation)) : error;
    }
  }
  return document as JsonObject;
}
