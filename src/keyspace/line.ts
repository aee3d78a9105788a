import type { Operation, ProposeResult, Revision, StoredRecord } from './types.ts';

type Put = Extract<Operation, { type: 'put' }>;

/** How long a turn lasts, at most. */
const TURN_MS = 1_000;
/** How long a group waits for the changes of those who are in line. */
const GATHER_MS = 20;
/** What one group may hold; the next turn waits until a full one is on its way. */
const MAX_CHANGES = 64;
const MAX_BYTES = 1 << 20;
/**
 * Where the revisions of records begin that are not committed yet. They name a record within this isolate only, and no
 * revision of a shard comes near them.
 */
const FIRST_PLACEHOLDER = 2 ** 52;

/** What a line needs of its surroundings. */
export interface Clock {
  /** Calls back after `ms`, unless the returned function is called before. */
  timeout(ms: number, callback: () => void): () => void;
}

/** A change that waits to be committed with its group. */
interface Change {
  put: Put;
  policyRevision: Revision | undefined;
  resolve: (result: ProposeResult) => void;
  reject: (error: unknown) => void;
}

/** Sends a batch of puts on condition that the first replaces revision `base`. */
export type Send = (base: Revision, puts: Put[], policyRevision: Revision | undefined) => Promise<ProposeResult>;

/** Successive changes of one record that commit as one batch, each on what the one before made. */
export class Group {
  /** The revision that the first change replaces; undefined when that record was never committed. */
  readonly base: Promise<Revision | undefined>;
  readonly changes: Change[] = [];
  bytes = 0;
  taken = false;
  /** Revisions of the puts once committed; `'failed'` once they certainly or possibly are not. */
  result: Revision[] | 'failed' | undefined;
  readonly settled: Promise<void>;
  /** Resolves when nobody is about to add a change. */
  readonly ripe: Promise<void>;
  #settle!: () => void;
  #ripen!: () => void;

  constructor(base: Promise<Revision | undefined>) {
    this.base = base;
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.ripe = new Promise((resolve) => {
      this.#ripen = resolve;
    });
  }

  /** Nobody is about to add a change, or it has waited for that long enough. */
  ripen(): void {
    this.#ripen();
  }

  get full(): boolean {
    return this.changes.length >= MAX_CHANGES || this.bytes >= MAX_BYTES;
  }

  /** Adds a change; resolves with its own part of the group's result. */
  add(put: Put, policyRevision: Revision | undefined): Promise<ProposeResult> {
    this.bytes += put.value.length;
    return new Promise((resolve, reject) => {
      this.changes.push({ put, policyRevision, resolve, reject });
    });
  }

  /** Commits the changes, whoever's they are. Never rejects: errors go to the changes. */
  async commit(send: Send): Promise<void> {
    const base = await this.base;
    if (base === undefined) {
      this.finish(NOT_COMMITTED);
      return;
    }
    const policies = this.changes.flatMap(({ policyRevision }) => (policyRevision === undefined ? [] : policyRevision));
    const puts = this.changes.map(({ put }) => put);
    try {
      this.finish(await send(base, puts, policies.length === 0 ? undefined : Math.min(...policies)));
    } catch (error) {
      this.fail(error);
    }
  }

  /** Tells every change what became of the batch. */
  finish(result: ProposeResult): void {
    if (this.result !== undefined) return;
    this.result = result.ok ? result.revisions : 'failed';
    this.#settle();
    for (const [i, { resolve }] of this.changes.entries()) {
      if (!result.ok) resolve(result);
      else resolve({ ...result, revisions: [result.revisions[i]!], previous: [result.previous[i]] });
    }
  }

  /** Tells every change that the outcome is an error. */
  fail(error: unknown): void {
    if (this.result !== undefined) return;
    this.result = 'failed';
    this.#settle();
    for (const { reject } of this.changes) reject(error);
  }
}

/** The answer to a change that was decided on a record which never came to be. */
export const NOT_COMMITTED: ProposeResult = { ok: false, failed: 0, current: undefined, policyRevision: 0 };

