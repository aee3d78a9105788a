import type { Change as Applied } from '../../durable-objects/keyspace/state.ts';
import type { Entry } from '../../durable-objects/raft/types.ts';
import type { Driver } from '../../durable-objects/replica/driver.ts';
import type { RaftLog } from '../../durable-objects/replica/raft-log.ts';
import { decodeRecord } from '../../src/protocol/records.ts';
import type { Change } from '../support/history/index.ts';
import { watching } from './observed-driver.ts';
import type { ReplicaObject } from './replica-object.ts';
import { Violation, type World } from './world.ts';

/** What the observer remembers of one replica. */
interface Seen {
  driver: Driver | undefined;
  log: RaftLog | undefined;
  /** Term and digest of every durable entry, by index; the log may have been truncated since. */
  durable: { term: number; digest: number }[];
  role: string;
  term: number;
}

/** What applying one entry made of the state. */
interface Applying {
  entry: number;
  digest: number;
  scalars: string;
}

/**
 * Watches every replica from inside and fails the run when one of Raft's properties (figure 3 of the paper) does not
 * hold. What a replica did before its disk had it counts only once that is durable: until then nobody can know of it.
 */
export class Observer {
  /** The committed history. */
  readonly changes = new Map<number, Change>();
  /** Index up to which everything is known to be committed. */
  committed = 0;
  readonly #world: World;
  readonly #seen = new Map<ReplicaObject, Seen>();
  readonly #leaders = new Map<number, string>();
  /** Digest of every entry ever written, with the term of the one before it. */
  readonly #entries = new Map<string, string>();
  /** `committedIn`: the term of the replica that applied it first, in which it was committed at the latest. */
  readonly #applied = new Map<number, Applying & { term: number; committedIn: number }>();

  constructor(world: World) {
    this.#world = world;
    watching.created = (driver, log) => this.#created(driver, log);
  }

  /** A replica's code is about to start. */
  starting(object: ReplicaObject): void {
    this.#of(object);
  }

  ended(object: ReplicaObject): void {
    const seen = this.#of(object);
    seen.driver = undefined;
    seen.log = undefined;
  }

  driverOf(object: ReplicaObject): Driver | undefined {
    return this.#seen.get(object)?.driver;
  }

