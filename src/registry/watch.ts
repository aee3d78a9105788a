import type { JsonObject, KubeObject } from '../api/object.ts';
import { watchEventJson } from '../codec/stored.ts';
import type { WatchEvent, WatchRequest, WatchStream } from '../keyspace/types.ts';
import type { RequestContext } from '../request/context.ts';
import { type ListOptions, parseListOptions } from '../request/list-options.ts';
import { endpoints, type Negotiated, negotiateWatch } from '../request/negotiate.ts';
import { badRequest, expired } from '../status/status.ts';
import { openAwaited } from './awaited-watch.ts';
import { definitionChange } from './definition-watch.ts';
import { encodedOnce } from './encoded-events.ts';
import { collectionPrefix, selectorOf, singleName } from './keys.ts';
import { canSplice, type Presenter, presenterOf, toObject } from './present.ts';
import type { Resource } from './resource.ts';

/** Milliseconds between bookmarks of a watch that asked for them, as upstream's watch cache sends them. */
const BOOKMARK_MS = 60_000;
/** A watch without timeoutSeconds ends after 30 to 60 minutes. */
const MIN_TIMEOUT_SECONDS = 1800;
/** Longest delay that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Milliseconds between questions how far a stream is that is about to end. */
const PROGRESS_MS = 50;
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

function watchStart({ resourceVersion, sendInitialEvents }: ListOptions): WatchRequest['start'] {
  if (resourceVersion && sendInitialEvents !== true) return { type: 'after', revision: resourceVersion };
  const consistency =
    resourceVersion === undefined
      ? ({ type: 'linearizable' } as const)
      : resourceVersion === 0
        ? ({ type: 'any' } as const)
        : ({ type: 'notOlderThan', revision: resourceVersion } as const);
  return { type: sendInitialEvents === false ? 'now' : 'initial', consistency };
}

/**
 * GET of a collection (or of one name on the deprecated paths) with `watch`: streams events until the client goes, the
 * timeout comes or history is gone, as chunked HTTP or as WebSocket messages when the client asks to upgrade.
 */
export async function serveWatch(ctx: RequestContext, resource: Resource, forceWatch = false): Promise<Response> {
  const form = negotiateWatch(
    ctx.request.headers.get('accept'),
    resource.custom ? endpoints.custom : endpoints.collection,
  );
  const presenter = presenterOf(ctx, resource, form);
  const options = parseListOptions(ctx.url.searchParams, resource, forceWatch);
  const selected = singleName(options.fields);
  if (forceWatch && ctx.info.name !== '' && selected !== undefined && selected !== ctx.info.name) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  const stopped = new AbortController();
  const signal = AbortSignal.any([ctx.request.signal, stopped.signal]);
  const start = watchStart(options);
  const name = selected ?? (forceWatch ? ctx.info.name : '');
  const prefix = collectionPrefix(resource, ctx.info.namespace, options.fields, name);
  const selector = selectorOf(options, prefix);
  const request: WatchRequest = { prefix, start, ...(selector && { selector }) };
  const open = () => ctx.keyspace.watch(request, signal);
  const stream = await (start.type === 'after' ? openAwaited(open) : open());
  const frames = new Frames(resource, form, presenter, options);
  const seconds = options.timeoutSeconds || MIN_TIMEOUT_SECONDS * (1 + Math.random());
  const counted = ctx.longRunning(resource);
  const pump = new Pump(stream, frames, seconds * 1000, () => {
    counted();
    stopped.abort();
  });
  // Not by way of the stream: what another request has woken goes on no more once this one is cut off.
  signal.addEventListener('abort', () => pump.stop(), { once: true });
  if (signal.aborted) pump.stop();
  if (resource.custom !== undefined) {
    definitionChange(ctx, resource, signal).then(
      (revision) => revision !== undefined && pump.endAt(revision),
      () => pump.stop(),
    );
  }
  return ctx.request.headers.get('upgrade')?.toLowerCase() === 'websocket'
    ? pump.toWebSocket(form.mediaType === 'application/json')
    : pump.toStream(form.contentType);
}

type Change = Extract<WatchEvent, { record: unknown }>;

/** Turns keyspace events into the client's frames and remembers up to which revision nothing is missing. */
class Frames {
  readonly #resource: Resource;
  readonly #presenter: Presenter;
  readonly #options: ListOptions;
  readonly #form: Negotiated;
  readonly #copies: boolean;
  #revision = 0;
  constructor(resource: Resource, form: Negotiated, presenter: Presenter, options: ListOptions) {
    this.#resource = resource;
    this.#presenter = presenter;
    this.#options = options;
    this.#form = form;
    this.#copies = form.mediaType === 'application/json' && form.as === undefined;
  }

  /** Up to which revision the client has everything. */
  get revision(): number {
    return this.#revision;
  }

  get wantsBookmarks(): boolean {
    return this.#options.allowWatchBookmarks;
  }

