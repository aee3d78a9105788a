import type { JsonObject, JsonValue, KubeObject } from '../api/object.ts';
import { badRequest, unknownBodyFormat } from '../status/status.ts';
import type { ParsedValue } from './json.ts';
import { JsonSyntaxError, parseJson } from './json.ts';
import type { ProtobufObject } from './protobuf.ts';
import { decodeProtobuf, ProtobufError } from './protobuf.ts';
import type { Decoded } from './typed.ts';
import { DecodeError, decodeTyped, decodeUntyped, isTyped, strictError } from './typed.ts';
import { parseYaml, YamlSyntaxError } from './yaml.ts';

/** A request body by its media type. */
export type Body = { format: 'json' | 'yaml'; parsed: ParsedValue } | { format: 'protobuf'; decoded: ProtobufObject };

/** How unknown and repeated fields are answered. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** The kind that an endpoint takes. */
export interface Expected {
  group: string;
  version: string;
  kind: string;
  /** Custom resources have no Go type: kind and apiVersion must be given, nothing but metadata is dropped. */
  custom: boolean;
}

const FORMATS: ReadonlyMap<string, Body['format']> = new Map<string, Body['format']>([
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
]);

/** Bytes are read as Go reads them: what is no UTF-8 becomes U+FFFD. */
const utf8 = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });

/**
 * Reads a body. Throws 415 for a media type that is not accepted, 400 for malformed content. An absent media type
 * means JSON. `custom`: protobuf is not accepted, though upstream still names it (it panics on such a body).
 */
export function decodeBody(bytes: Uint8Array, contentType: string, custom = false): Body {
  const format = formatOf(contentType, custom);
  try {
    return read(bytes, format);
  } catch (error) {
    throw badRequest(malformed(error));
  }
}

/**
 * Reads the object of a create or update: decodes, fills in or compares kind and apiVersion, and applies
 * `fieldValidation`: Strict throws 400, Warn adds one text per finding to `warnings`. `onStrict` gives all findings of
 * an object: for custom resources the caller prunes it there, and adds what that finds.
 */
export function decodeObject(
  bytes: Uint8Array,
  contentType: string,
  expected: Expected,
  fieldValidation: FieldValidation,
  warnings: string[],
  onStrict: (decoded: Decoded) => string[] = (decoded) => decoded.strict,
): KubeObject {
  const format = formatOf(contentType, expected.custom);
  const unrecognized = (why: string) =>
    badRequest(`the object provided is unrecognized (must be of type ${expected.kind}): ${why} (${summary(bytes)})`);
  let body: Body;
  let actual: GroupVersionKind;
  try {
    body = read(bytes, format);
    actual = kindOf(body);
  } catch (error) {
    throw unrecognized(malformed(error));
  }
  if (!expected.custom) actual = withDefaults(actual, expected);
  else if (actual.kind === '') throw unrecognized(`Object 'Kind' is missing in '${utf8.decode(bytes)}'`);
  const cannot = (why: string) =>
    badRequest(
      `${actual.kind} in version ${JSON.stringify(actual.version)} cannot be handled as a ${expected.kind}: ${why}`,
    );
  if (actual.version === '' && !expected.custom)
    throw cannot(`Object 'apiVersion' is missing in '${utf8.decode(bytes)}'`);
  const decoded = decodeAs(body, actual, expected, cannot);
  const found = wrapping(cannot, () => onStrict(decoded));
  const findings = fieldValidation === 'Ignore' ? [] : found;
  if (findings.length > 0 && fieldValidation === 'Strict') throw cannot(strictError(findings));
  warnings.push(...findings);
  checkVersion(actual, expected);
  return decoded.object;
}

interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

function decodeAs(body: Body, actual: GroupVersionKind, expected: Expected, cannot: (why: string) => Error): Decoded {
  const groupVersion = groupVersionOf(actual);
  if (expected.custom) {
    checkVersion(actual, expected);
    return wrapping(cannot, () => decodeUntyped(body.format === 'protobuf' ? unreachable() : body.parsed));
  }
  if (!isTyped(groupVersion, actual.kind)) {
    throw cannot(
      `no kind "${actual.kind}" is registered for version "${groupVersion}" in scheme "pkg/runtime/scheme.go:111"`,
    );
  }
  if (actual.kind !== expected.kind) {
    throw cannot(
      `converting (v1.${actual.kind}) to (${expected.group.split('.')[0] || 'core'}.${expected.kind}): unknown conversion`,
    );
  }
  const decoded =
    body.format === 'protobuf'
      ? { object: body.decoded.object, strict: [] }
      : wrapping(cannot, () => decodeTyped(body.parsed, groupVersion, actual.kind));
  decoded.object.kind = expected.kind;
  decoded.object.apiVersion = groupVersionOf(expected);
  return decoded;
}