  #of(object: ReplicaObject): Seen {
    let seen = this.#seen.get(object);
    if (seen === undefined) {
      seen = { driver: undefined, log: undefined, durable: [], role: 'follower', term: 0 };
      this.#seen.set(object, seen);
    }
    return seen;
  }

  #created(driver: Driver, log: RaftLog): void {
    const object = this.#whose();
    const seen = this.#of(object);
    seen.driver = driver;
    seen.log = log;
    this.#watchLog(object, seen, log);
    this.#watchState(object, seen, driver, log);
    const step = driver.step.bind(driver);
    driver.step = (messages) => {
      for (const { type } of messages) this.#world.count(`message: ${type}`);
      return step(messages);
    };
  }

  /** Whose driver was just made: of the object whose code runs. */
  #whose(): ReplicaObject {
    const { current } = this.#world;
    for (const object of this.#seen.keys()) if (object.life !== undefined && object.life === current) return object;
    throw new Error('a driver was made by nobody');
  }

  #watchLog(object: ReplicaObject, seen: Seen, log: RaftLog): void {
    const append = log.append.bind(log);
    log.append = (entries) => {
      append(entries);
      for (const entry of entries) this.#checkMatching(object, log, entry);
      const written = entries.map(({ index, term, data }) => ({ index, term, digest: digest(data) }));
      object.disk.note(() => {
        if (written.length > 0) seen.durable.length = Math.min(seen.durable.length, written[0]!.index);
        for (const { index, term, digest } of written) seen.durable[index] = { term, digest };
      });
    };
  }

  /** Log matching: an entry of a term at an index is the same everywhere, and so is all before it. */
  #checkMatching({ name }: ReplicaObject, log: RaftLog, { index, term, data }: Entry): void {
    const key = `${term}/${index}`;
    const facts = `${log.term(index - 1)} ${digest(data)}`;
    const known = this.#entries.get(key);
    if (known === undefined) this.#entries.set(key, facts);
    else if (known !== facts)
      throw this.#violated('log matching', `${name} has another entry ${key}: ${facts}, ${known}`);
  }

  #watchState(object: ReplicaObject, seen: Seen, driver: Driver, log: RaftLog): void {
    const { state, hub } = driver;
    const apply = state.apply.bind(state);
    const batches = new Map<number, number>();
    state.apply = (index, data) => {
      const first = state.scalars.revision + 1;
      const outcome = apply(index, data);
      for (let revision = first; revision <= state.scalars.revision; revision++) batches.set(revision, first);
      const applying = { entry: log.term(index) ?? -1, digest: digest(data), scalars: JSON.stringify(state.scalars) };
      object.disk.note(() => this.#checkApplied(object, seen, index, applying));
      return outcome;
    };
    const publish = hub.publish.bind(hub);
    hub.publish = (changes) => {
      const written = changes.map((change) => describe(change, batches));
      batches.clear();
      object.disk.note(() => {
        for (const change of written) this.#checkChange(object, change);
      });
      publish(changes);
    };
  }

  /** State machine safety: all apply the same entry at an index, with the same effect, and a quorum has it on disk. */
  #checkApplied(object: ReplicaObject, seen: Seen, index: number, { entry: term, digest, scalars }: Applying): void {
    const known = this.#applied.get(index);
    if (known === undefined) {
      const committedIn = seen.driver?.status().term ?? Number.POSITIVE_INFINITY;
      this.#applied.set(index, { entry: index, term, digest, scalars, committedIn });
      this.committed = Math.max(this.committed, index);
      this.#checkQuorum(object, seen, index, term);
      return;
    }
    if (known.digest !== digest || known.term !== term || known.scalars !== scalars) {
      const detail = `term ${term} ${scalars}, another replica term ${known.term} ${known.scalars}`;
      this.#world.fail(this.#violated('state machine safety', `${object.name} applied at ${index}: ${detail}`));
    }
  }

  #checkQuorum(object: ReplicaObject, seen: Seen, index: number, term: number): void {
    const voters = seen.driver?.status().membership.voters;
    if (voters === undefined) return;
    const holders = [...this.#seen].filter(
      ([{ id }, { durable }]) => voters.includes(id) && durable[index]?.term === term,
    );
    if (holders.length * 2 > voters.length) return;
    const names = holders.map(([{ name }]) => name).join(', ');
    const text = `${object.name} applied ${term}/${index}, which only ${names || 'nobody'} has on disk`;
    this.#world.fail(this.#violated('durability', text));
  }

  #checkChange({ name }: ReplicaObject, change: Change): void {
    const known = this.changes.get(change.revision);
    if (known === undefined) this.changes.set(change.revision, change);
    else if (JSON.stringify(known) !== JSON.stringify(change)) {
      const detail = `${JSON.stringify(change)}, another replica ${JSON.stringify(known)}`;
      this.#world.fail(this.#violated('state machine safety', `${name} made ${detail}`));
    }
  }

  /** After each event of a replica: election safety, and leader completeness when one takes over. */
  check(object: ReplicaObject): void {
    const seen = this.#seen.get(object);
    if (seen?.driver === undefined) return;
    const { role, term } = seen.driver.status();
    if (role === seen.role && term === seen.term) return;
    if (role !== seen.role) {
      this.#world.count(`role: ${seen.role} to ${role}`);
      this.#world.tell(() => `${object.name}: ${role} in term ${term}`);
    }
    seen.role = role;
    seen.term = term;
    if (role === 'leader') this.#checkLeader(object, seen.log!, term);
  }

  #checkLeader({ name }: ReplicaObject, log: RaftLog, term: number): void {
    const other = this.#leaders.get(term);
    if (other === undefined) this.#leaders.set(term, name);
    else if (other !== name) throw this.#violated('election safety', `${other} and ${name} both lead in term ${term}`);
    // An old leader that is still elected need not have what a later one commits.
    for (const [index, { term: entryTerm, committedIn }] of this.#applied) {
      if (committedIn >= term || index < log.firstIndex() || log.term(index) === entryTerm) continue;
      throw this.#violated('leader completeness', `${name} leads in term ${term} and lacks ${entryTerm}/${index}`);
    }
  }

  #violated(property: string, detail: string): Violation {
    return new Violation(`${property}: ${detail}`);
  }
}

function describe({ version }: Applied, batches: ReadonlyMap<number, number>): Change {
  const { revision, key, deleted, record } = version;
  const batch = batches.get(revision) ?? revision;
  if (deleted) return { revision, key, type: 'delete', value: '', labels: {}, batch };
  const { value, meta } = decodeRecord(record);
  return { revision, key, type: 'put', value: new TextDecoder().decode(value), labels: { ...meta.labels }, batch };
}

/** FNV-1a of bytes. */
function digest(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash >>> 0;
}
