import { isObject, type JsonObject } from '../../api/object.ts';

/** A part of a compact JWT as JSON; undefined for what is none. */
export function decodedPart(token: string, index: 0 | 1): JsonObject | undefined {
  const parts = token.split('.');
  if (parts.length !== 3 || !/^[\w-]+$/.test(parts[index]!)) return undefined;
  try {
    const bytes = atob(parts[index]!.replaceAll('-', '+').replaceAll('_', '/'));
    const json: unknown = JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0))));
    return isObject(json as JsonObject) ? (json as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
