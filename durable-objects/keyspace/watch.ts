/**
 * The watchers of a replica. A watcher is a cursor: one that has everything and has credit is *live* and shares every
 * encoded frame with the others of its group (same prefix, same selector); one that lags reads on from history as credit
 * comes back. Pure: frames leave through the function given.
 */
import type { Revision, Selector } from '../../src/keyspace/types.ts';
import { restampRecord } from '../../src/protocol/records.ts';
import { type EventType, encodeEvent, encodeFrame, WATCH_WINDOW } from '../../src/protocol/watch.ts';
import { listPage } from './list.ts';
import { matches } from './selector.ts';
import type { Change, StateMachine } from './state.ts';
import { type Range, rangeOf, type Version } from './storage.ts';

/** Bytes of events after which a frame is closed. */
const FRAME_BYTES = 256 << 10;
/** Versions of history that one feed looks at before it yields to others. */
const FEED_VERSIONS = 20_000;

/** Where a watcher stands: reading the state of `revision` (keys above `after` are missing), or events above `revision`. */
export type Cursor = { phase: 'state'; revision: Revision; after: string } | { phase: 'events'; revision: Revision };

/** What of a watcher outlives a sleep. */
export interface WatcherState {
  id: string;
  cursor: Cursor;
  credit: number;
}

interface Group {
  prefix: string;
  range: Range;
  selector: Selector | undefined;
  members: number;
  live: Set<Watcher>;
}

interface Watcher {
  id: string;
  group: Group;
  cursor: Cursor;
  credit: number;
  /** Revision that the watcher knows to be complete. */
  told: Revision;
}

/** What the hub asks its owner to do. */
export interface HubSink {
  send(id: string, frame: Uint8Array): void;
  /** The stream ends after what was sent. */
  end(id: string): void;
  /** Something could go out at once; call {@link Hub.pump} soon, which is asked for once until then. */
  wake(): void;
}

export class Hub {
  readonly #state: StateMachine;
  readonly #sink: HubSink;
  readonly #watchers = new Map<string, Watcher>();
  readonly #groups = new Map<string, Map<string, Group>>();
  readonly #ready = new Set<Watcher>();
  /** Changes that live watchers have not been sent: those of a moment share a frame. */
  #held: Change[] = [];
  #woken = false;

  constructor(state: StateMachine, sink: HubSink) {
    this.#state = state;
    this.#sink = sink;
  }

  get size(): number {
    return this.#watchers.size;
  }

  /** Adds a watcher and sends it what credit allows. `cursor.revision` must not lie ahead of the state. */
  open(id: string, prefix: string, selector: Selector | undefined, cursor: Cursor, credit = WATCH_WINDOW): void {
    this.close(id);
    this.#release();
    const group = this.#group(prefix, selector);
    group.members++;
    const watcher = { id, group, cursor, credit, told: cursor.phase === 'events' ? cursor.revision : 0 };
    this.#watchers.set(id, watcher);
    this.#feed(watcher);
  }

  /** Forgets a watcher. */
  close(id: string): void {
    const watcher = this.#watchers.get(id);
    if (watcher === undefined) return;
    this.#watchers.delete(id);
    this.#ready.delete(watcher);
    const { group } = watcher;
    group.live.delete(watcher);
    const groups = this.#groups.get(group.prefix);
    if (--group.members > 0 || groups === undefined) return;
    groups.delete(selectorKey(group.selector));
    if (groups.size === 0) this.#groups.delete(group.prefix);
  }

  /** Gives bytes of credit back. */
  credit(id: string, bytes: number): void {
    const watcher = this.#watchers.get(id);
    if (watcher === undefined) return;
    watcher.credit = Math.min(watcher.credit + bytes, WATCH_WINDOW);
    if (watcher.group.live.has(watcher)) return;
    this.#release();
    this.#feed(watcher);
  }

  /** Tells a watcher how far it is complete, when it has everything. */
  progress(id: string): void {
    this.#release();
    const watcher = this.#watchers.get(id);
    if (watcher?.group.live.has(watcher)) this.#tell(watcher);
  }

