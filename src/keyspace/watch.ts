import { decodeAnswer, STATUSES } from '../protocol/messages.ts';
import {
  decodeFrame,
  encodeControl,
  encodeSpec,
  PING,
  WATCH_CLOSE,
  WATCH_WINDOW,
  type WatchFrame,
  type WatchStart,
} from '../protocol/watch.ts';
import type { Surroundings } from './client.ts';
import type { Route } from './route.ts';
import {
  FutureRevisionError,
  UnavailableError,
  type WatchEvent,
  type WatchRequest,
  type WatchStream,
} from './types.ts';

/** How long a first dial may try the replicas, and a lost watch to find another. */
const OPEN_MS = 8_000;
const RESUME_MS = 30_000;
/** A replica that lives accepts the socket at once, and starts the watch after waiting up to 3 s for the revision. */
const ACCEPT_MS = 1_500;
const START_MS = 4_500;
const MAX_BACKOFF_MS = 1_000;
/** A replica that is silent for so long is asked whether it lives, and left when it is silent for twice that. */
const PING_MS = 10_000;
/** Credit is given back in portions, since each costs a message. */
const CREDIT_PORTION = WATCH_WINDOW / 4;

/**
 * Opens a watch on some replica that is as fresh as asked. Throws FutureRevisionError or UnavailableError; afterwards the
 * loss of the replica is made good elsewhere without the reader's noticing.
 */
export async function openWatch(
  route: Route,
  surroundings: Surroundings,
  request: WatchRequest,
  signal: AbortSignal,
): Promise<WatchStream> {
  const watch = new ReplicaWatch(route, surroundings, request);
  signal.addEventListener('abort', () => watch.close(), { once: true });
  if (signal.aborted) watch.close();
  else await watch.connect(surroundings.now() + OPEN_MS);
  return watch;
}

/** Why a dial failed. */
class DialError extends Error {
  readonly status: (typeof STATUSES)[number];
  readonly revision: number;

  constructor(status: (typeof STATUSES)[number], revision = 0) {
    super(status);
    this.status = status;
    this.revision = revision;
  }
}

class ReplicaWatch implements WatchStream {
  readonly #route: Route;
  readonly #surroundings: Surroundings;
  readonly #request: WatchRequest;
  #start: WatchStart;
  #socket: WebSocket | undefined;
  #frames: { events: WatchEvent[]; bytes: number }[] = [];
  /** Bytes handed to the reader but not yet known to be consumed, and consumed but not yet given back. */
  #delivered = 0;
  #owed = 0;
  #ended = false;
  #wantsProgress = false;
  #wakeReader: (() => void) | undefined;
  #heardAt = 0;
  #pinger: ReturnType<typeof setInterval> | undefined;

  constructor(route: Route, surroundings: Surroundings, request: WatchRequest) {
    this.#route = route;
    this.#surroundings = surroundings;
    this.#request = request;
    this.#start = request.start;
  }

