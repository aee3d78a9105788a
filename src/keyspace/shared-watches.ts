import { type Batch, type Feed, type FeedEnd, type FeedSurroundings, type Follower, revisionOf } from './feed.ts';
import type { Feeds } from './feeds.ts';
import {
  CompactedError,
  type Consistency,
  type Keyspace,
  type ListPage,
  type Revision,
  type WatchEvent,
  type WatchRequest,
  type WatchStream,
} from './types.ts';

/** Bytes that may wait for a reader while others read on. */
const WAITING_BYTES = 1 << 20;
/** How often a watch gives a sign of life, and looks for one. */
const BEAT_MS = 10_000;
/** Position of a watch that is still shown the state. */
const NOWHERE = -1;

/** Where a watch that is not shared reads. */
interface Source {
  keyspace: Pick<Keyspace, 'get' | 'watch'>;
  lists: Pick<Keyspace, 'list'>;
}

/**
 * A keyspace in which the watches of an isolate that want the same events share one stream from the replicas (see
 * {@link Feed}). Each is ordered, complete and at its own reader's pace as if it were alone: a state that it begins with is
 * read by a list, and what a feed no longer has is read by a stream of its own.
 */
export class SharedWatches implements Pick<Keyspace, 'watch'> {
  readonly #source: Source;
  readonly #feeds: Feeds;
  readonly #surroundings: FeedSurroundings;

  constructor(keyspace: Source['keyspace'], lists: Source['lists'], feeds: Feeds, surroundings: FeedSurroundings) {
    this.#source = { keyspace, lists };
    this.#feeds = feeds;
    this.#surroundings = surroundings;
  }

  /** As {@link Keyspace.watch}. */
  async watch(request: WatchRequest, signal: AbortSignal): Promise<WatchStream> {
    const watch = new SharedWatch(this.#source, this.#feeds, this.#surroundings, request, signal);
    await watch.begin();
    return watch;
  }
}

class SharedWatch implements WatchStream, Follower {
  readonly #source: Source;
  readonly #feeds: Feeds;
  readonly #surroundings: FeedSurroundings;
  readonly #request: WatchRequest;
  readonly #signal: AbortSignal;
  readonly #events: AsyncGenerator<WatchEvent[], void>;
  /** Feeds whose streams belong to this watch's request. */
  readonly #carried = new Set<Feed>();
  key: string | undefined;
  #position: Revision = NOWHERE;
  /** Whether the position was the present a moment ago. */
  #isRecent = false;
  #page: ListPage | undefined;
  /** A stream of its own, for what no feed has. */
  #own: WatchStream | undefined;
  #feed: Feed | undefined;
  #waiting: WatchEvent[][] = [];
  #waitingBytes = 0;
  #wantsProgress = false;
  #closed = false;
  #wakeReader: (() => void) | undefined;
  #beat: ReturnType<typeof setInterval> | undefined;

  constructor(
    source: Source,
    feeds: Feeds,
    surroundings: FeedSurroundings,
    request: WatchRequest,
    signal: AbortSignal,
  ) {
    this.#source = source;
    this.#feeds = feeds;
    this.#surroundings = surroundings;
    this.#request = request;
    this.#signal = signal;
    this.#events = this.#run();
    signal.addEventListener('abort', () => this.close(), { once: true });
    if (signal.aborted) this.close();
  }

