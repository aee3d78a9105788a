/**
 * A small map that forgets: entries expire, and the oldest make room. The isolate keeps what verification of
 * credentials costs most (see x509.ts and service-account-keys.ts): answers about immutable inputs only, keyed by the
 * whole input, so that no request can be answered with another's.
 */
export class ExpiringCache<V> {
  readonly #entries = new Map<string, { value: V; expires: number }>();
  readonly #limit: number;
  readonly #milliseconds: number;

  /** `limit` entries for at most `milliseconds` each. */
  constructor(limit: number, milliseconds: number) {
    this.#limit = limit;
    this.#milliseconds = milliseconds;
  }

  get(key: string, now: number): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expires > now) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  /** `milliseconds`: how long this entry is good, where it is not as long as the others. */
  set(key: string, value: V, now: number, milliseconds = this.#milliseconds): void {
    if (!this.#entries.has(key) && this.#entries.size >= this.#limit) {
      const oldest = this.#entries.keys().next().value;
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    this.#entries.set(key, { value, expires: now + milliseconds });
  }
}

/** Lower-case hexadecimal of bytes. */
export function hex(bytes: ArrayBuffer): string {
  return [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, '0')).join('');
}
