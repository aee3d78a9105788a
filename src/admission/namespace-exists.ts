import { notFound } from '../status/status.ts';
import type { Attributes, Plugin } from './chain.ts';
import { builtinRow, lookUp } from './lookup.ts';

const namespaces = builtinRow('v1', 'namespaces');

/** Whether a request is for something inside a namespace. */
export const isInNamespace = ({ resource, namespace }: Attributes): boolean => resource.namespaced && namespace !== '';

/** Refuses everything in namespaces that are not there. */
export const namespaceExists: Plugin = {
  name: 'NamespaceExists',
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  validate: async (attributes) => {
    const { ctx, namespace } = attributes;
    if (!isInNamespace(attributes) || (await lookUp(ctx, namespaces, '', namespace)) !== undefined) return;
    throw notFound({ group: '', name: 'namespaces' }, namespace);
  },
};
