import type { Actor, World } from './world.ts';

type Listener = (event: { data?: unknown; code?: number; reason?: string }) => void;

/** Where what an end sends goes: set when the socket is connected. */
export interface Wire {
  world: World;
  /** Whose code listens at this end. */
  actor(): Actor | undefined;
  /** Runs once everything that this end's side wrote before is durable. */
  gate(run: () => void): void;
  /** Milliseconds that a message from here takes now; undefined: it is lost, and the socket with it. */
  transit(): number | undefined;
  receive(data: ArrayBuffer | string): void;
  closed(code: number, reason: string): void;
}

/** One end of a WebSocket. Messages come in order, or the socket breaks. */
export class SocketEnd {
  other!: SocketEnd;
  wire: Wire | undefined;
  binaryType = 'blob';
  closed = false;
  /** The end has been told that the socket is closed: nothing more comes. */
  over = false;
  #attachment: unknown = null;
  #arrival = 0;
  /** Something from here was lost: nothing after it may arrive. */
  #broken = false;
  readonly #listeners = new Map<string, Listener[]>();

  accept(): void {}

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  dispatch(type: string, event: Parameters<Listener>[0]): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event);
  }

  send(data: Uint8Array | string): void {
    if (this.closed) throw new TypeError('the socket is closed');
    const copy = typeof data === 'string' ? data : (data.slice().buffer as ArrayBuffer);
    this.wire?.gate(() => this.#travel((other) => other.wire?.receive(copy)));
  }

  close(code = 1005, reason = ''): void {
    if (this.closed) return;
    this.closed = true;
    this.wire?.gate(() => {
      this.#travel((other) => {
        if (other.closed) return;
        other.closed = true;
        other.over = true;
        other.wire?.closed(code, reason);
      });
    });
  }

  #travel(arrive: (other: SocketEnd) => void): void {
    const { wire, other } = this;
    if (wire === undefined || this.#broken) return;
    const ms = wire.transit();
    if (ms === undefined) {
      this.#broken = true;
      breakSocket(this);
      return;
    }
    this.#arrival = Math.max(this.#arrival, wire.world.now + ms);
    wire.world.after(this.#arrival - wire.world.now, undefined, () => {
      const actor = other.wire?.actor();
      if (actor?.alive === false) return;
      wire.world.after(0, actor, () => {
        if (!other.over) arrive(other);
      });
    });
  }

  serializeAttachment(value: unknown): void {
    this.#attachment = structuredClone(value);
  }

  deserializeAttachment(): unknown {
    return this.#attachment;
  }
}

/** The connection is lost: both ends learn it, each in its time. */
export function breakSocket(end: SocketEnd): void {
  for (const side of [end, end.other]) {
    const { wire } = side;
    if (wire === undefined || side.closed) continue;
    const delay = wire.world.between(0, 200);
    wire.world.after(delay, undefined, () => {
      side.over = true;
      if (side.closed) return;
      side.closed = true;
      wire.world.after(0, wire.actor(), () => wire.closed(1006, ''));
    });
  }
}