  async next(): Promise<WatchEvent[] | undefined> {
    this.#giveCredit(this.#delivered);
    this.#delivered = 0;
    while (this.#frames.length === 0) {
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
    const frames = this.#frames.splice(0);
    for (const { bytes } of frames) this.#delivered += bytes;
    return frames.length === 1 ? frames[0]!.events : frames.flatMap(({ events }) => events);
  }

  progress(): void {
    if (this.#socket === undefined) this.#wantsProgress = true;
    else this.#send(encodeControl({ type: 'progress' }));
  }

  close(): void {
    this.#frames = [];
    this.#end();
  }

  /** Dials replicas until one serves the watch. */
  async connect(deadline: number): Promise<void> {
    const { now, random, sleep } = this.#surroundings;
    let order = this.#route.spread(now(), random);
    for (let failures = 0; !this.#ended; failures++) {
      try {
        await this.#dial(order[failures % order.length]!);
        return;
      } catch (error) {
        const { status, revision } = error instanceof DialError ? error : new DialError('unavailable');
        if (status === 'notReplica' && !(await this.#route.join())) {
          this.#route.failed(order[failures % order.length]!, now());
          const { members } = this.#route;
          await this.#route.learn(now());
          if (this.#route.members !== members) order = this.#route.spread(now(), random);
        }
        const exhausted = now() >= deadline;
        if (status === 'future' && (exhausted || failures + 1 >= order.length)) {
          const wanted = 'revision' in this.#start ? this.#start.revision : revision;
          throw new FutureRevisionError(wanted, revision);
        }
        if (status === 'malformed') throw new TypeError('the replica could not read the watch', { cause: error });
        if (exhausted) throw new UnavailableError('no replica could serve the watch', { cause: error });
        const ceiling = Math.min(MAX_BACKOFF_MS, 20 * 2 ** failures);
        await sleep(random() * ceiling);
      }
    }
  }

  async #dial(id: number): Promise<void> {
    const abort = new AbortController();
    let timer = setTimeout(() => abort.abort(), ACCEPT_MS);
    try {
      const response = await this.#route.link(id).upgrade('watch', abort.signal);
      clearTimeout(timer);
      const socket = response.webSocket;
      if (socket === null) {
        const bytes = new Uint8Array(await response.arrayBuffer());
        throw new DialError(response.status === 200 ? decodeAnswer(bytes).status : 'unavailable');
      }
      timer = setTimeout(() => abort.abort(), START_MS);
      await this.#establish(socket, abort.signal);
    } catch (error) {
      if (abort.signal.aborted || !(error instanceof DialError)) this.#route.failed(id, this.#surroundings.now());
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves when the replica says that the watch has started. */
  #establish(socket: WebSocket, signal: AbortSignal): Promise<void> {
    socket.binaryType = 'arraybuffer';
    socket.accept();
    return new Promise((resolve, reject) => {
      let started = false;
      let abandoned = false;
      const lost = (error: DialError) => {
        if (!started) reject(error);
        else if (this.#socket === socket) this.#lost();
      };
      const giveUp = () => {
        abandoned = true;
        lost(new DialError('unavailable'));
        closeQuietly(socket);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      socket.addEventListener('message', ({ data }) => {
        // What was under way on a socket that was given up comes all the same; the watch goes on elsewhere by then.
        if (abandoned) return;
        this.#heardAt = this.#surroundings.now();
        if (typeof data === 'string' || (started && this.#socket !== socket)) return;
        const bytes = new Uint8Array(data as ArrayBuffer);
        const frame = decodeFrame(bytes);
        if (frame.type !== 'started') {
          this.#take(frame, bytes.length);
          return;
        }
        started = true;
        signal.removeEventListener('abort', giveUp);
        this.#started(socket, frame.revision);
        resolve();
      });
      socket.addEventListener('close', ({ code, reason }) => {
        lost(new DialError(STATUSES[code - WATCH_CLOSE] ?? 'unavailable', Number(reason) || 0));
      });
      socket.addEventListener('error', () => lost(new DialError('unavailable')));
      socket.send(encodeSpec({ ...this.#request, start: this.#start }));
    });
  }

  #started(socket: WebSocket, revision: number): void {
    if (this.#ended) {
      closeQuietly(socket);
      return;
    }
    this.#socket = socket;
    this.#owed = 0;
    if (this.#start.type === 'now') this.#start = { type: 'after', revision };
    if (this.#start.type === 'initial') this.#start = { type: 'state', revision, after: '' };
    if (this.#wantsProgress) this.progress();
    this.#wantsProgress = false;
    this.#pinger ??= setInterval(() => this.#ping(), PING_MS);
  }

  #ping(): void {
    const silent = this.#surroundings.now() - this.#heardAt;
    if (this.#socket === undefined || silent < PING_MS) return;
    if (silent < 3 * PING_MS) this.#send(PING);
    else this.#lost();
  }

  /** Queues what a frame says and moves the point from which a lost watch would go on. */
  #take(frame: WatchFrame, bytes: number): void {
    if (frame.type === 'started') return;
    if (frame.type === 'state') {
      const last = frame.events.at(-1);
      if (last !== undefined && 'record' in last) {
        this.#start = { type: 'state', revision: frame.revision, after: last.record.key };
      }
    } else this.#start = { type: 'after', revision: frame.type === 'events' ? frame.through : frame.revision };
    const events = 'events' in frame ? frame.events : [{ type: frame.type, revision: frame.revision }];
    this.#frames.push({ events, bytes });
    if (frame.type === 'compacted') this.#end();
    this.#wakeReader?.();
  }

  #giveCredit(bytes: number): void {
    this.#owed += bytes;
    if (this.#owed < CREDIT_PORTION || this.#socket === undefined) return;
    this.#send(encodeControl({ type: 'credit', bytes: this.#owed }));
    this.#owed = 0;
  }

  #send(message: Uint8Array | string): void {
    try {
      this.#socket?.send(message);
    } catch {
      // The socket is closing: its close event follows.
    }
  }

  /** The replica is gone: the watch goes on from where it stands on another. */
  #lost(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket !== undefined) closeQuietly(socket);
    if (this.#ended) return;
    this.connect(this.#surroundings.now() + RESUME_MS).catch(() => this.#end());
  }

  #end(): void {
    this.#ended = true;
    clearInterval(this.#pinger);
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket !== undefined) closeQuietly(socket);
    this.#wakeReader?.();
  }
}

function closeQuietly(socket: WebSocket): void {
  try {
    socket.close(1000, 'done');
  } catch {
    // Closed already.
  }
}
