import { STATUSES } from '../../src/protocol/messages.ts';
import {
  decodeControl,
  decodeSpec,
  encodeFrame,
  PING,
  PONG,
  WATCH_CLOSE,
  WATCH_WINDOW,
  type WatchSpec,
} from '../../src/protocol/watch.ts';
import type { Cursor, Hub, HubSink, WatcherState } from '../keyspace/watch.ts';
import type { Driver } from './driver.ts';
import { Refusal } from './refusal.ts';
import { blob, firstRow, type Sql } from './sql.ts';

/** What of a watch survives the replica's sleep, in its socket's attachment (at most 16 KiB). */
interface Attachment {
  id: string;
  /** Absent: kept in SQL. */
  spec?: Uint8Array;
  cursor: Cursor;
  credit: number;
}

/** Longest spec that goes into the attachment. */
const MAX_ATTACHED_SPEC = 12 << 10;
const GOING_AWAY = 1012;
/** Least time between two frames of a live watch: under load, events share the cost of a message. */
const FRAME_MS = 5;

/** The watch sockets of a replica: accepted for hibernation, known to the hub by an id. */
export class WatchSockets implements HubSink {
  readonly #ctx: DurableObjectState;
  readonly #sql: Sql;
  readonly #sockets = new Map<string, WebSocket>();
  readonly #ids = new Map<WebSocket, string>();
  readonly #specs = new Map<string, Uint8Array>();
  #driver: Driver | undefined;
  #pumpAt = 0;
  #pumps = 0;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
    this.#sql = ctx.storage.sql;
  }

  /** Timers that run for the hub. */
  get timers(): number {
    return this.#pumps;
  }

  /** Binds the driver and takes up the sockets that outlived a sleep. */
  start(driver: Driver): void {
    this.#driver = driver;
    for (const socket of this.#ctx.getWebSockets()) {
      const attachment = socket.deserializeAttachment() as Attachment | null;
      if (attachment !== null) this.#restore(driver.hub, socket, attachment);
    }
  }

  /** Answers an upgrade request. */
  accept(): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
    this.#ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  /**
   * The first message of a socket is its spec, the others are control messages. A replica that sleeps already is not told
   * to keep its cursors again before it is evicted, so what moved is kept at once.
   */
  async message(socket: WebSocket, data: ArrayBuffer | string): Promise<void> {
    const driver = this.#driver;
    if (typeof data === 'string' || driver === undefined) return;
    const id = this.#ids.get(socket);
    if (id === undefined) await this.#open(driver, socket, new Uint8Array(data));
    else {
      const control = decodeControl(new Uint8Array(data));
      if (control.type === 'credit') driver.hub.credit(id, control.bytes);
      else driver.hub.progress(id);
    }
    const moved = this.#ids.get(socket);
    if (moved !== undefined && driver.asleep) this.#save(moved);
  }

  /** Forgets a socket that is gone. */
  gone(socket: WebSocket): void {
    const id = this.#ids.get(socket) ?? (socket.deserializeAttachment() as Attachment | null)?.id;
    if (id === undefined) return;
    this.#driver?.hub.close(id);
    this.#drop(id, socket);
  }

  send(id: string, frame: Uint8Array): void {
    try {
      this.#sockets.get(id)?.send(frame);
    } catch {
      // A socket that is closing: its close event follows and takes it out of the hub.
    }
  }

  end(id: string): void {
    this.#close(id, 1000, '');
  }

  wake(): void {
    const now = Date.now();
    this.#pumpAt = Math.max(now, this.#pumpAt + FRAME_MS);
    this.#pumps++;
    setTimeout(() => this.#pump(), this.#pumpAt - now);
  }

  /** Keeps every cursor, so that the watches go on after a sleep. */
  save(): void {
    for (const watcher of this.#driver?.hub.cursors() ?? []) this.#attach(watcher);
  }

  #save(id: string): void {
    const watcher = this.#driver?.hub.cursor(id);
    if (watcher !== undefined) this.#attach(watcher);
  }

  #attach({ id, cursor, credit }: WatcherState): void {
    const spec = this.#specs.get(id);
    const attached = spec !== undefined && spec.length <= MAX_ATTACHED_SPEC ? { spec } : {};
    this.#sockets.get(id)?.serializeAttachment({ id, cursor, credit, ...attached } satisfies Attachment);
  }

  #pump(): void {
    this.#pumps--;
    this.#driver?.hub.pump();
    if (this.#driver?.asleep) this.save();
  }

  /** Ends every watch so that its Worker goes on elsewhere. */
  dismiss(): void {
    for (const id of [...this.#sockets.keys()]) {
      this.#driver?.hub.close(id);
      this.#close(id, GOING_AWAY, 'no leader');
    }
  }

  async #open(driver: Driver, socket: WebSocket, bytes: Uint8Array): Promise<void> {
    const id = crypto.randomUUID();
    this.#ids.set(socket, id);
    this.#sockets.set(id, socket);
    try {
      const spec = decodeSpec(bytes);
      const cursor = await startOf(driver, spec);
      if (!this.#sockets.has(id)) return;
      this.#keepSpec(id, bytes);
      socket.serializeAttachment({
        id,
        cursor,
        credit: WATCH_WINDOW,
        spec: bytes.length <= MAX_ATTACHED_SPEC ? bytes : undefined,
      });
      socket.send(encodeFrame('started', cursor.revision));
      driver.hub.open(id, spec.prefix, spec.selector, cursor);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal('unavailable');
      this.#close(id, WATCH_CLOSE + STATUSES.indexOf(refusal.status), String(refusal.revision));
    }
  }

  #keepSpec(id: string, bytes: Uint8Array): void {
    this.#specs.set(id, bytes);
    if (bytes.length > MAX_ATTACHED_SPEC) this.#sql.exec('INSERT INTO watches (id, spec) VALUES (?, ?)', id, bytes);
  }

  #restore(hub: Hub, socket: WebSocket, attachment: Attachment): void {
    const { id, cursor, credit } = attachment;
    const stored = attachment.spec ?? firstRow(this.#sql, 'SELECT spec FROM watches WHERE id = ?', id)?.[0];
    if (stored === undefined || cursor.revision > this.#driver!.state.scalars.revision) {
      socket.close(GOING_AWAY, 'watch is lost');
      return;
    }
    const bytes = blob(stored);
    const spec = decodeSpec(bytes);
    this.#ids.set(socket, id);
    this.#sockets.set(id, socket);
    this.#specs.set(id, bytes);
    hub.open(id, spec.prefix, spec.selector, cursor, credit);
  }

  #close(id: string, code: number, reason: string): void {
    const socket = this.#sockets.get(id);
    if (socket === undefined) return;
    this.#drop(id, socket);
    try {
      socket.close(code, reason);
    } catch {
      // Closed by the other side already.
    }
  }

  #drop(id: string, socket: WebSocket): void {
    this.#sockets.delete(id);
    this.#ids.delete(socket);
    const spec = this.#specs.get(id);
    this.#specs.delete(id);
    if (spec !== undefined && spec.length <= MAX_ATTACHED_SPEC) return;
    try {
      this.#sql.exec('DELETE FROM watches WHERE id = ?', id);
    } catch {
      // A failing disk, often the very reason why all watches end: the others must end all the same.
    }
  }
}

/** Where a watch begins, once the replica is as fresh as it must be. */
async function startOf(driver: Driver, { start }: WatchSpec): Promise<Cursor> {
  const resumed = start.type === 'after' || start.type === 'state';
  await driver.reading.readable(resumed ? { type: 'linearizable' } : start.consistency, 0);
  if (resumed) await driver.reading.reached(start.revision);
  const { revision } = driver.state.scalars;
  if (start.type === 'after') return { phase: 'events', revision: start.revision };
  if (start.type === 'state') return { phase: 'state', revision: start.revision, after: start.after };
  return start.type === 'initial' ? { phase: 'state', revision, after: '' } : { phase: 'events', revision };
}
