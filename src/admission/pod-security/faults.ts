import type { JsonObject } from '../../api/object.ts';

/** What checks look at: a pod, or the template of one. */
export interface Pod {
  metadata: JsonObject;
  spec: JsonObject;
}

/** Why a pod is refused: a few words, and what exactly. */
export interface Fault {
  reason: string;
  detail: string;
}

export const plural = (one: string, more: string, count: number): string => (count === 1 ? one : more);

/** Names as messages list them. */
export const quoted = (names: readonly string[]): string => (names.length === 0 ? '' : `"${names.join('", "')}"`);

/** Each value once, in order. */
export const sorted = (values: readonly string[]): string[] => [...new Set(values)].sort();

/** Who says what is forbidden: the pod as a whole, containers, or both; empty: nobody. */
export function setters(pod: boolean, names: readonly string[]): string {
  const parts = pod ? ['pod'] : [];
  if (names.length > 0) parts.push(`${plural('container', 'containers', names.length)} ${quoted(names)}`);
  return parts.join(' and ');
}
