import type { KubeObject } from '../api/object.ts';
import type { Operation } from '../keyspace/types.ts';
import { quotaMark } from '../policy/quota-marks.ts';
import type { Allocate, Scope } from './scope.ts';

const tag = { storageVersion: '', schema: 0, typeMetaEnd: 1, resourceVersionAt: 1 };
const value = new TextEncoder().encode('{}');

/** Marks a new quota in the policy, so that every isolate knows of it. */
export function markQuota({ namespace }: Scope): Allocate {
  return async (quota, old) => {
    if (old !== undefined) return undefined;
    const meta = { labels: {}, fields: {}, terms: [], tag };
    const operations: Operation[] = [
      { type: 'put', key: quotaMark(namespace, quota.metadata.name ?? ''), value, meta },
    ];
    return { conditions: [], operations, refused: () => undefined };
  };
}

/** The operations that take a quota's mark away. */
export const releaseQuota = ({ metadata }: KubeObject): Operation[] => [
  { type: 'delete', key: quotaMark(metadata.namespace ?? '', metadata.name ?? '') },
];
