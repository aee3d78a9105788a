import type { Answered } from '../../durable-objects/keyspace/outcomes.ts';
import {
  type Changes,
  type Expiry,
  FIRST_SCALARS,
  type Range,
  type Scalars,
  type Storage,
  type Version,
  type WorkRow,
} from '../../durable-objects/keyspace/storage.ts';

/** The state machine's store in maps. */
export class MapStorage implements Storage {
  #scalars: Scalars = { ...FIRST_SCALARS };
  readonly #live = new Map<string, Version>();
  readonly #versions = new Map<number, Version>();
  readonly #terms = new Map<string, Set<string>>();
  readonly #expiries = new Map<string, Expiry>();
  readonly #work = new Map<number, WorkRow>();
  readonly #answers = new Map<string, Answered>();
  #keys: string[] | undefined;
  #swept = 0;

  scalars(): Scalars {
    return { ...this.#scalars };
  }

  newest(key: string): Version | undefined {
    return this.#live.get(key);
  }

  version(revision: number): Version | undefined {
    return this.#versions.get(revision);
  }

  *scan(range: Range, term?: string): Iterable<Version> {
    this.#keys ??= [...this.#live.keys()].sort();
    const keys = term === undefined ? this.#keys : [...this.termKeys(term)].sort();
    for (const key of keys) if (key >= range.from && key < range.end) yield this.#live.get(key)!;
  }

  count(range: Range): number {
    return [...this.scan(range)].length;
  }

  termKeys(term: string): Iterable<string> {
    return this.#terms.get(term) ?? [];
  }

  *history(after: number, range: Range): Iterable<Version> {
    for (const version of this.#versions.values()) {
      if (version.revision > after && version.key >= range.from && version.key < range.end) yield version;
    }
  }

  stateBefore(after: number, range: Range): Map<string, number> {
    const state = new Map<string, number>();
    for (const version of this.history(after, range)) {
      if (!state.has(version.key)) state.set(version.key, version.previous);
    }
    return state;
  }

  due(time: number, limit: number): Expiry[] {
    return this.#byTime()
      .filter((expiry) => expiry.at <= time)
      .slice(0, limit);
  }

  nextExpiry(): number | undefined {
    return this.#byTime()[0]?.at;
  }

  #byTime(): Expiry[] {
    return [...this.#expiries.values()].sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1));
  }

  work(limit: number): WorkRow[] {
    return [...this.#work.values()].slice(0, limit);
  }

  answers(): Iterable<Answered> {
    return this.#answers.values();
  }

  write(changes: Changes): void {
    this.#scalars = { ...changes.scalars };
    for (const version of changes.versions) {
      const { revision: first, proposal: id, made } = version;
      this.#versions.set(first, version);
      if (made > 0) this.#answers.set(id, { id, answer: { type: 'done', first, made } });
    }
    for (const answered of changes.answers) this.#answers.set(answered.id, answered);
    for (const [key, version] of changes.live) {
      if (version.deleted || !this.#live.has(key)) this.#keys = undefined;
      if (version.deleted) this.#live.delete(key);
      else this.#live.set(key, version);
    }
    for (const [term, keys] of changes.terms) {
      const indexed = this.#terms.get(term) ?? new Set();
      for (const [key, present] of keys) {
        if (present) indexed.add(key);
        else indexed.delete(key);
      }
      this.#terms.set(term, indexed);
    }
    for (const { at, key, present } of changes.expiries) {
      if (present) this.#expiries.set(`${at} ${key}`, { at, key });
      else this.#expiries.delete(`${at} ${key}`);
    }
    for (const row of changes.work) this.#work.set(row.id, row);
    for (const id of changes.done) this.#work.delete(id);
  }

  sweep({ compacted }: Scalars): void {
    for (; this.#swept < compacted; this.#swept++) {
      const version = this.#versions.get(this.#swept + 1);
      if (version === undefined) continue;
      this.#versions.delete(version.previous);
      if (version.deleted) this.#versions.delete(version.revision);
    }
  }
}
