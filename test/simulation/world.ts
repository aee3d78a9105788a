import v8 from 'node:v8';
import { seededRandom } from '../raft/support/random.ts';

/** Milliseconds since 1970 at which every simulation begins. */
const EPOCH = 1_700_000_000_000;

/** Somebody whose code runs: a client, or one life of a replica. What is scheduled for it dies with it. */
export class Actor {
  readonly name: string;
  alive = true;
  /** Milliseconds by which its clock is ahead. */
  skew = 0;
  /** Until when (in simulated time) it stands still, as a process that gets no processor. */
  stalledUntil = 0;
  /** Timers that run. */
  timers = 0;

  constructor(name: string) {
    this.name = name;
  }
}

export interface Timer {
  actor: Actor | undefined;
  run: () => void;
  cancelled: boolean;
  time: number;
  order: number;
}

/** A broken promise of the system under test, or of its surroundings. */
export class Violation extends Error {}

/** Runs all promise jobs that are due. V8 offers it to programs under a flag only. */
const drainMicrotasks = (() => {
  v8.setFlagsFromString('--allow-natives-syntax');
  const drain = new Function('%PerformMicrotaskCheckpoint()') as () => void;
  drain();
  v8.setFlagsFromString('--no-allow-natives-syntax');
  return drain;
})();

/**
 * The one source of order, time and chance: a queue of events. Between two events all promise jobs run, so that the
 * whole run is a function of the seed.
 */
export class World {
  readonly random: () => number;
  /** Simulated milliseconds since the beginning. */
  now = 0;
  events = 0;
  /** Whose code runs. */
  current: Actor | undefined;
  readonly counts = new Map<string, number>();
  /** Called after each event with whose it was. */
  afterEvent: (actor: Actor | undefined) => void = () => undefined;
  /** Called with what the code under test reports as broken. */
  reported: (error: unknown) => void = (error) => this.fail(error);
  readonly story: string[] | undefined;
  #queue: Timer[] = [];
  #order = 0;
  #failure: unknown;

  constructor(seed: number, tellStory: boolean) {
    this.random = seededRandom(seed);
    for (let i = 0; i < 5; i++) this.random();
    this.story = tellStory ? [] : undefined;
  }

  /** The clock that the present actor sees. */
  clock(): number {
    return Math.floor(EPOCH + this.now + (this.current?.skew ?? 0));
  }

  /** Schedules an event; `actor` undefined: of the surroundings. */
  after(ms: number, actor: Actor | undefined, run: () => void): Timer {
    const timer = { actor, run, cancelled: false, time: this.now + Math.max(0, ms), order: this.#order++ };
    push(this.#queue, timer);
    return timer;
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  between(low: number, high: number): number {
    return low + this.random() * (high - low);
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)]!;
  }

  /** Counts something for the report. */
  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** Adds a line to the story, if one is wanted. */
  tell(line: () => string): void {
    if (this.story === undefined) return;
    this.story.push(`${this.now.toFixed(2).padStart(10)} ${line()}`);
  }

  /** Ends the run: something that must hold does not. */
  fail(error: unknown): void {
    this.#failure ??= error;
    this.tell(() => `FAILURE ${String(error)}`);
  }

  /** Runs events until `done`, nothing is left, or the simulated time is over. Throws what failed. */
  run(done: () => boolean, until = Number.POSITIVE_INFINITY): void {
    while (this.#failure === undefined && !done()) {
      const next = this.#queue[0];
      if (next === undefined || next.time > until) return;
      pop(this.#queue);
      this.#play(next);
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  #play(event: Timer): void {
    const { actor } = event;
    if (event.cancelled || actor?.alive === false) return;
    this.now = Math.max(this.now, event.time);
    if (actor !== undefined && actor.stalledUntil > this.now) {
      event.time = actor.stalledUntil;
      event.order = this.#order++;
      push(this.#queue, event);
      return;
    }
    this.events++;
    this.current = actor;
    try {
      event.run();
      drainMicrotasks();
    } catch (error) {
      this.reported(error);
    }
    this.current = undefined;
    this.afterEvent(actor);
  }
}

function before(a: Timer, b: Timer): boolean {
  return a.time < b.time || (a.time === b.time && a.order < b.order);
}

function push(heap: Timer[], item: Timer): void {
  let at = heap.length;
  heap.push(item);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!before(item, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = item;
}

function pop(heap: Timer[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
    if (!before(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
}
