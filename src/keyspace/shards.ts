/** Which shard of a tenant holds what. */

/** The shard that every tenant has, and that holds all that has no other. */
export const MAIN = 'main';

/**
 * Resources that may get a shard of their own, with the prefix of their keys: nothing else is unique, counted or fenced
 * together with them.
 */
export const SHARDABLE: Readonly<Record<string, string>> = {
  events: '/registry/events/',
  leases: '/registry/leases/',
};

/** A shard beside `main`: its name, which is part of storage names, and the resources that live in it. */
export interface ShardSpec {
  name: string;
  resources: readonly string[];
  /** Ids of its first replicas. */
  replicas: readonly number[];
}

/** What is wrong with a tenant's shards, if anything is. */
export function shardsFault(shards: readonly Pick<ShardSpec, 'name' | 'resources'>[]): string | undefined {
  const names = new Set([MAIN]);
  const taken = new Set<string>();
  for (const { name, resources } of shards) {
    if (!/^[a-z0-9-]{1,63}$/.test(name)) return `shard name "${name}" must be lower-case letters, digits and dashes`;
    if (names.has(name)) return `shard name "${name}" is taken`;
    names.add(name);
    for (const resource of resources) {
      if (!Object.hasOwn(SHARDABLE, resource)) return `resource "${resource}" cannot leave the shard ${MAIN}`;
      if (taken.has(resource)) return `resource "${resource}" is in two shards`;
      taken.add(resource);
    }
  }
  return undefined;
}

/** The key prefixes of a shard beside `main`. */
export const prefixesOf = ({ resources }: ShardSpec): string[] => resources.map((name) => SHARDABLE[name]!);

/** Finds the shard of a key; shards are numbered, `main` is 0. */
export class Placement {
  readonly #prefixes: { prefix: string; shard: number }[];

  constructor(shards: readonly ShardSpec[]) {
    this.#prefixes = shards.flatMap((spec, i) => prefixesOf(spec).map((prefix) => ({ prefix, shard: i + 1 })));
  }

  /** The shard of a key, or of a prefix of keys that lies within one shard. */
  of(key: string): number {
    return this.#prefixes.find(({ prefix }) => key.startsWith(prefix))?.shard ?? 0;
  }

  /** The shards that hold keys below a prefix, `main` first. */
  below(prefix: string): number[] {
    const own = this.of(prefix);
    if (own !== 0) return [own];
    const inner = this.#prefixes.filter((entry) => entry.prefix.startsWith(prefix)).map(({ shard }) => shard);
    return [...new Set([0, ...inner])].sort((a, b) => a - b);
  }
}