  /** Reads what it begins with. Throws as {@link Keyspace.watch} does. */
  async begin(): Promise<void> {
    const { start } = this.#request;
    if (start.type === 'after') this.#position = start.revision;
    if (this.#closed || this.#canFollow()) return;
    if (start.type === 'after' || this.#feeds.find(this.#request) === undefined) await this.#openOwn(start);
    else if (start.type === 'initial') this.#page = await this.#list(start.consistency);
    else this.#standAt((await this.#source.keyspace.get([], start.consistency)).revision);
  }

  async next(): Promise<WatchEvent[] | undefined> {
    return (await this.#events.next()).value ?? undefined;
  }

  progress(): void {
    if (this.#own !== undefined) this.#own.progress();
    else if (this.#feed !== undefined) this.#feed.progress();
    else this.#wantsProgress = true;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#beat);
    this.#own?.close();
    this.#feed?.leave(this);
    for (const feed of this.#carried) feed.leave(this);
    this.#waiting = [];
    this.#wakeReader?.();
  }

  get position(): Revision {
    return this.#position;
  }

  get hasRoom(): boolean {
    return this.#waitingBytes < WAITING_BYTES;
  }

  take(batch: Batch): void {
    const events = this.#isNew(batch.events[0]!) ? batch.events : batch.events.filter((event) => this.#isNew(event));
    if (events.length === 0) return;
    this.#waiting.push(events);
    this.#waitingBytes += batch.bytes;
    this.#position = batch.last;
    this.#wakeReader?.();
  }

  fellBehind(): void {
    this.#feed = undefined;
    this.#isRecent = false;
  }

  wake(): void {
    this.#wakeReader?.();
  }

  /** Whether an event lies above the position: the feed may have begun before this watch. */
  #isNew(event: WatchEvent): boolean {
    return 'record' in event ? event.record.modRevision > this.#position : event.revision >= this.#position;
  }

  async *#run(): AsyncGenerator<WatchEvent[], void> {
    if (this.#page !== undefined) yield* this.#state(this.#page);
    this.#page = undefined;
    while (!this.#closed) {
      if (this.#canFollow()) yield* this.#follow();
      else yield* this.#readOn();
    }
  }

  /** The state page by page, then `synced`. */
  async *#state(first: ListPage): AsyncGenerator<WatchEvent[], void> {
    const { revision } = first;
    this.#standAt(revision);
    for (let page = first; ; ) {
      const events = page.records.map((record): WatchEvent => ({ type: 'added', record }));
      if (!page.more) {
        yield [...events, { type: 'synced', revision }];
        return;
      }
      yield events;
      if (this.#closed) return;
      const next = await this.#nextPage(revision, page.records.at(-1)!.key);
      if (next === undefined) {
        yield [{ type: 'compacted', revision }];
        this.close();
        return;
      }
      page = next;
    }
  }

  async #nextPage(revision: Revision, after: string): Promise<ListPage | undefined> {
    try {
      return await this.#list({ type: 'exact', revision }, after);
    } catch (error) {
      if (error instanceof CompactedError) return undefined;
      throw error;
    }
  }

  #list(consistency: Consistency, after?: string): Promise<ListPage> {
    const { prefix, selector } = this.#request;
    return this.#source.lists.list({
      prefix,
      limit: 0,
      consistency,
      ...(selector && { selector }),
      ...(after && { after }),
    });
  }

  /** Whether a feed has, or a new one will have, all that comes after the position. */
  #canFollow(): boolean {
    if (this.#position === NOWHERE) return false;
    const feed = this.#feeds.find(this.#request);
    return feed === undefined ? this.#isRecent : feed.covers(this.#position);
  }

  /** What the feed brings, until it ends or goes on without this watch. */
  async *#follow(): AsyncGenerator<WatchEvent[], void> {
    const feed = this.#join();
    while (!this.#closed) {
      if (this.#waiting.length > 0) yield this.#taken();
      else if (this.#feed !== feed) return;
      else if (feed.end !== undefined) yield* this.#ended(feed.end);
      else {
        if (feed.isOrphan) this.#carry(feed);
        await new Promise<void>((resolve) => {
          this.#wakeReader = resolve;
        });
      }
    }
  }

  /** Follows the feed that there is, or a new one, which goes on with the watch's own stream where it can. */
  #join(): Feed {
    const { prefix } = this.#request;
    const known = this.#feeds.find(this.#request);
    const feed = known ?? this.#feeds.begin(this.#request, this.#position, this.#surroundings);
    const own = this.#own;
    this.#own = undefined;
    this.#feed = feed;
    this.key = feed.interest.prefix === prefix ? undefined : prefix;
    feed.follow(this);
    if (known === undefined && this.key === undefined) this.#carry(feed, own);
    else own?.close();
    this.#beat ??= setInterval(() => this.#giveSign(), BEAT_MS);
    if (this.#wantsProgress) feed.progress();
    this.#wantsProgress = false;
    return feed;
  }

  #taken(): WatchEvent[] {
    const batches = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#feed?.roomMade();
    return batches.length === 1 ? batches[0]! : batches.flat();
  }

  /** The feed is over: so is this watch, unless only others lost their history with it. */
  *#ended(end: FeedEnd): Generator<WatchEvent[], void> {
    this.#feed = undefined;
    if (end.type === 'compacted' && end.revision <= this.#position) return;
    if (end.type === 'compacted') yield [end];
    this.close();
  }

  #carry(feed: Feed, own?: WatchStream): void {
    this.#carried.add(feed);
    const open = (revision: Revision) =>
      this.#source.keyspace.watch({ ...feed.interest, start: { type: 'after', revision } }, this.#signal);
    feed.carry(this, own === undefined ? open : async () => own);
  }

  #giveSign(): void {
    this.#feed?.beat(this);
    for (const feed of this.#carried) feed.beat(this);
  }

  async #openOwn(start: WatchRequest['start']): Promise<void> {
    const own = await this.#source.keyspace.watch({ ...this.#request, start }, this.#signal);
    if (this.#closed) own.close();
    this.#own = own;
    if (start.type !== 'initial') own.progress();
  }

  /** Reads on by a stream of its own until a feed has what comes after. */
  async *#readOn(): AsyncGenerator<WatchEvent[], void> {
    if (this.#own === undefined) await this.#openOwn({ type: 'after', revision: this.#position });
    const own = this.#own!;
    while (!this.#closed && !this.#canFollow()) {
      const events = await own.next();
      if (events === undefined) {
        this.close();
        return;
      }
      for (const event of events) this.#passed(event);
      if (!this.#isRecent && this.#position !== NOWHERE) own.progress();
      yield events;
      if (events.at(-1)?.type === 'compacted') this.close();
    }
  }

  /** Moves the position past an event of the own stream. Events before `synced` show the state and are in order of keys. */
  #passed(event: WatchEvent): void {
    if (event.type === 'synced' || event.type === 'progress') this.#standAt(event.revision);
    else if (this.#position !== NOWHERE) this.#position = Math.max(this.#position, revisionOf(event));
  }

  /** Everything up to a revision was shown, and the revision is, or was a moment ago, the present one. */
  #standAt(revision: Revision): void {
    this.#position = Math.max(this.#position, revision);
    this.#isRecent = true;
  }
}