/** Where a record that is not committed yet will come from: change `index` of a group. */
export interface Basis {
  group: Group;
  index: number;
}

/** A record for whose change it is somebody's turn; without `basis` the leader is to be asked for it. */
export interface Turn {
  basis: Basis | undefined;
  record: StoredRecord | undefined;
}

/** Those who want to change one record, one deciding at a time. */
export class Line {
  readonly #clock: Clock;
  readonly #empty: () => void;
  readonly #waiting: ((turn: Turn) => void)[] = [];
  #holder: object | undefined;
  #tip: { basis: Basis; record: StoredRecord } | undefined;
  #open: Group | undefined;
  #placeholder = FIRST_PLACEHOLDER;

  /** `empty` is called when nobody is left. */
  constructor(clock: Clock, empty: () => void) {
    this.#clock = clock;
    this.#empty = empty;
  }

  /** Resolves when it is the holder's turn, or has waited for a second. */
  enter(holder: object): Promise<Turn> {
    if (this.#holder === undefined) {
      this.#holder = holder;
      return Promise.resolve(this.#turn());
    }
    return new Promise((resolve) => {
      const go = (turn: Turn) => {
        stop();
        this.#holder = holder;
        resolve(turn);
      };
      const stop = this.#clock.timeout(TURN_MS, () => {
        const at = this.#waiting.indexOf(go);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        go(this.#turn());
      });
      this.#waiting.push(go);
    });
  }

  /** Ends a turn; the next begins. */
  leave(holder: object): void {
    if (this.#holder !== holder) return;
    this.#holder = undefined;
    const next = this.#waiting.shift();
    if (next !== undefined) next(this.#turn());
    else if (this.#tip === undefined) this.#empty();
    else this.#open?.ripen();
  }

  /**
   * Puts the holder's change of `record` (see {@link Turn}) into a group and ends the turn. `undefined` where the turn was
   * lost meanwhile.
   */
  join(
    holder: object,
    record: StoredRecord,
    put: Put,
    policyRevision: Revision | undefined,
  ): { group: Group; outcome: Promise<ProposeResult> } | undefined {
    const tip = this.#tip;
    const current = tip === undefined ? record.modRevision < FIRST_PLACEHOLDER : record === tip.record;
    if (this.#holder !== holder || !current) return undefined;
    const group =
      this.#open ?? this.#begin(tip === undefined ? Promise.resolve(record.modRevision) : revisionOf(tip.basis));
    const basis = { group, index: group.changes.length };
    const outcome = group.add(put, policyRevision);
    const { key, value, meta } = put;
    const { createRevision } = record;
    this.#tip = { basis, record: { key, value, meta, createRevision, modRevision: ++this.#placeholder } };
    if (group.full) group.ripen();
    else this.leave(holder);
    return { group, outcome };
  }

  /** Whether the caller is to send a group: the first that asks is. */
  take(group: Group): boolean {
    if (group.taken) return false;
    group.taken = true;
    if (this.#open === group) this.#open = undefined;
    if (group.full && this.#holder !== undefined) this.leave(this.#holder);
    return true;
  }

  #begin(base: Promise<Revision | undefined>): Group {
    const group = new Group(base);
    const stop = this.#clock.timeout(GATHER_MS, () => group.ripen());
    void group.ripe.then(stop);
    this.#open = group;
    void group.settled.then(() => this.#settled(group));
    return group;
  }

  #settled(group: Group): void {
    if (this.#open === group) this.#open = undefined;
    if (this.#tip?.basis.group !== group) return;
    this.#tip = undefined;
    if (this.#holder === undefined && this.#waiting.length === 0) this.#empty();
  }

  #turn(): Turn {
    return { basis: this.#tip?.basis, record: this.#tip?.record };
  }
}

/** The revision under which a record was committed; undefined when it was not. */
export async function revisionOf({ group, index }: Basis): Promise<Revision | undefined> {
  await group.settled;
  return Array.isArray(group.result) ? group.result[index] : undefined;
}
