import type { KubeObject } from '../../api/object.ts';
import type { Attributes } from '../chain.ts';
import type { ResourceList } from '../resource-lists.ts';

/** One requirement of a quota's scopes. */
export interface ScopeRequirement {
  scopeName: string;
  operator: string;
  values: readonly string[];
}

/** A write that a quota may have to count. */
export interface Write {
  operation: Attributes['operation'];
  subresource: string;
  object: KubeObject;
  old: KubeObject | undefined;
}

/** How objects of one resource count for quotas. */
export interface Evaluator {
  /** Whether such a write can make objects count for more. */
  handles: (write: Write) => boolean;
  /** Whether an entry of a quota counts these objects. */
  counts: (name: string) => boolean;
  /** Whether an object is in a scope. */
  inScope: (requirement: ScopeRequirement, object: KubeObject) => boolean;
  /** What an object lacks to be counted by these entries of a quota, as a sentence. */
  lacks?: (names: readonly string[], object: KubeObject) => string | undefined;
  /** What an object counts for. */
  usage: (object: KubeObject, now: Date) => ResourceList;
}

/** Whether a requirement holds for a value that an object has in that scope (empty: none). */
export function requirementHolds({ operator, values }: ScopeRequirement, value: string): boolean {
  if (operator === 'Exists') return value !== '';
  if (operator === 'DoesNotExist') return value === '';
  if (operator === 'In') return value !== '' && values.includes(value);
  return value === '' || !values.includes(value);
}
