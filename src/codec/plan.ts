/**
 * The Go types behind the API as the codecs see them, compiled lazily from the table of wire messages: one plan for
 * each message says how a value looks in JSON (names, order, what is always written) and on the wire.
 */
import type { JsonObject, JsonValue } from '../api/object.ts';
import { setKey } from '../api/object.ts';
import { definition, definitionName } from '../api/schema.ts';
import protobuf from '../api/tables/protobuf.json';
import { isCustom } from './custom.ts';
import fieldOrder from './fieldorder.json';

export type Scalar = 'string' | 'bool' | 'int32' | 'int64' | 'double' | 'bytes';

/** One field of a message. */
export interface Field {
  /** JSON name. */
  readonly name: string;
  /** Wire number; 0 for kind and apiVersion, which travel in the envelope. */
  readonly number: number;
  readonly label: 'one' | 'list' | 'map';
  /** Type of the value, or of the elements of a list or map; undefined: a message. */
  readonly scalar: Scalar | undefined;
  /** Wire name of the message, for fields without a scalar. */
  readonly type: string;
  /** Absent and zero differ. */
  readonly pointer: boolean;
  /** JSON shows the field even when it is empty. */
  readonly always: boolean;
  /** The JSON object has the fields of this message in place. */
  readonly inline: boolean;
  /** A resource list: quantities are rounded up to thousandths. */
  readonly resources: boolean;
  /** Go names of the embedded structs around the field, each with a dot, as Go's error messages have them. */
  readonly embedded: string;
}

/** A compiled message. */
export interface Message {
  readonly name: string;
  /** `v1.Pod`. */
  readonly goType: string;
  /** `Pod`. */
  readonly goName: string;
  /** In wire order, inline fields as one. */
  readonly wire: readonly Field[];
  /** In JSON order, inline fields spread. */
  readonly fields: readonly Field[];
  /** Position in `fields` by JSON name. */
  readonly positions: ReadonlyMap<string, number>;
  /** Position in `fields` of each wire field, or of the first field of an inline one. */
  readonly wirePositions: readonly number[];
  /** A JSON form of its own: a quantity, a time, raw JSON … */
  readonly custom: boolean;
  /** The JSON form is a bare list of the message's only field. */
  readonly wraps: boolean;
  /** Stored as JSON upstream, where empty lists stay lists; protobuf turns them into nothing. */
  readonly keepsEmpty: boolean;
}

interface RawField {
  name: string;
  number: number;
  type: string;
  label?: 'repeated' | 'map';
  json?: string;
  inline?: boolean;
  pointer?: boolean;
  always?: boolean;
}
interface RawMessage {
  fields: RawField[];
  customJSON?: boolean;
  wraps?: string;
}

const table = (protobuf as unknown as { messages: Record<string, RawMessage> }).messages;
const SCALARS: ReadonlySet<string> = new Set(['string', 'bool', 'int32', 'int64', 'double', 'bytes']);
const LABELS = { repeated: 'list', map: 'map' } as const;
const QUANTITY = 'k8s.io.apimachinery.pkg.api.resource.Quantity';
const META = 'k8s.io.apimachinery.pkg.apis.meta.v1.';
/** Packages of kinds that no published schema names. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ['meta.k8s.io/v1', META],
  ['admission.k8s.io/v1', 'k8s.io.api.admission.v1.'],
  ['apidiscovery.k8s.io/v2', 'k8s.io.api.apidiscovery.v2.'],
]);

/** Isolate cache, constant once built: compiled messages by wire name. */
const compiled = new Map<string, Message>();

/** The compiled message of that wire name. Throws a TypeError for an unknown one. */
export function message(name: string): Message {
  let plan = compiled.get(name);
  if (plan === undefined) {
    plan = compile(name);
    compiled.set(name, plan);
  }
  return plan;
}

/** Wire name of the message behind a kind, if the kind has one. */
export function messageName(groupVersion: string, kind: string): string | undefined {
  const published = definitionName(groupVersion, kind);
  const name = published === undefined ? `${PACKAGES.get(groupVersion)}${kind}` : wireName(published);
  return Object.hasOwn(table, name) ? name : undefined;
}

/** `io.k8s.api.core.v1.Pod` → `k8s.io.api.core.v1.Pod`. */
function wireName(published: string): string {
  return `k8s.io${published.slice('io.k8s'.length)}`.replaceAll('-', '_');
}

function schemaName(wire: string): string {
  return `io.k8s${wire.slice('k8s.io'.length)}`.replaceAll('_', '-');
}

