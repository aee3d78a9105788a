import type { Platform } from './in-turn.ts';
import { type Keyspace, type ListPage, type ListRequest, UnavailableError } from './types.ts';

const DEADLINE_MS = 8_000;

/** One read of a list, for all who asked for it before it began. */
class Reading {
  begun = false;
  /** Resolves when it may begin. */
  readonly turn: Promise<void>;
  readonly page: Promise<ListPage>;
  begin!: () => void;
  resolve!: (page: ListPage) => void;
  reject!: (error: unknown) => void;

  constructor() {
    this.turn = new Promise((resolve) => {
      this.begin = resolve;
    });
    this.page = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

/** Reads of one list: at most one under way, and one that waits for it to end. */
interface Readings {
  next: Reading | undefined;
  underway: boolean;
}

/** Lists of one shard that requests of this isolate are reading, by what they ask for. */
export type ListReadings = Map<string, Readings>;

/**
 * A keyspace in which requests that ask for the same list at the same time read it once. Whoever comes while it is being
 * read shares the next reading, which begins after they came, so that every answer is as fresh as one of its own. Many
 * informers of one resource that start together cost little more than one.
 */
export class SharedLists implements Pick<Keyspace, 'list'> {
  readonly #inner: Pick<Keyspace, 'list'>;
  readonly #readings: ListReadings;
  readonly #platform: Platform;

  constructor(inner: Pick<Keyspace, 'list'>, readings: ListReadings, platform: Platform) {
    this.#inner = inner;
    this.#readings = readings;
    this.#platform = platform;
  }

  /** As {@link Keyspace.list}; the page may be another request's too. */
  async list(request: ListRequest): Promise<ListPage> {
    const key = JSON.stringify(request);
    const readings = this.#readings.get(key) ?? { next: undefined, underway: false };
    this.#readings.set(key, readings);
    readings.next ??= new Reading();
    const reading = readings.next;
    if (!readings.underway) this.#beginNext(key, readings);
    const stop = this.#platform.timeout(DEADLINE_MS, () => {
      // Whoever was to read it is gone.
      if (this.#readings.get(key) === readings) this.#readings.delete(key);
      reading.reject(new UnavailableError('no replica of the shard could answer in time'));
    });
    try {
      await Promise.race([reading.turn, reading.page]);
      if (!reading.begun) {
        reading.begun = true;
        this.#platform.keep(this.#read(request, key, readings, reading));
      }
      return await reading.page;
    } finally {
      stop();
    }
  }

  #beginNext(key: string, readings: Readings): void {
    const { next } = readings;
    readings.next = undefined;
    readings.underway = next !== undefined;
    if (next !== undefined) next.begin();
    else if (this.#readings.get(key) === readings) this.#readings.delete(key);
  }

  async #read(request: ListRequest, key: string, readings: Readings, reading: Reading): Promise<void> {
    try {
      reading.resolve({ ...(await this.#inner.list(request)), answers: new Map() });
    } catch (error) {
      reading.reject(error);
    }
    this.#beginNext(key, readings);
  }
}
