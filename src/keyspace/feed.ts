import type { Surroundings } from './client.ts';
import type { Revision, Selector, WatchEvent, WatchStream } from './types.ts';

/** What a feed keeps for those who come a little late, and all feeds of a shard together. */
const RECENT_BYTES = 256 << 10;
const RECENT_BYTES_ALTOGETHER = 8 << 20;
/** How long a feed may look for a replica that goes on with it. */
const RESUME_MS = 30_000;
const RETRY_MS = 200;
/** A carrier that gave no sign for so long is gone without having said so. */
const SILENCE_MS = 30_000;
/** What an event takes beside its record's value, roughly. */
const EVENT_BYTES = 256;

/** Events that came together; shared by all who follow the feed. */
export interface Batch {
  readonly events: WatchEvent[];
  readonly bytes: number;
  /** Revision of the last event. */
  readonly last: Revision;
}

/** Why a feed gives nothing more. */
export type FeedEnd = { type: 'lost' } | { type: 'compacted'; revision: Revision };

/** A watch that takes what a feed brings. */
export interface Follower {
  /** The only key that it wants; undefined: all of the feed. */
  readonly key: string | undefined;
  /** It has everything that it wants up to here. */
  readonly position: Revision;
  /** Whether it takes more. */
  readonly hasRoom: boolean;
  /** Takes a batch. */
  take(batch: Batch): void;
  /** It no longer follows: it had no room when others had. */
  fellBehind(): void;
  /** Looks what became of the feed: it ended, or nobody carries it any more. */
  wake(): void;
}

/** Opens the stream from the replicas, in the request of the carrier. */
export type Open = (after: Revision) => Promise<WatchStream>;

/** The revision that an event is of. */
export const revisionOf = (event: WatchEvent): Revision =>
  'record' in event ? event.record.modRevision : event.revision;

/** Bytes that the feeds of a shard keep. */
export interface Budget {
  bytes: number;
}

/** What a watch is about: a prefix that ends in `/`, or one whole key. */
export interface Interest {
  prefix: string;
  selector?: Selector;
}

/** What a feed takes from its surroundings. */
export type FeedSurroundings = Pick<Surroundings, 'now' | 'sleep'>;

/**
 * One stream of events from the replicas for all watches of an isolate that want them: whatever the number of those who
 * follow, a replica sends it once and it is decoded once. The socket belongs to the request of one of them, its *carrier*;
 * when that is over another carries the feed on from where it stands. A follower that is slower than the others drops out
 * and reads on by itself; while all are slow, the feed waits, and with it the credit of the replica.
 */
export class Feed {
  readonly interest: Interest;
  readonly #surroundings: FeedSurroundings;
  readonly #budget: Budget;
  readonly #ended: () => void;
  readonly #followers = new Map<string | undefined, Set<Follower>>();
  /** All from `floor` to `position` is in `recent`. */
  #floor: Revision;
  #position: Revision;
  #recent: Batch[] = [];
  #recentBytes = 0;
  #carrier: Follower | undefined;
  #stream: WatchStream | undefined;
  #heardAt = 0;
  #wantsProgress = false;
  #roomMade: (() => void) | undefined;
  #tellCarrier: (() => void) | undefined;
  #end: FeedEnd | undefined;

  /** `ended` is called when nobody follows any more, or the stream is over. */
  constructor(
    interest: Interest,
    position: Revision,
    surroundings: FeedSurroundings,
    budget: Budget,
    ended: () => void,
  ) {
    this.interest = interest;
    this.#floor = position;
    this.#position = position;
    this.#surroundings = surroundings;
    this.#budget = budget;
    this.#ended = ended;
  }

  get end(): FeedEnd | undefined {
    return this.#end;
  }

  /** Whether somebody who has everything up to a revision may follow. */
  covers(revision: Revision): boolean {
    return revision >= this.#floor;
  }

  /** Whether somebody has to carry it. */
  get isOrphan(): boolean {
    return this.#carrier === undefined && this.#end === undefined;
  }

  follow(follower: Follower): void {
    const same = this.#followers.get(follower.key);
    if (same === undefined) this.#followers.set(follower.key, new Set([follower]));
    else same.add(follower);
    const missed = this.#recent.flatMap(({ events, last }) => (last > follower.position ? events : []));
    const wanted = missed.filter((event) => isFor(event, follower.key));
    if (wanted.length > 0) follower.take(batchOf(wanted));
  }

