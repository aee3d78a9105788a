import { deepEqual, type JsonObject } from '../api/object.ts';

/** Whether a toleration tolerates all that another one does. */
export function covers(wide: JsonObject, narrow: JsonObject): boolean {
  if (deepEqual(wide, narrow)) return true;
  if (wide.key !== narrow.key && (wide.key || wide.operator !== 'Exists')) return false;
  if (wide.effect && wide.effect !== narrow.effect) return false;
  if (wide.effect === 'NoExecute' && wide.tolerationSeconds !== undefined) {
    const seconds = narrow.tolerationSeconds;
    if (seconds === undefined || Number(seconds) > Number(wide.tolerationSeconds)) return false;
  }
  if (wide.operator === 'Exists') return true;
  return narrow.operator === 'Equal' && narrow.value === wide.value;
}

/** Tolerations of two lists without those that another one covers. */
export function mergeTolerations(all: JsonObject[]): JsonObject[] {
  const merged: JsonObject[] = [];
  for (const [i, toleration] of all.entries()) {
    const later = all.slice(i + 1).filter((other) => !deepEqual(other, toleration));
    if (![...merged, ...later].some((other) => covers(other, toleration))) merged.push(toleration);
  }
  return merged;
}
