import type { StoredRecord } from '../keyspace/types.ts';
import { forbidden, notFound, type StatusError, type Subject } from '../status/status.ts';
import { type Plugin, subjectOf } from './chain.ts';

const PROTECTED: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/** Key of a namespace's record, whose field `status.phase` creates inside it are conditional on. */
export const namespaceKey = (name: string) => `/registry/namespaces/${name}`;

/** Phase of a namespace that takes new objects. */
export const ACTIVE = 'Active';

/** The refusal of a create in a namespace that does not take it: 404 when it is missing, 403 while it ends. */
export function namespaceRefusal(
  record: StoredRecord | undefined,
  namespace: string,
  subject: Subject,
  name: string,
): StatusError {
  if (record === undefined) return notFound({ group: '', name: 'namespaces' }, namespace);
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  return forbidden(subject, name, why, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ]);
}

/**
 * Keeps the namespaces that the cluster needs. That creates only go into a live namespace is not checked here but a
 * condition of their batch, decided where they commit.
 */
export const namespaceLifecycle: Plugin = {
  name: 'NamespaceLifecycle',
  resources: ['/namespaces'],
  operations: ['DELETE'],
  admit: (attributes) => {
    if (PROTECTED.has(attributes.name)) {
      throw forbidden(subjectOf(attributes), attributes.name, 'this namespace may not be deleted');
    }
  },
};
