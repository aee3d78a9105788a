import { rmSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Actor, World } from './world.ts';

const WRITES = /^\s*(INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP)/i;
/** Open units after which a sync takes all of them in. */
const MANY_UNITS = 60;

/** An error that the simulated disk gave. */
export class DiskError extends Error {}

/** The code that asks is dead: it crashed within this call, or before. */
export class Death extends Error {}

type Row = unknown[];
type Value = string | number | Uint8Array | null;

/** What one synchronous stretch of code wrote: the runtime makes it durable as a whole or not at all. */
interface Unit {
  /** What follows from its being durable, in order. */
  effects: (() => void)[];
}

interface Gate {
  unit: number;
  actor: Actor | undefined;
  run: () => void;
}

/** How the disk behaves at the moment. */
export interface DiskMood {
  /** Milliseconds that a sync takes. */
  syncMs(): number;
  full: boolean;
}

/**
 * The storage of one Durable Object on real SQLite. What was written is lost in a crash until a sync has ended, newest
 * first and in whole units, each a savepoint within one open transaction.
 */
export class Disk {
  readonly mood: DiskMood;
  /** When the alarm is due, by the durable state. */
  alarm: number | undefined;
  readonly #world: World;
  readonly #path: string;
  #database: DatabaseSync;
  #statements = new Map<string, { statement: StatementSync; writes: boolean }>();
  /** Not yet durable, oldest first; those below `#durable` are but cannot be released by themselves. */
  #units: Unit[] = [];
  #durable = 0;
  #open = false;
  #syncing = false;
  #gates: Gate[] = [];
  /** Number of crashes: a sync that was under way in one does not end. */
  #life = 0;

  /** `path` may be `:memory:`. */
  constructor(world: World, mood: DiskMood, path = ':memory:') {
    this.#world = world;
    this.mood = mood;
    this.#path = path;
    if (path !== ':memory:') for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    this.#database = this.#connect();
  }

  get hasUnsynced(): boolean {
    return this.#durable < this.#units.length;
  }

  /** Runs a statement. `before` is called ahead of a write: a crash may come there. */
  exec(query: string, bindings: readonly Value[], before: () => void): { raw(): Iterable<Row> } {
    let known = this.#statements.get(query);
    if (known === undefined) {
      const statement = this.#database.prepare(query);
      statement.setReturnArrays(true);
      known = { statement, writes: WRITES.test(query) };
      this.#statements.set(query, known);
    }
    if (known.writes) {
      before();
      if (this.mood.full) throw new DiskError('database or disk is full: SQLITE_FULL');
      this.#openUnit();
    }
    const rows = known.statement.all(...bindings) as unknown as Row[];
    return { raw: () => rows };
  }

  /** Runs `write` as a whole: what it threw is undone. */
  transaction<T>(write: () => T): T {
    this.#openUnit();
    this.#database.exec('SAVEPOINT inner_transaction');
    try {
      const result = write();
      this.#database.exec('RELEASE inner_transaction');
      return result;
    } catch (error) {
      // After a crash within `write` there is nothing left to undo.
      if (this.#open) this.#database.exec('ROLLBACK TO inner_transaction; RELEASE inner_transaction');
      throw error;
    }
  }

  /** Something that is true once what was written so far is durable, and never if that is lost. */
  note(effect: () => void): void {
    const last = this.#units.at(-1);
    if (last === undefined || !this.hasUnsynced) effect();
    else last.effects.push(effect);
  }

  setAlarm(at: number | undefined): void {
    this.#openUnit();
    this.note(() => {
      this.alarm = at;
    });
  }

  /** Runs once everything written before is durable (the output gate); at once when it is. Nothing leaves the dead. */
  gate(actor: Actor | undefined, run: () => void): void {
    if (actor?.alive === false) return;
    if (!this.hasUnsynced) run();
    else this.#gates.push({ unit: this.#units.length, actor, run });
  }

  /** Loses what was not durable, but for a random part. Returns how many units were lost. */
  crash(): number {
    const torn = this.#open;
    const complete = this.#units.length - (torn ? 1 : 0);
    const kept =
      this.#durable + Math.floor(this.#world.random() * (Math.max(complete, this.#durable) - this.#durable + 1));
    const lost = this.#units.length - kept;
    if (this.#units.length > 0) {
      if (lost > 0) this.#database.exec(`ROLLBACK TO unit_${kept}`);
      this.#database.exec('COMMIT');
      for (const { effects } of this.#units.slice(this.#durable, kept)) for (const effect of effects) effect();
    }
    this.#units = [];
    this.#durable = 0;
    this.#open = false;
    this.#gates = [];
    this.#life++;
    this.#syncing = false;
    if (this.#path !== ':memory:') {
      this.close();
      this.#database = this.#connect();
    }
    return lost;
  }

  close(): void {
    this.#statements = new Map();
    this.#database.close();
  }

  #connect(): DatabaseSync {
    const database = new DatabaseSync(this.#path);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF');
    return database;
  }

  /** Begins a unit with the first write of a synchronous stretch; the next promise job ends it. */
  #openUnit(): void {
    if (this.#open) return;
    if (this.#units.length === 0) this.#database.exec('BEGIN');
    this.#database.exec(`SAVEPOINT unit_${this.#units.length}`);
    const unit: Unit = { effects: [] };
    this.#units.push(unit);
    this.#open = true;
    queueMicrotask(() => {
      if (this.#units.at(-1) === unit) this.#open = false;
    });
    this.#sync();
  }

  /** One sync at a time; what is written while it runs is for the next. */
  #sync(): void {
    if (this.#syncing) return;
    this.#syncing = true;
    const life = this.#life;
    this.#world.after(0, undefined, () => {
      const covered = this.#units.length;
      this.#world.after(this.mood.syncMs(), undefined, () => {
        if (life === this.#life) this.#synced(covered);
      });
    });
  }

  #synced(covered: number): void {
    this.#syncing = false;
    const upTo = this.#units.length > MANY_UNITS ? this.#units.length : Math.min(covered, this.#units.length);
    const fresh = this.#units.slice(this.#durable, upTo);
    this.#durable = Math.max(this.#durable, upTo);
    for (const { effects } of fresh) for (const effect of effects.splice(0)) effect();
    const open = this.#gates.filter(({ unit }) => unit <= this.#durable);
    this.#gates = this.#gates.filter(({ unit }) => unit > this.#durable);
    if (this.#durable === this.#units.length) {
      if (this.#units.length > 0) this.#database.exec('COMMIT');
      this.#units = [];
      this.#durable = 0;
      for (const gate of this.#gates) gate.unit = 0;
    } else this.#sync();
    for (const { actor, run } of open) if (actor?.alive !== false) run();
  }
}
