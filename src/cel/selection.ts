import {
  CelList,
  CelMap,
  Fault,
  isNumeric,
  NONE,
  noOverload,
  Optional,
  plainText,
  Uint,
  type Value,
} from './values.ts';

/** Selecting fields, and members of lists and maps. All throw a {@link Fault}. */

/** The position that a value names in a list; `undefined` when it names none. */
function position(list: CelList, at: Value): number | undefined {
  if (!isNumeric(at)) throw new Fault(`unsupported index type '${typeof at}' in list`);
  const index = at instanceof Uint ? Number(at.value) : Number(at);
  if (!Number.isInteger(index)) throw new Fault(`unsupported index value ${plainText(at)} in list`);
  return index >= 0 && index < list.size ? index : undefined;
}

function find(container: Value, key: Value): Value | undefined {
  if (container instanceof CelMap) return container.get(key);
  if (container instanceof CelList) {
    const index = position(container, key);
    return index === undefined ? undefined : container.at(index);
  }
  throw noOverload();
}

const wrap = (value: Value | undefined) => (value === undefined ? NONE : new Optional(value));

export function member(operand: Value, field: string): Value {
  if (operand instanceof Optional) return optionalMember(operand, field);
  if (!(operand instanceof CelMap)) throw noOverload();
  const value = operand.get(field);
  if (value === undefined) throw new Fault(`no such key: ${field}`);
  return value;
}

export function optionalMember(operand: Value, field: Value): Optional {
  if (operand instanceof Optional) return operand.present ? optionalMember(operand.value, field) : NONE;
  if (!(operand instanceof CelMap)) throw noOverload();
  return wrap(operand.get(field));
}

export function isPresent(operand: Value, field: string): boolean {
  if (operand instanceof Optional) return operand.present && isPresent(operand.value, field);
  if (!(operand instanceof CelMap)) throw noOverload();
  return operand.has(field);
}

export function elementAt(container: Value, key: Value): Value {
  if (container instanceof Optional) return optionalElement(container, key);
  const value = find(container, key);
  if (value !== undefined) return value;
  if (container instanceof CelList) throw new Fault(`index out of bounds: ${plainText(key)}`);
  throw new Fault(`no such key: ${plainText(key)}`);
}

export function optionalElement(container: Value, key: Value): Optional {
  if (container instanceof Optional) return container.present ? optionalElement(container.value, key) : NONE;
  return wrap(find(container, key));
}
