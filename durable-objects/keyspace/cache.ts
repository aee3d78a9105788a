import type { Version } from './storage.ts';

/** Memory that a record takes besides its bytes, roughly. */
export const RECORD_OVERHEAD = 200;

/** Live records in memory, in two generations: what was not used while a generation filled up is forgotten. */
export class RecordCache {
  readonly #bytes: number;
  #young = new Map<string, Version>();
  #old = new Map<string, Version>();
  #youngBytes = 0;

  /** At most about `bytes` are kept. */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  get(key: string): Version | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(old);
    return old;
  }

  set(version: Version): void {
    this.#young.set(version.key, version);
    this.#youngBytes += version.record.length + RECORD_OVERHEAD;
    if (this.#youngBytes <= this.#bytes / 2) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