  /** Tells every live watcher that was last told less than `revision`, so that none resumes below it. */
  progressBelow(revision: Revision): void {
    this.#release();
    for (const watcher of this.#watchers.values()) {
      if (watcher.told < revision && watcher.group.live.has(watcher)) this.#tell(watcher);
    }
  }

  /** Takes in what was just applied; call it directly after apply, with every version since the last call. */
  publish(changes: readonly Change[]): void {
    if (this.#watchers.size === 0 || changes.length === 0) return;
    this.#held.push(...changes);
    this.#wake();
  }

  /** Sends what is held, and feeds watchers that stopped only to let others run. */
  pump(): void {
    this.#woken = false;
    this.#release();
    const ready = [...this.#ready];
    this.#ready.clear();
    for (const watcher of ready) this.#feed(watcher);
  }

  #wake(): void {
    if (this.#woken) return;
    this.#woken = true;
    this.#sink.wake();
  }

  /** Sends what is held; whatever depends on which watchers are live, or changes that, comes after it. */
  #release(): void {
    if (this.#held.length === 0) return;
    const changes = this.#held;
    this.#held = [];
    const touched = new Map<Group, Uint8Array[]>();
    for (const change of changes) {
      let shared: Uint8Array | undefined;
      for (const group of this.#groupsOf(change.version.key)) {
        if (group.live.size === 0) continue;
        const type = eventType(change.version, change.replaced, group.selector);
        if (type === undefined) continue;
        const plain = group.selector === undefined;
        const event = (plain ? shared : undefined) ?? eventOf(type, change.version, change.replaced);
        if (plain) shared = event;
        const batch = touched.get(group);
        if (batch === undefined) touched.set(group, [event]);
        else batch.push(event);
      }
    }
    const before = changes[0]!.version.revision - 1;
    const through = this.#state.scalars.revision;
    for (const [group, events] of touched) this.#deliver(group, before, through, events);
  }

  /** Where each watcher stands, to be kept while the replica sleeps. */
  cursors(): WatcherState[] {
    this.#release();
    return Array.from(this.#watchers.values(), (watcher) => this.#stateOf(watcher));
  }

  /** Where one watcher stands; undefined when it is not open. */
  cursor(id: string): WatcherState | undefined {
    this.#release();
    const watcher = this.#watchers.get(id);
    return watcher && this.#stateOf(watcher);
  }

  #stateOf(watcher: Watcher): WatcherState {
    const { id, credit, cursor, group } = watcher;
    const { revision } = this.#state.scalars;
    return { id, credit, cursor: group.live.has(watcher) ? { phase: 'events', revision } : cursor };
  }

  #deliver(group: Group, before: Revision, through: Revision, events: readonly Uint8Array[]): void {
    const frame = encodeFrame('events', through, events);
    for (const watcher of group.live) {
      if (watcher.credit > 0) {
        this.#send(watcher, frame);
        watcher.told = through;
      } else {
        group.live.delete(watcher);
        watcher.cursor = { phase: 'events', revision: before };
      }
    }
  }

  #tell(watcher: Watcher): void {
    const { revision } = this.#state.scalars;
    this.#send(watcher, encodeFrame('progress', revision));
    watcher.told = revision;
  }