function wrapping<T>(cannot: (why: string) => Error, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DecodeError) throw cannot(error.message);
    throw error;
  }
}

function unreachable(): never {
  throw new TypeError('a custom resource has no protobuf form');
}

function formatOf(contentType: string, custom: boolean): Body['format'] {
  const [mediaType = ''] = contentType.split(';');
  const name = mediaType.trim().toLowerCase();
  const format = name === '' ? 'json' : FORMATS.get(name);
  if (format === undefined || (custom && format === 'protobuf')) throw unknownBodyFormat([...FORMATS.keys()]);
  return format;
}

function read(bytes: Uint8Array, format: Body['format']): Body {
  if (format === 'protobuf') return { format, decoded: decodeProtobuf(bytes) };
  const text = utf8.decode(bytes);
  return { format, parsed: format === 'json' ? parseJson(text) : parseYaml(text) };
}

/** The text of a reading error; anything else is a fault of the server and passes through. */
function malformed(error: unknown): string {
  if (error instanceof JsonSyntaxError) return `couldn't get version/kind; json parse error: ${error.message}`;
  if (error instanceof YamlSyntaxError || error instanceof ProtobufError || error instanceof DecodeError)
    return error.message;
  throw error;
}

const TYPE_META = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;

/** Throws {@link DecodeError} with upstream's text for a body that cannot say what it is. */
function kindOf(body: Body): GroupVersionKind {
  if (body.format === 'protobuf') return parseGroupVersion(body.decoded.groupVersion, body.decoded.kind);
  const { value } = body.parsed;
  if (value !== null && (typeof value !== 'object' || Array.isArray(value))) {
    const type = Array.isArray(value)
      ? 'array'
      : typeof value === 'boolean'
        ? 'bool'
        : typeof value === 'string'
          ? 'string'
          : 'number';
    throw cannotUnmarshal(`${type} into Go value of type ${TYPE_META}`);
  }
  const kind = stringMember(value, 'kind');
  return parseGroupVersion(stringMember(value, 'apiVersion'), kind);
}

function stringMember(value: JsonObject | null, key: string): string {
  const member: JsonValue | undefined = value !== null && Object.hasOwn(value, key) ? value[key] : undefined;
  if (member === undefined || member === null) return '';
  if (typeof member === 'string') return member;
  const type = Array.isArray(member)
    ? 'array'
    : typeof member === 'boolean'
      ? 'bool'
      : typeof member === 'object'
        ? 'object'
        : 'number';
  throw cannotUnmarshal(`${type} into Go struct field .${key} of type string`);
}

function cannotUnmarshal(what: string): DecodeError {
  return new DecodeError(`couldn't get version/kind; json parse error: json: cannot unmarshal ${what}`);
}

function parseGroupVersion(text: string, kind: string): GroupVersionKind {
  if (text === '' || text === '/') return { group: '', version: '', kind };
  const parts = text.split('/');
  if (parts.length > 2) throw new DecodeError(`unexpected GroupVersion string: ${text}`);
  const [first = '', second] = parts;
  return second === undefined ? { group: '', version: first, kind } : { group: first, version: second, kind };
}

/** Upstream fills in what is missing, but a group is only filled in together with its version. */
function withDefaults(actual: GroupVersionKind, expected: Expected): GroupVersionKind {
  const kind = actual.kind === '' ? expected.kind : actual.kind;
  if (actual.version !== '') return { ...actual, kind };
  if (actual.group === '') return { group: expected.group, version: expected.version, kind };
  return { group: actual.group, version: actual.group === expected.group ? expected.version : '', kind };
}

function checkVersion(actual: GroupVersionKind, expected: Expected): void {
  if (actual.group === expected.group && actual.version === expected.version) return;
  throw badRequest(
    `the API version in the data (${groupVersionOf(actual)}) does not match the expected API version (${groupVersionOf(expected)})`,
  );
}

function groupVersionOf({ group, version }: { group: string; version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

const SUMMARY_BYTES = 30;

/** How upstream shows the start of a body in an error: as text when it looks like JSON, else in hexadecimal. */
function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>';
  const head = bytes.subarray(0, SUMMARY_BYTES);
  const shown =
    bytes[0] === 0x7b ? utf8.decode(head) : head.reduce((hex, b) => hex + b.toString(16).padStart(2, '0'), '');
  return bytes.length > SUMMARY_BYTES ? `${shown} ...` : shown;
}
