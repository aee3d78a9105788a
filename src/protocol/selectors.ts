import type { Requirement, Selector } from '../keyspace/types.ts';
import type { Reader, Writer } from './bytes.ts';

const OPERATORS = ['in', 'notIn', 'exists', 'notExists', 'gt', 'lt'] as const;

/** Writes an optional selector. */
export function writeSelector(writer: Writer, selector: Selector | undefined): void {
  writer.u8(selector === undefined ? 0 : 1);
  if (selector === undefined) return;
  for (const requirements of [selector.labels, selector.fields]) {
    writer.varint(requirements.length);
    for (const requirement of requirements) writeRequirement(writer, requirement);
  }
}

/** Reads what {@link writeSelector} wrote. */
export function readSelector(reader: Reader): Selector | undefined {
  if (reader.u8() === 0) return undefined;
  const read = () => Array.from({ length: reader.varint() }, () => readRequirement(reader));
  return { labels: read(), fields: read() };
}

function writeRequirement(writer: Writer, requirement: Requirement): void {
  writer.u8(OPERATORS.indexOf(requirement.op)).string(requirement.key);
  if ('values' in requirement) writer.strings(requirement.values);
  if ('value' in requirement) writer.f64(requirement.value);
}

function readRequirement(reader: Reader): Requirement {
  const op = OPERATORS[reader.u8()];
  const key = reader.string();
  if (op === 'in' || op === 'notIn') return { op, key, values: reader.strings() };
  if (op === 'gt' || op === 'lt') return { op, key, value: reader.f64() };
  if (op === undefined) throw new RangeError('unknown selector operator');
  return { op, key };
}
