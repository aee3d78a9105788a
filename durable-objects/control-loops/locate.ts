import type { KubeObject } from '../../src/api/object.ts';
import { decodeStored } from '../../src/codec/stored.ts';
import type { StoredRecord } from '../../src/keyspace/types.ts';
import { builtins, type Resource } from '../../src/registry/resource.ts';
import type { LoopConnection } from './connection.ts';

/** Where a record belongs in the API. */
export interface Location {
  resource: Resource;
  namespace: string;
  name: string;
}

/** A record with its object and place. */
export interface Located extends Location {
  key: string;
  object: KubeObject;
}

/** All resources by storage prefix and by kind: a snapshot of what is served. */
export class Resources {
  readonly #byPrefix = new Map<string, Resource>();
  readonly #byKind = new Map<string, Resource>();

  /** Rows in order of preference: of several versions with one prefix, the first is used. */
  constructor(rows: Iterable<Resource>) {
    for (const row of rows) {
      const prefix = row.storage?.prefix;
      if (prefix === undefined) continue;
      if (!this.#byPrefix.has(prefix)) this.#byPrefix.set(prefix, row);
      this.#byKind.set(`${row.groupVersion} ${row.kind}`, row);
    }
  }

  static async load(connection: LoopConnection): Promise<Resources> {
    const builtin = [...builtins.values()].flatMap((rows) => [...rows.values()]);
    return new Resources([...builtin, ...(await connection.customResources())]);
  }

  /** One row for each storage prefix. */
  all(): Resource[] {
    return [...this.#byPrefix.values()];
  }

  /** The row of a kind in one version, as owner references name it. */
  ofKind(apiVersion: string, kind: string): Resource | undefined {
    return this.#byKind.get(`${apiVersion} ${kind}`);
  }

  /** Reads a storage key; undefined below no known prefix. */
  ofKey(key: string): Location | undefined {
    for (const [prefix, resource] of this.#byPrefix) {
      if (!key.startsWith(`${prefix}/`)) continue;
      const parts = key.slice(prefix.length + 1).split('/');
      if (parts.length !== (resource.namespaced ? 2 : 1)) continue;
      const [first = '', second = ''] = parts;
      return resource.namespaced
        ? { resource, namespace: first, name: second }
        : { resource, namespace: '', name: first };
    }
    return undefined;
  }

  /** A record with its place, or undefined where its resource is not served. */
  locate(record: StoredRecord): Located | undefined {
    const location = this.ofKey(record.key);
    return location === undefined ? undefined : { ...location, key: record.key, object: decodeStored(record) };
  }
}