  #send(watcher: Watcher, frame: Uint8Array): void {
    watcher.credit -= frame.length;
    this.#sink.send(watcher.id, frame);
  }

  /** Sends a lagging watcher what it misses, as far as credit allows. */
  #feed(watcher: Watcher): void {
    while (watcher.credit > 0) {
      const { cursor } = watcher;
      if (cursor.revision < this.#state.scalars.compacted) {
        this.#send(watcher, encodeFrame('compacted', this.#state.scalars.compacted));
        this.close(watcher.id);
        this.#sink.end(watcher.id);
        return;
      }
      if (cursor.phase === 'state') this.#feedState(watcher, cursor.revision, cursor.after);
      else if (!this.#feedEvents(watcher, cursor.revision)) return;
    }
  }

  #feedState(watcher: Watcher, revision: Revision, after: string): void {
    const { prefix, selector } = watcher.group;
    const query = {
      prefix,
      after: after === '' ? undefined : after,
      limit: 0,
      revision,
      selector,
      term: undefined,
      keysOnly: false,
    };
    const page = listPage(this.#state, query, FRAME_BYTES);
    if (page.records.length > 0) {
      const events = page.records.map((record) => encodeEvent('added', record));
      this.#send(watcher, encodeFrame('state', revision, events));
    }
    if (page.more) watcher.cursor = { phase: 'state', revision, after: page.lastKey! };
    else {
      watcher.cursor = { phase: 'events', revision };
      this.#send(watcher, encodeFrame('synced', revision));
      watcher.told = revision;
    }
  }

  /** One frame of history; whether to go on. A watcher that has reached the present becomes live. */
  #feedEvents(watcher: Watcher, after: Revision): boolean {
    const { group } = watcher;
    const events: Uint8Array[] = [];
    let bytes = 0;
    let seen = 0;
    let through = this.#state.scalars.revision;
    let complete = true;
    for (const version of this.#state.history(after, group.range)) {
      if (bytes >= FRAME_BYTES || seen >= FEED_VERSIONS) {
        through = version.revision - 1;
        complete = false;
        break;
      }
      seen++;
      const needed = version.deleted || group.selector !== undefined;
      const replaced = needed && version.previous > 0 ? this.#state.version(version.previous) : undefined;
      const type = eventType(version, replaced, group.selector);
      if (type === undefined) continue;
      const event = eventOf(type, version, replaced);
      events.push(event);
      bytes += event.length;
    }
    if (events.length > 0) {
      this.#send(watcher, encodeFrame('events', through, events));
      watcher.told = through;
    }
    watcher.cursor = { phase: 'events', revision: through };
    if (complete) group.live.add(watcher);
    else if (seen >= FEED_VERSIONS) {
      this.#ready.add(watcher);
      this.#wake();
      return false;
    }
    return !complete;
  }

  #group(prefix: string, selector: Selector | undefined): Group {
    const wanted = selector !== undefined && selector.labels.length + selector.fields.length > 0 ? selector : undefined;
    let groups = this.#groups.get(prefix);
    if (groups === undefined) {
      groups = new Map();
      this.#groups.set(prefix, groups);
    }
    const key = selectorKey(wanted);
    let group = groups.get(key);
    if (group === undefined) {
      group = { prefix, range: rangeOf(prefix), selector: wanted, members: 0, live: new Set() };
      groups.set(key, group);
    }
    return group;
  }

  *#groupsOf(key: string): Iterable<Group> {
    for (let end = key.indexOf('/'); end >= 0; end = key.indexOf('/', end + 1)) {
      const groups = this.#groups.get(key.slice(0, end + 1));
      if (groups !== undefined) yield* groups.values();
    }
    const groups = this.#groups.get(key);
    if (groups !== undefined) yield* groups.values();
  }
}

function selectorKey(selector: Selector | undefined): string {
  return selector === undefined ? '' : JSON.stringify(selector);
}

/** What a version means to a watcher with a selector; undefined when it is none of its business. */
function eventType(
  version: Version,
  replaced: Version | undefined,
  selector: Selector | undefined,
): EventType | undefined {
  if (selector === undefined) return version.deleted ? 'deleted' : version.previous > 0 ? 'modified' : 'added';
  const was = replaced !== undefined && matches(replaced.record, selector);
  const is = !version.deleted && matches(version.record, selector);
  if (was) return is ? 'modified' : 'deleted';
  return is ? 'added' : undefined;
}

/** Encodes the event; what was deleted is shown as it last matched, under the new revision. */
function eventOf(type: EventType, version: Version, replaced: Version | undefined): Uint8Array {
  if (type !== 'deleted') return encodeEvent(type, version.record);
  return encodeEvent(type, restampRecord(replaced!.record, version.revision));
}
