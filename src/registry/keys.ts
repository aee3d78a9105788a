import type { Requirement, Selector } from '../keyspace/types.ts';
import { notFound } from '../status/status.ts';
import type { Resource } from './resource.ts';

/** Key prefix of a resource's records, without a trailing slash. Resources that store nothing have none. */
function root(resource: Resource): string {
  const prefix = resource.storage?.prefix;
  if (prefix === undefined) throw new TypeError(`${resource.resource} is not stored`);
  return prefix;
}

/**
 * The storage key of one object. Fails closed: at a name or namespace that could reach another key there is nothing,
 * whatever validation let through. Throws 404.
 */
export function keyOf(resource: Resource, namespace: string, name: string): string {
  for (const part of resource.namespaced ? [namespace, name] : [name]) {
    if (part === '' || part === '.' || part === '..' || part.includes('/') || part.includes('\u0000')) {
      throw notFound({ group: resource.group, name: resource.resource }, name);
    }
  }
  return resource.namespaced ? `${root(resource)}/${namespace}/${name}` : `${root(resource)}/${name}`;
}

/** The name that a field selector pins down with `metadata.name=…`, if it does. */
export function singleName(fields: readonly Requirement[]): string | undefined {
  return pinned(fields, 'metadata.name');
}

function pinned(fields: readonly Requirement[], key: string): string | undefined {
  const found = fields.find((f) => f.op === 'in' && f.key === key && f.values.length === 1);
  return found?.op === 'in' && found.values[0] !== '' ? found.values[0] : undefined;
}

/**
 * Prefix that a list or watch scans: the whole resource, one namespace (from the path, or pinned by a field selector),
 * or, when `name` is known too, the one key.
 */
export function collectionPrefix(
  resource: Resource,
  namespace: string,
  fields: readonly Requirement[],
  name?: string,
): string {
  const scope = resource.namespaced ? namespace || pinned(fields, 'metadata.namespace') : undefined;
  const safe = (part: string) => !part.includes('/') && !part.includes('\u0000');
  if (
    name !== undefined &&
    name !== '' &&
    safe(name) &&
    (!resource.namespaced || (scope !== undefined && safe(scope)))
  ) {
    return keyOf(resource, scope ?? '', name);
  }
  return scope !== undefined && safe(scope) ? `${root(resource)}/${scope}/` : `${root(resource)}/`;
}

/** The selector to hand to the keyspace with a prefix, if anything is selected beyond what a whole key says already. */
export function selectorOf(
  options: { labels: Requirement[]; fields: Requirement[] },
  prefix: string,
): Selector | undefined {
  const name = prefix.slice(prefix.lastIndexOf('/') + 1);
  const fields = options.fields.filter((field) => name === '' || pinned([field], 'metadata.name') !== name);
  if (options.labels.length === 0 && fields.length === 0) return undefined;
  return { labels: options.labels, fields };
}
