import type {
  Entry,
  HardState,
  Index,
  LogStorage,
  Membership,
  Ready,
  SnapshotMetadata,
  Term,
} from '../../../durable-objects/raft/types.ts';

/** A replica's disk in memory: the log, and a state machine that keeps every applied entry as text. */
export class MemoryStorage implements LogStorage {
  hardState: HardState = { term: 0, vote: 0, commit: 0 };
  membership: Membership;
  /** The entry right before the log. */
  start = { index: 0, term: 0 };
  log: Entry[] = [];
  applied: Index = 0;
  appliedTerm: Term = 0;
  state: string[] = [];

  constructor(membership: Membership) {
    this.membership = membership;
  }

  initialState(): { hardState: HardState; membership: Membership } {
    return { hardState: this.hardState, membership: this.membership };
  }

  entries(lo: Index, hi: Index, maxBytes: number): Entry[] {
    const found: Entry[] = [];
    let size = 0;
    for (const entry of this.log.slice(lo - this.firstIndex(), hi - this.firstIndex())) {
      size += entry.data.length;
      if (size > maxBytes && found.length > 0) break;
      found.push(entry);
    }
    return found;
  }

  term(index: Index): Term | undefined {
    return index === this.start.index ? this.start.term : this.log[index - this.firstIndex()]?.term;
  }

  firstIndex(): Index {
    return this.start.index + 1;
  }

  lastIndex(): Index {
    return this.start.index + this.log.length;
  }

  snapshotMetadata(): SnapshotMetadata {
    return { index: this.applied, term: this.appliedTerm, membership: this.membership };
  }

  /** What a driver does in one transaction. */
  persist(ready: Ready): void {
    if (ready.hardState) this.hardState = ready.hardState;
    const first = ready.entries[0];
    if (first) {
      if (first.index > this.lastIndex() + 1) throw new Error(`gap before entry ${first.index}`);
      this.log.length = first.index - this.firstIndex();
      this.log.push(...ready.entries);
    }
    for (const entry of ready.committedEntries) this.#apply(entry);
    if (ready.membership) this.membership = ready.membership;
  }

  #apply(entry: Entry): void {
    if (entry.index !== this.applied + 1) throw new Error(`entry ${entry.index} applied after ${this.applied}`);
    if (this.term(entry.index) !== entry.term) throw new Error(`entry ${entry.index} applied before it was stored`);
    this.applied = entry.index;
    this.appliedTerm = entry.term;
    if (entry.type === 'normal' && entry.data.length > 0) this.state.push(new TextDecoder().decode(entry.data));
  }

  /** Forgets the log up to `index`, which must be applied. */
  compact(index: Index): void {
    if (index > this.applied) throw new Error(`${index} is not applied`);
    const term = this.term(index);
    if (term === undefined || index <= this.start.index) return;
    this.log = this.log.slice(index - this.start.index);
    this.start = { index, term };
  }

  /** Installs another replica's state. */
  install(snapshot: SnapshotMetadata, state: readonly string[]): void {
    this.start = { index: snapshot.index, term: snapshot.term };
    this.log = [];
    this.applied = snapshot.index;
    this.appliedTerm = snapshot.term;
    this.membership = snapshot.membership;
    this.state = [...state];
  }
}
