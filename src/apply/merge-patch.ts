import type { JsonObject, JsonValue } from '../api/object.ts';
import { isObject, setKey } from '../api/object.ts';
import { badRequest } from '../status/status.ts';
import { jsonTypeName } from './json-type.ts';

/**
 * Applies a JSON merge patch (RFC 7386) the way kube-apiserver does: `null` removes, objects merge, all else replaces; `null`s
 * within what is new are dropped. `document` is not changed; the result may share parts with it and with `patch`.
 * Throws 400 when the patch is no object.
 */
export function mergePatch(document: JsonValue, patch: JsonValue): JsonValue {
  if (patch === null) throw badRequest('Invalid JSON Patch');
  if (!isObject(patch)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`,
    );
  }
  return mergeObject(isObject(document) ? document : {}, patch);
}

function mergeObject(target: JsonObject, patch: JsonObject): JsonObject {
  const out: JsonObject = { ...target };
  for (const key of Object.keys(patch)) {
    const value = patch[key] ?? null;
    const current = Object.hasOwn(target, key) ? target[key] : undefined;
    if (value === null) delete out[key];
    else
      setKey(
        out,
        key,
        isObject(current) ? (isObject(value) ? mergeObject(current, value) : value) : withoutNulls(value),
      );
  }
  return out;
}

/** The value without `null` members at any depth; `null` items of lists stay. */
function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key] ?? null;
    if (member !== null) setKey(out, key, withoutNulls(member));
  }
  return out;
}
