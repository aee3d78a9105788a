import { createObject } from '../registry/create.ts';
import { defaulted } from '../registry/endpoint.ts';
import { managed } from '../registry/managers.ts';
import { StatusError } from '../status/status.ts';
import type { Plugin } from './chain.ts';
import { builtinRow, lookUp } from './lookup.ts';
import { isInNamespace } from './namespace-exists.ts';

const namespaces = builtinRow('v1', 'namespaces');

/** Makes the namespace that a new object is to be in. */
export const namespaceAutoProvision: Plugin = {
  name: 'NamespaceAutoProvision',
  operations: ['CREATE'],
  admit: async (attributes) => {
    const { ctx, namespace, dryRun } = attributes;
    if (dryRun || !isInNamespace(attributes)) return;
    if ((await lookUp(ctx, namespaces, '', namespace)) !== undefined) return;
    const scope = { ctx, resource: namespaces, subresource: '', namespace: '', name: namespace, options: { dryRun } };
    const made = { kind: 'Namespace', apiVersion: 'v1', metadata: { name: namespace } };
    try {
      await createObject(scope, defaulted(namespaces, '', made), {
        manage: (object) => managed(scope, { fieldManager: 'kube-apiserver' }, undefined, object),
      });
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.reason !== 'AlreadyExists') throw error;
    }
  },
};