  /** The frame of an event; `undefined` for one that the client does not see. */
  of(event: WatchEvent): Uint8Array | undefined {
    switch (event.type) {
      case 'added':
      case 'modified':
      case 'deleted':
        return this.#change(event);
      case 'synced':
        this.#revision = Math.max(this.#revision, event.revision);
        return this.#options.sendInitialEvents === true ? this.bookmark({ [INITIAL_EVENTS_END]: 'true' }) : undefined;
      case 'progress':
        this.#revision = Math.max(this.#revision, event.revision);
        return undefined;
      case 'compacted': {
        const from = this.#options.resourceVersion ?? this.#revision;
        return this.#presenter.watchEvent(
          'ERROR',
          expired(`too old resource version: ${from} (${event.revision})`).status as unknown as KubeObject,
        );
      }
    }
  }

  #change(event: Change): Uint8Array {
    this.#revision = Math.max(this.#revision, event.record.modRevision);
    const { as, mediaType } = this.#form;
    if (as !== undefined) return this.#encoded(event);
    return encodedOnce(event, this.#resource, mediaType, () => this.#encoded(event));
  }

  #encoded({ type, record }: Change): Uint8Array {
    const name = type.toUpperCase();
    return this.#copies && canSplice(this.#resource, record)
      ? watchEventJson(name, record)
      : this.#presenter.watchEvent(name, toObject(this.#resource, record));
  }

  /** A bookmark at the last known revision; `undefined` when the client wants none or no revision is known yet. */
  bookmark(annotations?: Record<string, string>): Uint8Array | undefined {
    if (!this.wantsBookmarks || this.#revision === 0) return undefined;
    const metadata: JsonObject = { resourceVersion: String(this.#revision), ...(annotations ? { annotations } : {}) };
    return this.#presenter.watchEvent('BOOKMARK', {
      kind: this.#resource.kind,
      apiVersion: this.#resource.groupVersion,
      metadata,
    });
  }
}

/** Moves frames from a keyspace stream to the client, with back-pressure, bookmarks and a time limit. */
class Pump {
  readonly #stream: WatchStream;
  readonly #frames: Frames;
  readonly #timers: (ReturnType<typeof setTimeout> | ReturnType<typeof setInterval>)[] = [];
  readonly #end: () => void;
  #done = false;
  #last: number | undefined;
  constructor(stream: WatchStream, frames: Frames, timeoutMs: number, end: () => void) {
    this.#stream = stream;
    this.#frames = frames;
    this.#end = end;
    this.#timers.push(setTimeout(() => this.stop(), Math.min(timeoutMs, MAX_TIMER_MS)));
  }

  /** Ends the watch: no timer stays, the socket to the replica is closed. Idempotent. */
  stop(): void {
    if (this.#done) return;
    this.#done = true;
    for (const timer of this.#timers) clearTimeout(timer as ReturnType<typeof setTimeout>);
    this.#stream.close();
    this.#end();
  }

  /** Ends the watch once the client has everything up to a revision. */
  endAt(revision: number): void {
    this.#last = revision;
    this.#stream.progress();
  }

  /** Whether the last revision has been reached; asks again in a while how far the stream is where it has not. */
  #isOver(): boolean {
    if (this.#last === undefined) return false;
    if (this.#frames.revision >= this.#last) return true;
    this.#timers.push(setTimeout(() => this.#stream.progress(), PROGRESS_MS));
    return false;
  }

  /** Runs until the stream ends; `write` resolves when the client has taken the bytes. */
  async #run(write: (bytes: Uint8Array) => Promise<void> | void): Promise<void> {
    if (this.#frames.wantsBookmarks) {
      this.#timers.push(
        setInterval(() => {
          const bytes = this.#frames.bookmark();
          if (bytes !== undefined) Promise.resolve(write(bytes)).catch(() => this.stop());
        }, BOOKMARK_MS),
      );
    }
    try {
      for (let events = await this.#stream.next(); events !== undefined; events = await this.#stream.next()) {
        const parts = events.map((e) => this.#frames.of(e)).filter((f) => f !== undefined);
        if (parts.length > 0) await write(parts.length === 1 ? parts[0]! : concat(parts));
        if (this.#isOver()) break;
      }
    } catch {
      // The client or the replica is gone; a client resumes from its last revision.
    } finally {
      this.stop();
    }
  }

  toStream(contentType: string): Response {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    const finished = this.#run((bytes) => writer.write(bytes)).then(() => writer.close());
    finished.catch(() => undefined);
    return new Response(readable, {
      headers: { 'Content-Type': contentType, 'Cache-Control': 'no-cache, private, no-transform' },
    });
  }

  toWebSocket(text: boolean): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept();
    server.addEventListener('close', () => this.stop());
    server.addEventListener('error', () => this.stop());
    const decoder = new TextDecoder();
    const finished = this.#run((bytes) => {
      if (!text) return server.send(bytes);
      for (const line of decoder.decode(bytes).split('\n')) if (line !== '') server.send(line);
    }).then(() => server.close(1000));
    finished.catch(() => undefined);
    return new Response(null, { status: 101, webSocket: client });
  }
}

function concat(parts: Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.byteLength;
  }
  return out;
}