function compile(name: string): Message {
  const raw = Object.hasOwn(table, name) ? table[name] : undefined;
  if (raw === undefined) throw new TypeError(`no message ${name}`);
  const dot = name.lastIndexOf('.');
  const goName = name.slice(dot + 1);
  const core = name.startsWith('k8s.io.api.core.v1.');
  const wire = raw.fields.map((f) => field(f, core));
  const fields: Field[] = hasTypeMeta(name, raw) ? [typeMeta('kind'), typeMeta('apiVersion')] : [];
  const wirePositions: number[] = new Array(wire.length);
  for (const index of jsonOrder(name, wire)) {
    const f = wire[index] as Field;
    wirePositions[index] = fields.length;
    if (!f.inline) fields.push(f);
    else
      fields.push(
        ...message(f.type).fields.map((inner) => ({ ...inner, embedded: `${last(f.type)}.${inner.embedded}` })),
      );
  }
  return {
    name,
    goType: `${last(name.slice(0, dot))}.${goName}`,
    goName,
    wire,
    fields,
    positions: new Map(fields.map((f, i) => [f.name, i])),
    wirePositions,
    custom: isCustom(name),
    wraps: raw.wraps !== undefined,
    keepsEmpty: name.startsWith('k8s.io.apiextensions_apiserver.') || name.startsWith('k8s.io.kube_aggregator.'),
  };
}

/** Wire numbers in the order of the Go struct, for messages where that is not the order of the numbers. */
const orders = fieldOrder as Record<string, number[]>;

/** Indexes of wire fields in the order in which Go writes them as JSON. */
function jsonOrder(name: string, wire: readonly Field[]): number[] {
  const numbers = Object.hasOwn(orders, name) ? orders[name] : undefined;
  return numbers === undefined
    ? wire.map((_, i) => i)
    : numbers.map((number) => wire.findIndex((f) => f.number === number));
}

function field(raw: RawField, core: boolean): Field {
  const scalar = SCALARS.has(raw.type) ? (raw.type as Scalar) : undefined;
  return {
    name: raw.json ?? raw.name,
    number: raw.number,
    label: raw.label === undefined ? 'one' : LABELS[raw.label],
    scalar,
    type: raw.type,
    pointer: raw.pointer ?? false,
    always: raw.always ?? false,
    inline: raw.inline ?? false,
    resources: core && raw.label === 'map' && raw.type === QUANTITY,
    embedded: '',
  };
}

function typeMeta(name: string): Field {
  return {
    name,
    number: 0,
    label: 'one',
    scalar: 'string',
    type: 'string',
    pointer: false,
    always: false,
    inline: false,
    resources: false,
    embedded: 'TypeMeta.',
  };
}

/** Go's TypeMeta has no wire fields: a published kind and apiVersion that the message lacks give it away. */
function hasTypeMeta(name: string, raw: RawMessage): boolean {
  if (raw.fields.some((f) => f.name === 'kind' || f.name === 'apiVersion')) return false;
  const properties = definition(schemaName(name))?.properties;
  if (properties !== undefined) return Object.hasOwn(properties, 'kind') && Object.hasOwn(properties, 'apiVersion');
  return (
    raw.fields.some((f) => f.type === `${META}ObjectMeta` || f.type === `${META}ListMeta`) ||
    name.endsWith('.AdmissionReview')
  );
}

function last(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** Go's name of a field's type, or of its elements' type. */
export function goType(f: Field, element = false): string {
  const base =
    f.scalar === undefined
      ? message(f.type).goType
      : ({ bytes: '[]uint8', double: 'float64' }[f.scalar as string] ?? f.scalar);
  if (element || f.label === 'one') return base;
  return f.label === 'list' ? `[]${base}` : `map[string]${base}`;
}

/**
 * Builds the JSON object of a message from its values by position in `fields`; what is always written and absent
 * gets its zero.
 */
export function assemble(plan: Message, values: readonly (JsonValue | undefined)[]): JsonObject {
  const out: JsonObject = {};
  const { fields } = plan;
  for (let i = 0; i < fields.length; i++) {
    const f = fields[i] as Field;
    const value = values[i];
    if (value !== undefined) out[f.name] = value;
    else if (f.always) out[f.name] = zero(f);
  }
  return out;
}

const SCALAR_ZEROES: Record<Scalar, JsonValue> = { string: '', bool: false, int32: 0, int64: 0, double: 0, bytes: '' };
const CUSTOM_ZEROES: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  [QUANTITY, '0'],
  ['k8s.io.apimachinery.pkg.util.intstr.IntOrString', 0],
]);

/** JSON of a field's Go zero value. */
export function zero(f: Field): JsonValue {
  if (f.pointer || f.label !== 'one' || f.scalar === 'bytes') return null;
  return zeroElement(f);
}

/** JSON of the zero value of a field's element type. */
export function zeroElement(f: Field): JsonValue {
  if (f.scalar !== undefined) return SCALAR_ZEROES[f.scalar];
  const plan = message(f.type);
  if (plan.custom) return CUSTOM_ZEROES.get(f.type) ?? null;
  return plan.wraps ? null : assemble(plan, []);
}

/** A map with its keys in the order in which Go writes them. */
export function sortedMap(entries: [string, JsonValue][]): JsonObject {
  entries.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
  const out: JsonObject = {};
  for (const [key, value] of entries) setKey(out, key, value);
  return out;
}
