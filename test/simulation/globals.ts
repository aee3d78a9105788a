import { SocketEnd } from './sockets.ts';
import { Actor, type Timer, type World } from './world.ts';

let world: World | undefined;

/** The world whose time and chance the replaced globals follow. */
export function enter(next: World): void {
  world = next;
}

function present(): World {
  if (world === undefined) throw new Error('no simulation runs');
  return world;
}

/** What runs when nobody's code does: timers of the harness belong to it. */
const harness = new Actor('harness');

/** A timer of the present actor. */
function startTimer(run: () => void, ms = 0): Timer {
  const here = present();
  const actor = here.current ?? harness;
  actor.timers++;
  const timer: Timer = here.after(ms + here.between(0, 1), actor, () => {
    actor.timers--;
    timer.cancelled = true;
    run();
  });
  return timer;
}

function stopTimer(timer: Timer | undefined): void {
  if (timer === undefined || timer.cancelled) return;
  timer.cancelled = true;
  if (timer.actor !== undefined) timer.actor.timers--;
}

function startInterval(run: () => void, ms: number): Timer {
  const handle = { cancelled: false } as Timer;
  const again = () => {
    const inner = startTimer(() => {
      if (handle.cancelled) return;
      run();
      again();
    }, ms);
    handle.actor = inner.actor;
  };
  again();
  return handle;
}

/** An answer of a `fetch`, as plain as the code under test uses it. */
class PlainResponse {
  readonly status: number;
  readonly webSocket: unknown;
  readonly #body: unknown;

  constructor(body: unknown, init: { status?: number; webSocket?: unknown } = {}) {
    this.#body = body;
    this.status = init.status ?? 200;
    this.webSocket = init.webSocket ?? null;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    if (this.#body === null || this.#body === undefined) return new ArrayBuffer(0);
    const bytes = typeof this.#body === 'string' ? new TextEncoder().encode(this.#body) : (this.#body as Uint8Array);
    return bytes.slice().buffer as ArrayBuffer;
  }
}

/** Two ends of one socket. */
class WebSocketPair {
  readonly 0: SocketEnd;
  readonly 1: SocketEnd;

  constructor() {
    this[0] = new SocketEnd();
    this[1] = new SocketEnd();
    this[0].other = this[1];
    this[1].other = this[0];
  }
}

function randomBytes<T extends Uint8Array>(bytes: T): T {
  for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(present().random() * 256);
  return bytes;
}

/** Puts the simulation's time, chance and runtime in the place of this thread's. */
export function replaceGlobals(): void {
  const replacements = {
    setTimeout: startTimer,
    clearTimeout: stopTimer,
    setInterval: startInterval,
    clearInterval: (timer: Timer | undefined) => {
      if (timer !== undefined) timer.cancelled = true;
    },
    scheduler: { wait: (ms: number) => new Promise<void>((resolve) => startTimer(resolve, ms)) },
    crypto: {
      getRandomValues: randomBytes,
      randomUUID: () => Array.from(randomBytes(new Uint8Array(16)), (byte) => byte.toString(16)).join(''),
    },
    Response: PlainResponse,
    WebSocketPair,
    WebSocketRequestResponsePair: class {},
  };
  for (const [name, value] of Object.entries(replacements)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  // A replica reports here why it starts anew: only the simulation's own faults are a reason.
  console.error = (error: unknown) => present().reported(error);
  Date.now = () => present().clock();
  Math.random = () => present().random();
}
