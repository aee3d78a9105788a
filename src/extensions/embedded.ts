import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../api/object.ts';
import { validateCommonMetadata } from '../api/validation/metadata.ts';
import { dns1035LabelErrors } from '../api/validation/names.ts';
import { plainValue } from '../codec/json.ts';
import { DecodeError, decodeUntyped } from '../codec/typed.ts';
import { causes, type StatusCause } from '../status/status.ts';
import type { Structural } from './structural.ts';

/** Whole objects inside of custom ones (`x-kubernetes-embedded-resource`): their type and metadata are like any object's. */

const join = (path: string, key: string) => (path === '' ? key : `${path}.${key}`);

/** Calls `visit` for each embedded object below a value, with its path; those further down after those above them. */
function visitEmbedded(
  value: JsonValue | undefined,
  schema: Structural | undefined,
  path: string,
  visit: (object: JsonObject, path: string) => void,
): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) visitEmbedded(item, schema.items, `${path}[${i}]`, visit);
    return;
  }
  if (!isObject(value)) return;
  if (schema['x-kubernetes-embedded-resource'] === true) visit(value, path);
  const values = isObject(schema.additionalProperties) ? (schema.additionalProperties as Structural) : undefined;
  for (const key of Object.keys(value)) {
    const known = schema.properties !== undefined && Object.hasOwn(schema.properties, key);
    const at = known ? join(path, key) : `${path}[${key}]`;
    visitEmbedded(value[key], known ? schema.properties![key] : values, at, visit);
  }
}

/** Schemas that are known to embed nothing, or something: a fact of each schema, which never changes. */
const embeds = new WeakMap<object, boolean>();

/** Whether a schema has embedded objects anywhere. */
export function hasEmbedded(schema: Structural): boolean {
  const known = embeds.get(schema);
  if (known !== undefined) return known;
  const values = isObject(schema.additionalProperties) ? [schema.additionalProperties as Structural] : [];
  const inner = [...Object.values(schema.properties ?? {}), ...(schema.items === undefined ? [] : [schema.items])];
  const found = schema['x-kubernetes-embedded-resource'] === true || [...inner, ...values].some(hasEmbedded);
  embeds.set(schema, found);
  return found;
}

/**
 * Gives the metadata of embedded objects its type, in place: unknown fields go, and are told as a strict reading tells
 * them. Throws {@link DecodeError} for metadata, a kind or an apiVersion of the wrong type.
 */
export function coerceEmbedded(object: JsonValue, schema: Structural | undefined): string[] {
  const unknown: string[] = [];
  if (schema === undefined || !hasEmbedded(schema)) return unknown;
  visitEmbedded(object, schema, '', (embedded, path) => {
    for (const key of ['apiVersion', 'kind']) {
      const value = embedded[key];
      if (value === undefined || typeof value === 'string') continue;
      throw new DecodeError(`${join(path, key)}: ${causes.invalid('', value, 'must be a string').message}`);
    }
    if (embedded.metadata === undefined) return;
    const { object: decoded, strict } = metadataOf(embedded.metadata, join(path, 'metadata'));
    embedded.metadata = decoded.metadata;
    for (const finding of strict) unknown.push(finding.replace('"metadata', `"${join(path, 'metadata')}`));
  });
  return unknown.sort();
}

function metadataOf(metadata: JsonValue, at: string) {
  try {
    return decodeUntyped(plainValue({ metadata }));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new DecodeError(`${at}: ${causes.invalid('', metadata, error.message).message}`);
  }
}

function apiVersionFaults(apiVersion: JsonValue | undefined, at: string): StatusCause[] {
  if (apiVersion === undefined) return [causes.required(at)];
  if (apiVersion === '') return [causes.invalid(at, apiVersion, 'must not be empty')];
  if (String(apiVersion).split('/').length <= 2) return [];
  return [causes.invalid(at, apiVersion, `unexpected GroupVersion string: ${String(apiVersion)}`)];
}

function kindFaults(kind: JsonValue | undefined, at: string): StatusCause[] {
  if (kind === undefined) return [causes.required(at)];
  if (kind === '') return [causes.invalid(at, kind, 'must not be empty')];
  const errors = dns1035LabelErrors(String(kind).toLowerCase());
  if (errors.length === 0) return [];
  return [causes.invalid(at, kind, `may have mixed case, but should otherwise match: ${errors.join(',')}`)];
}

/** Causes in the type and metadata of embedded objects, whose metadata has its type already. */
export function embeddedFaults(object: JsonValue, schema: Structural | undefined): StatusCause[] {
  const out: StatusCause[] = [];
  if (schema === undefined || !hasEmbedded(schema)) return out;
  visitEmbedded(object, schema, '', (embedded, path) => {
    out.push(...apiVersionFaults(embedded.apiVersion, join(path, 'apiVersion')));
    out.push(...kindFaults(embedded.kind, join(path, 'kind')));
    if (!isObject(embedded.metadata)) return;
    const { metadata } = embedded as KubeObject;
    const named = { metadata: { ...metadata, name: metadata.name || 'fakename' } };
    for (const cause of validateCommonMetadata({ namespaced: metadata.namespace !== undefined }, named)) {
      out.push({ ...cause, field: join(path, cause.field ?? '') });
    }
  });
  return out;
}
