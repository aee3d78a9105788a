import { isObject, type JsonValue, type KubeObject } from '../../api/object.ts';
import type { CustomResource } from '../../registry/resource.ts';
import { ageColumn, type Column, nameColumn } from './columns.ts';
import { nameOf, since } from './format.ts';
import { compilePath, type Path, PathError } from './jsonpath.ts';
import type { Printer } from './printer.ts';

type PrinterColumn = CustomResource['printerColumns'][number];

/** Columns and printer of one version of a custom resource. */
export interface CustomTable {
  columns: Column[];
  print: Printer;
}

const defaultColumns: PrinterColumn[] = [
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: ageColumn.description },
];

/**
 * Columns of `additionalPrinterColumns`; Name and Age when there are none. A column whose path cannot be parsed ends
 * the table, as upstream.
 */
export function customTable(printerColumns: readonly PrinterColumn[]): CustomTable {
  const columns: Column[] = [nameColumn];
  const cells: ((object: KubeObject, now: number) => JsonValue)[] = [];
  for (const column of printerColumns.length === 0 ? defaultColumns : printerColumns) {
    const path = parsed(column.jsonPath);
    if (path === undefined) break;
    columns.push({
      name: column.name,
      type: column.type,
      format: column.format ?? '',
      description: column.description || `Custom resource definition column (in JSONPath format): ${column.jsonPath}`,
      priority: column.priority ?? 0,
    });
    cells.push((object, now) => cell(column.type, path, object, now));
  }
  return { columns, print: (object, now) => [nameOf(object), ...cells.map((print) => print(object, now))] };
}

/** The table of a custom resource's Scale, by which of the two replica paths it has. */
export function customScaleTable(scale: NonNullable<CustomResource['scale']>): CustomTable {
  return customTable([
    ...(scale.specReplicasPath
      ? [{ name: 'Desired', type: 'integer', jsonPath: '.spec.replicas', description: 'Number of desired replicas' }]
      : []),
    ...(scale.statusReplicasPath
      ? [{ name: 'Available', type: 'integer', jsonPath: '.status.replicas', description: 'Number of actual replicas' }]
      : []),
    ...defaultColumns,
  ]);
}

function parsed(jsonPath: string): Path | undefined {
  try {
    return compilePath(jsonPath);
  } catch (error) {
    if (error instanceof PathError) return undefined;
    throw error;
  }
}

/** The first value that the path reaches, if it is of the column's type; null otherwise. */
function cell(type: string, path: Path, object: KubeObject, now: number): JsonValue {
  let value: JsonValue | undefined;
  try {
    value = path(object)[0];
  } catch (error) {
    if (error instanceof PathError) return null;
    throw error;
  }
  if (value === undefined) return null;
  if (type === 'string') return asText(value);
  return value === null ? null : (conversions[type]?.(value, now) ?? null);
}

const conversions: Readonly<Record<string, (value: JsonValue, now: number) => JsonValue>> = {
  integer: (v) => (typeof v === 'bigint' ? v : typeof v === 'number' ? Math.trunc(v) : null),
  number: (v) => (typeof v === 'number' || typeof v === 'bigint' ? v : null),
  boolean: (v) => (typeof v === 'boolean' ? v : null),
  date: (v, now) => (typeof v !== 'string' ? null : Number.isNaN(Date.parse(v)) ? '<invalid>' : since(v, now)),
};

/** A value as text: lists and maps as JSON with sorted keys, numbers as Go prints them. */
function asText(value: JsonValue): string {
  if (value === null) return '<no value>';
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? goJSON(value) : goNumber(value);
}

function goJSON(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return `[${value.map(goJSON).join(',')}]`;
  if (isObject(value)) {
    const entries = Object.entries(value).filter(([, v]) => v !== undefined);
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([k, v]) => `${goJSON(k)}:${goJSON(v)}`).join(',')}}`;
  }
  if (typeof value !== 'string') return String(value);
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whole numbers within 64 bits plainly, others with an exponent from a million on or below a ten-thousandth. */
function goNumber(value: number | bigint | boolean): string {
  if (typeof value !== 'number' || (Number.isInteger(value) && Math.abs(value) < 2 ** 63)) return String(value);
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
