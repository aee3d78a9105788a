import { RECORD_OVERHEAD } from './cache.ts';
import { lowerBound } from './search.ts';
import type { Range, Version } from './storage.ts';

interface CachedRange extends Range {
  /** All live versions in the range, in key order. */
  versions: Version[];
  bytes: number;
}

/** Ranges remembered at once: each write looks at all of them. */
const MAX_RANGES = 16;

/** Whole ranges of live versions that were lately listed, kept up to date by every write. */
export class RangeCache {
  readonly #bytes: number;
  /** Last used last. */
  #ranges: CachedRange[] = [];

  /** At most about `bytes` are kept. */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** The live versions from `range.from` on, when some remembered range that ends where this one does covers it. */
  get({ from, end }: Range): Iterable<Version> | undefined {
    const at = this.#ranges.findIndex((range) => range.end === end && range.from <= from);
    const found = this.#ranges[at];
    if (found === undefined) return undefined;
    if (at < this.#ranges.length - 1) this.#ranges.push(...this.#ranges.splice(at, 1));
    return found.from === from ? found.versions : found.versions.slice(position(found.versions, from));
  }

  /** Passes a complete scan of a range through, and remembers it once it is consumed to its end, if it is not too large. */
  *remember({ from, end }: Range, scan: Iterable<Version>): Iterable<Version> {
    const range: CachedRange = { from, end, versions: [], bytes: RECORD_OVERHEAD };
    for (const version of scan) {
      range.bytes += sizeOf(version);
      if (range.bytes <= this.#bytes) range.versions.push(version);
      yield version;
    }
    if (range.bytes > this.#bytes) return;
    this.#ranges.push(range);
    this.#trim();
  }

  /** Takes in what was just written. */
  apply(version: Version): void {
    const { key, deleted } = version;
    for (const range of this.#ranges) {
      if (key < range.from || key >= range.end) continue;
      const { versions } = range;
      const at = position(versions, key);
      const known = versions[at]?.key === key ? versions[at] : undefined;
      if (known !== undefined) range.bytes -= sizeOf(known);
      if (!deleted) range.bytes += sizeOf(version);
      versions.splice(at, known === undefined ? 0 : 1, ...(deleted ? [] : [version]));
    }
    this.#trim();
  }

  #trim(): void {
    let bytes = this.#ranges.reduce((sum, range) => sum + range.bytes, 0);
    while (bytes > this.#bytes || this.#ranges.length > MAX_RANGES) bytes -= this.#ranges.shift()!.bytes;
  }
}

function sizeOf({ record }: Version): number {
  return record.length + RECORD_OVERHEAD;
}

/** Index of the first version at or above a key. */
function position(versions: readonly Version[], key: string): number {
  return lowerBound(versions, (version) => version.key < key);
}