  /** Called in the request of the follower. */
  leave(follower: Follower): void {
    this.#remove(follower);
    if (this.#carrier === follower) {
      this.#stream?.close();
      this.#abandon();
    }
    if (this.#followers.size === 0) this.#finish({ type: 'lost' });
  }

  /** Makes a follower the carrier, which calls this in its own request. */
  carry(carrier: Follower, open: Open): void {
    this.#carrier = carrier;
    const position = Math.min(...this.#all().map((follower) => Math.max(follower.position, this.#position)));
    if (position > this.#position) {
      this.#forget();
      this.#floor = position;
      this.#position = position;
    }
    this.#run(carrier, open).catch(() => this.#carrier === carrier && this.#finish({ type: 'lost' }));
  }

  /** A sign of life of the carrier; from any other follower, a look whether there was one lately. */
  beat(follower: Follower): void {
    const now = this.#surroundings.now();
    if (follower === this.#carrier) this.#heardAt = now;
    else if (this.#carrier !== undefined && now - this.#heardAt > SILENCE_MS) this.#abandon();
  }

  /** Asks for a progress event, which comes to all. */
  progress(): void {
    this.#wantsProgress = true;
    this.#tellCarrier?.();
  }

  /** A follower that had none has room again. */
  roomMade(): void {
    this.#roomMade?.();
  }

  #all(): Follower[] {
    return [...this.#followers.values()].flatMap((same) => [...same]);
  }

  #abandon(): void {
    this.#carrier = undefined;
    this.#stream = undefined;
    for (const follower of this.#all()) follower.wake();
  }

  #remove(follower: Follower): void {
    const same = this.#followers.get(follower.key);
    if (same?.delete(follower) && same.size === 0) this.#followers.delete(follower.key);
  }

  /** Brings what the replicas send, for as long as `carrier` carries it. */
  async #run(carrier: Follower, open: Open): Promise<void> {
    const isOver = () => this.#carrier !== carrier || this.#end !== undefined;
    this.#heardAt = this.#surroundings.now();
    const stream = await this.#opened(open, isOver);
    if (!isOver()) {
      this.#stream = stream;
      void this.#obey(stream, isOver);
    }
    while (!isOver()) {
      const events = await stream.next();
      if (!isOver()) await this.#received(events, isOver);
    }
    stream.close();
  }

  async #received(events: WatchEvent[] | undefined, isOver: () => boolean): Promise<void> {
    this.#heardAt = this.#surroundings.now();
    const last = events?.at(-1);
    if (events === undefined || last === undefined) this.#finish({ type: 'lost' });
    else if (last.type === 'compacted') this.#finish({ type: 'compacted', revision: last.revision });
    else await this.#bring(batchOf(events), isOver);
  }

  /** Opens the stream; tries for a while where no replica can give it. */
  async #opened(open: Open, isOver: () => boolean): Promise<WatchStream> {
    const { now, sleep } = this.#surroundings;
    const deadline = now() + RESUME_MS;
    for (;;) {
      try {
        return await open(this.#position);
      } catch (error) {
        if (isOver() || now() >= deadline) throw error;
      }
      await sleep(RETRY_MS);
    }
  }

  /** Does to the stream what other requests ask for: only the carrier's may. */
  async #obey(stream: WatchStream, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      if (this.#wantsProgress) stream.progress();
      this.#wantsProgress = false;
      await new Promise<void>((resolve) => {
        this.#tellCarrier = resolve;
      });
    }
    stream.close();
  }

  /** Gives a batch to the followers and waits until one of them takes more. */
  async #bring(batch: Batch, isOver: () => boolean): Promise<void> {
    this.#position = Math.max(this.#position, batch.last);
    this.#keep(batch);
    this.#give(undefined, batch);
    if (this.#followers.size > (this.#followers.has(undefined) ? 1 : 0)) this.#giveByKey(batch);
    while (!isOver() && !this.#hasRoom()) {
      await new Promise<void>((resolve) => {
        this.#roomMade = resolve;
      });
    }
  }

  #hasRoom(): boolean {
    for (const same of this.#followers.values()) for (const { hasRoom } of same) if (hasRoom) return true;
    return false;
  }

  #giveByKey({ events }: Batch): void {
    const byKey = new Map<string, WatchEvent[]>();
    for (const event of events) {
      const keys = 'record' in event ? [event.record.key] : this.#followers.keys();
      for (const key of keys) {
        if (key === undefined || !this.#followers.has(key)) continue;
        const same = byKey.get(key);
        if (same === undefined) byKey.set(key, [event]);
        else same.push(event);
      }
    }
    for (const [key, wanted] of byKey) this.#give(key, batchOf(wanted));
  }

  #give(key: string | undefined, batch: Batch): void {
    for (const follower of this.#followers.get(key) ?? []) {
      if (follower.hasRoom) follower.take(batch);
      else {
        this.#remove(follower);
        follower.fellBehind();
      }
    }
  }

  #keep(batch: Batch): void {
    this.#recent.push(batch);
    this.#recentBytes += batch.bytes;
    this.#budget.bytes += batch.bytes;
    while (
      this.#recentBytes > RECENT_BYTES ||
      (this.#budget.bytes > RECENT_BYTES_ALTOGETHER && this.#recentBytes > 0)
    ) {
      const { bytes, last } = this.#recent.shift()!;
      this.#recentBytes -= bytes;
      this.#budget.bytes -= bytes;
      this.#floor = last;
    }
  }

  #forget(): void {
    this.#budget.bytes -= this.#recentBytes;
    this.#recentBytes = 0;
    this.#recent = [];
  }

  #finish(end: FeedEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#forget();
    this.#ended();
    this.#tellCarrier?.();
    this.#roomMade?.();
    for (const follower of this.#all()) follower.wake();
  }
}

function batchOf(events: WatchEvent[]): Batch {
  const bytes = events.reduce((sum, e) => sum + EVENT_BYTES + ('record' in e ? e.record.value.length : 0), 0);
  return { events, bytes, last: revisionOf(events.at(-1)!) };
}

const isFor = (event: WatchEvent, key: string | undefined): boolean =>
  key === undefined || !('record' in event) || event.record.key === key;
