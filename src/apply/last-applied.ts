import type { JsonObject, JsonValue, KubeObject } from '../api/object.ts';
import { isObject } from '../api/object.ts';
import type { FieldSet } from './field-set.ts';
import { difference } from './field-set.ts';
import type { Versions } from './ownership.ts';
import { typeErrors } from './type-errors.ts';
import { compare, fieldSetOf } from './typed.ts';

/** The manager whose applies keep the annotation of client-side apply in step. */
export const KUBECTL = 'kubectl';

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** What client-side apply last applied to the object and still stands: it may be taken over without conflict. */
export function standingLastApplied(live: KubeObject, versions: Versions): FieldSet | undefined {
  const text = live.metadata.annotations?.[ANNOTATION];
  if (text === undefined || text === '') return undefined;
  const applied = parse(text);
  if (!isObject(applied) || applied.apiVersion !== versions.groupVersion) return undefined;
  const { type } = versions.kind;
  if (typeErrors(type, applied) !== undefined) return undefined;
  const { added, modified, removed } = compare(type, applied, live);
  return [modified, added, removed].reduce(difference, fieldSetOf(type, applied));
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The object with its last-applied annotation, if it has one, saying the configuration. */
export function withLastApplied(object: KubeObject, config: JsonObject): KubeObject {
  const before = object.metadata.annotations;
  if (before?.[ANNOTATION] === undefined || before[ANNOTATION] === '') return object;
  const annotations: Record<string, string> = { ...before, [ANNOTATION]: lastAppliedText(config) };
  if (bytesOf(annotations) > MAX_ANNOTATION_BYTES) delete annotations[ANNOTATION];
  return { ...object, metadata: { ...object.metadata, annotations } };
}

function bytesOf(annotations: Record<string, string>): number {
  const encoder = new TextEncoder();
  return Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + encoder.encode(key).length + encoder.encode(value).length,
    0,
  );
}

/** The configuration as Go's encoder writes it: sorted keys, HTML characters escaped, a newline at the end. */
function lastAppliedText(config: JsonObject): string {
  const text = goJson(withoutAnnotation(config));
  return `${text.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
}

function withoutAnnotation(config: JsonObject): JsonObject {
  const metadata = config.metadata;
  if (!isObject(metadata) || !isObject(metadata.annotations)) return config;
  const { [ANNOTATION]: _, ...annotations } = metadata.annotations;
  return { ...config, metadata: { ...metadata, annotations } };
}

function goJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`;
  if (!isObject(value)) return typeof value === 'bigint' ? value.toString() : JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .flatMap((key) => (value[key] === undefined ? [] : [`${JSON.stringify(key)}:${goJson(value[key])}`]));
  return `{${members.join(',')}}`;
}
