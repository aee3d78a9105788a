import type { Revision } from '../../src/keyspace/types.ts';
import { RECORD_OVERHEAD } from './cache.ts';
import { lowerBound } from './search.ts';
import type { Range, Version } from './storage.ts';

/** The newest versions, in revision order without gaps: for watchers that lag a little. */
export class Recent {
  readonly #limit: number;
  readonly #versions: Version[] = [];
  #bytes = 0;

  /** At most about twice `bytes` are kept. */
  constructor(bytes: number) {
    this.#limit = bytes;
  }

  push(version: Version): void {
    this.#versions.push(version);
    this.#bytes += version.record.length + RECORD_OVERHEAD;
    if (this.#bytes > 2 * this.#limit) this.#trim();
  }

  get(revision: Revision): Version | undefined {
    return at(this.#versions, revision);
  }

  /** Versions after a revision in a range of keys; undefined when some may be missing. */
  after(revision: Revision, range: Range): Iterable<Version> | undefined {
    const first = this.#versions[0];
    return first !== undefined && revision + 1 >= first.revision ? this.#after(revision, range) : undefined;
  }

  *#after(revision: Revision, { from, end }: Range): Iterable<Version> {
    for (let i = position(this.#versions, revision + 1); i < this.#versions.length; i++) {
      const version = this.#versions[i]!;
      if (version.key >= from && version.key < end) yield version;
    }
  }

  #trim(): void {
    let drop = 0;
    for (; this.#bytes > this.#limit && drop < this.#versions.length - 1; drop++) {
      this.#bytes -= this.#versions[drop]!.record.length + RECORD_OVERHEAD;
    }
    this.#versions.splice(0, drop);
  }
}

/** The version of a revision among versions in revision order. */
export function at(versions: readonly Version[], revision: Revision): Version | undefined {
  const found = versions[position(versions, revision)];
  return found?.revision === revision ? found : undefined;
}

/** Index of the first version at or above a revision. */
function position(versions: readonly Version[], revision: Revision): number {
  return lowerBound(versions, (version) => version.revision < revision);
}
