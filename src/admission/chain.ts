import type { KubeObject } from '../api/object.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/context.ts';

/** What a plugin decides about (upstream's admission attributes). */
export interface Attributes {
  ctx: RequestContext;
  resource: Resource;
  /** Empty for the object itself. */
  subresource: string;
  operation: 'CREATE' | 'UPDATE' | 'DELETE';
  namespace: string;
  /** Empty while a name is still to be generated, and for the deletion of a collection. */
  name: string;
  /** The object as it is to be; undefined for a deletion. Mutating plugins change it in place. */
  object: KubeObject | undefined;
  /** The object as it is; undefined for a create. */
  old: KubeObject | undefined;
  dryRun: boolean;
}

/** A built-in admission plugin. It refuses by throwing a StatusError. */
export interface Plugin {
  /** Upstream's name, which also gives its place in the order. */
  name: string;
  /** `group/resource` or `group/resource/subresource` that it looks at; left out: all, subresources included. */
  resources?: readonly string[];
  operations: readonly Attributes['operation'][];
  admit?: (attributes: Attributes) => Promise<void> | void;
  validate?: (attributes: Attributes) => Promise<void> | void;
}

function handles(plugin: Plugin, { resource, subresource, operation }: Attributes): boolean {
  if (!plugin.operations.includes(operation)) return false;
  if (plugin.resources === undefined) return true;
  const key = `${resource.group}/${resource.resource}`;
  return plugin.resources.includes(subresource === '' ? key : `${key}/${subresource}`);
}

/** Runs the mutating halves in order; the first refusal ends it. */
export async function admit(plugins: readonly Plugin[], attributes: Attributes): Promise<void> {
  for (const plugin of plugins) {
    if (plugin.admit !== undefined && handles(plugin, attributes)) await plugin.admit(attributes);
  }
}

/** Runs the validating halves in order; the first refusal ends it. */
export async function validate(plugins: readonly Plugin[], attributes: Attributes): Promise<void> {
  for (const plugin of plugins) {
    if (plugin.validate !== undefined && handles(plugin, attributes)) await plugin.validate(attributes);
  }
}

/** The subject of a refusal. */
export const subjectOf = ({ resource }: Attributes) => ({ group: resource.group, name: resource.resource });
