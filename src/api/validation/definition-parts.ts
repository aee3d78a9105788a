import { type RawSchema, schemaAt } from '../../extensions/structural-rules.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import { isObject, type JsonObject } from '../object.ts';
import { oneOf, part, parts, text } from './checks.ts';
import { dns1035LabelErrors } from './names.ts';
import { reviewVersionFaults, webhookClientFaults } from './webhook-client.ts';

/** Parts of a custom resource definition, each checked by itself. */

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];
const MAX_SELECTABLE = 8;

/** Causes in the names of a resource, requested or accepted. */
export function nameFaults(names: JsonObject, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const label = (value: string, path: string, mixed: boolean) => {
    const errors = value === '' ? [] : dns1035LabelErrors(mixed ? value.toLowerCase() : value);
    if (errors.length === 0) return;
    const prefix = mixed ? 'may have mixed case, but should otherwise match: ' : '';
    out.push(causes.invalid(path, value, prefix + errors.join(',')));
  };
  const list = (key: string) => (Array.isArray(names[key]) ? names[key].map(text) : []);
  label(text(names.plural), `${at}.plural`, false);
  label(text(names.singular), `${at}.singular`, false);
  label(text(names.kind), `${at}.kind`, true);
  label(text(names.listKind), `${at}.listKind`, true);
  for (const [i, name] of list('shortNames').entries()) label(name, `${at}.shortNames[${i}]`, false);
  if (text(names.kind) !== '' && names.kind === names.listKind) {
    out.push(causes.invalid(`${at}.listKind`, names.listKind, 'kind and listKind may not be the same'));
  }
  for (const [i, name] of list('categories').entries()) label(name, `${at}.categories[${i}]`, false);
  return out;
}

const isSimplePath = (path: string) => path.startsWith('.');
const NOT_SIMPLE = 'must be a simple json path starting with .';

function pathFaults(path: string, at: string, roots: readonly string[]): StatusCause[] {
  if (path === '') return [causes.required(at)];
  if (!isSimplePath(path)) return [causes.invalid(at, path, NOT_SIMPLE)];
  if (roots.some((root) => path.startsWith(`${root}.`))) return [];
  const where = roots.length === 1 ? `under ${roots[0]}` : `under either ${roots.join(' or ')}`;
  return [causes.invalid(at, path, `should be a json path ${where}`)];
}

/** Causes in the subresources of a version. */
export function subresourceFaults({ scale }: JsonObject, at: string): StatusCause[] {
  if (!isObject(scale)) return [];
  const selector = text(scale.labelSelectorPath);
  return [
    ...pathFaults(text(scale.specReplicasPath), `${at}.scale.specReplicasPath`, ['.spec']),
    ...pathFaults(text(scale.statusReplicasPath), `${at}.scale.statusReplicasPath`, ['.status']),
    ...(selector === '' ? [] : pathFaults(selector, `${at}.scale.labelSelectorPath`, ['.spec', '.status'])),
  ];
}

/** Causes in the printer columns of a version. */
export function columnFaults(version: JsonObject, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  for (const [i, column] of parts(version, 'additionalPrinterColumns').entries()) {
    const path = `${at}[${i}]`;
    const types = `must be one of ${COLUMN_TYPES.join(',')}`;
    const [type, format, jsonPath] = [text(column.type), text(column.format), text(column.jsonPath)];
    if (text(column.name) === '') out.push(causes.required(`${path}.name`));
    if (type === '') out.push(causes.required(`${path}.type`, types));
    else if (!COLUMN_TYPES.includes(type)) out.push(causes.invalid(`${path}.type`, type, types));
    if (format !== '' && !COLUMN_FORMATS.includes(format)) {
      out.push(causes.invalid(`${path}.format`, format, `must be one of ${COLUMN_FORMATS.join(',')}`));
    }
    if (jsonPath === '') out.push(causes.required(`${path}.JSONPath`));
    else if (!isSimplePath(jsonPath)) out.push(causes.invalid(`${path}.JSONPath`, jsonPath, NOT_SIMPLE));
  }
  return out;
}

/** The schema that a path of plain field names leads to. */
function schemaOf(path: string, schema: RawSchema): RawSchema | undefined {
  let current: RawSchema | undefined = schema;
  for (const key of path.replace(/^\./, '').split('.')) {
    const properties = current?.properties;
    const known = properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
    current = schemaAt(known ?? current?.additionalProperties);
  }
  return current;
}

const firstOf = (path: string) => /^[A-Za-z0-9_]+|^./.exec(path)?.[0] ?? '';

const SELECTABLE_TYPES: ReadonlySet<string> = new Set(['string', 'boolean', 'integer']);

/** Causes in the selectable fields of a version. */
export function selectableFaults(version: JsonObject, schema: RawSchema | undefined, at: string): StatusCause[] {
  const fields = parts(version, 'selectableFields');
  if (fields.length === 0) return [];
  if (schema === undefined) {
    return [causes.invalid(at, '', 'may only be set when `version.schema.openAPIV3Schema` is not included')];
  }
  const out: StatusCause[] = [];
  const seen = new Set<string>();
  for (const [i, field] of fields.entries()) {
    const path = text(field.jsonPath);
    const where = `${at}[${i}].jsonPath`;
    if (path === '') {
      out.push(causes.required(where));
      continue;
    }
    const found = path.startsWith('.') ? schemaOf(path, schema) : undefined;
    if (found === undefined) {
      const why = path.startsWith('.')
        ? 'does not refer to a valid field'
        : `expected [ or . but got: ${firstOf(path)}`;
      out.push(causes.invalid(where, path, `is an invalid path: ${why}`));
      continue;
    }
    if (path.startsWith('.metadata.')) {
      out.push(causes.invalid(where, path, 'must not point to fields in metadata'));
    }
    if (!SELECTABLE_TYPES.has(found.type ?? '')) {
      const why =
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
      out.push(causes.invalid(where, path, why));
    }
    if (seen.has(path)) out.push(causes.duplicate(where, path));
    seen.add(path);
  }
  if (seen.size > MAX_SELECTABLE) out.push(causes.tooMany(at, seen.size, MAX_SELECTABLE));
  return out;
}

/** Causes in how a definition converts between its versions. */
export function conversionFaults(spec: JsonObject): StatusCause[] {
  const { conversion } = spec;
  if (!isObject(conversion)) return [];
  const at = 'spec.conversion';
  const webhook = part(conversion, 'webhook');
  const list = webhook.conversionReviewVersions;
  const versions = (Array.isArray(list) ? list : []).map(text);
  const client = webhook.clientConfig;
  const clientAt = `${at}.webhookClientConfig`;
  if (conversion.strategy !== 'Webhook') {
    const why = 'should not be set when strategy is not set to Webhook';
    const strategy = text(conversion.strategy);
    return [
      ...(strategy === ''
        ? [causes.required(`${at}.strategy`)]
        : oneOf(strategy, `${at}.strategy`, ['None', 'Webhook'], false)),
      ...(isObject(client) ? [causes.forbidden(clientAt, why)] : []),
      ...(versions.length > 0 ? [causes.forbidden(`${at}.conversionReviewVersions`, why)] : []),
    ];
  }
  const out: StatusCause[] = [];
  if (!isObject(client)) out.push(causes.required(clientAt, 'required when strategy is set to Webhook'));
  else out.push(...webhookClientFaults(client, clientAt));
  return [...out, ...reviewVersionFaults(versions, `${at}.conversionReviewVersions`, '')];
}
