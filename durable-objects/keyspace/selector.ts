import type { Requirement, Selector } from '../../src/keyspace/types.ts';
import { metaOf } from '../../src/protocol/records.ts';

/** Whether a stored record matches a selector; its value is not looked at. */
export function matches(record: Uint8Array, selector: Selector | undefined): boolean {
  if (selector === undefined || (selector.labels.length === 0 && selector.fields.length === 0)) return true;
  const meta = metaOf(record);
  return (
    selector.labels.every((requirement) => holds(requirement, own(meta.labels, requirement.key))) &&
    selector.fields.every((requirement) => holds(requirement, own(meta.fields, requirement.key) ?? ''))
  );
}

function own(values: Record<string, string>, key: string): string | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

/** One requirement against the value of its key, as label selectors of Kubernetes decide it. */
export function holds(requirement: Requirement, value: string | undefined): boolean {
  switch (requirement.op) {
    case 'in':
      return value !== undefined && requirement.values.includes(value);
    case 'notIn':
      return value === undefined || !requirement.values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'notExists':
      return value === undefined;
    case 'gt':
      return isInteger(value) && Number(value) > requirement.value;
    case 'lt':
      return isInteger(value) && Number(value) < requirement.value;
  }
}

function isInteger(value: string | undefined): value is string {
  return value !== undefined && /^[+-]?\d+$/.test(value);
}
