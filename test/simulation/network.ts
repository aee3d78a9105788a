import type { Actor, World } from './world.ts';

/** Chances of what may befall one message, set by the adversary. */
export interface Weather {
  loss: number;
  duplication: number;
  /** Chance of a long delay. */
  delay: number;
  /** Milliseconds that a message takes at least, and on average on top. */
  base: number;
  spread: number;
}

/** An end of the network: a client, or a replica's object through all its lives. */
export interface Place {
  readonly name: string;
  /** Whose code runs there now. */
  actor(): Actor | undefined;
  /** Runs once what the present code there wrote is durable. */
  gate(run: () => void): void;
}

/** A place that answers. */
export interface Server extends Place {
  /** Serves a call; `reply` may be called later, or never if the code there dies. */
  serve(operation: string, body: Uint8Array, reply: Reply): void;
}

export interface Reply {
  answer(body: Uint8Array): void;
  refuse(error: Error): void;
}

/** The network between all: calls are not ordered, each way may be lost by itself. */
export class Network {
  readonly weather: Weather = { loss: 0, duplication: 0, delay: 0, base: 0.2, spread: 0.5 };
  /** Directed links that carry nothing, `from>to`. */
  readonly cut = new Set<string>();
  readonly #world: World;
  #sent = 0;
  readonly #newest = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Milliseconds that a message takes on a link now; undefined: it is lost. */
  transit(from: Place, to: Place): number | undefined {
    const world = this.#world;
    const link = `${from.name}>${to.name}`;
    if (this.cut.has(link)) {
      world.count('fault: message lost in a partition');
      return undefined;
    }
    const { loss, delay, base, spread } = this.weather;
    if (world.chance(loss)) {
      world.count('fault: message lost');
      return undefined;
    }
    const usual = base - spread * Math.log(1 - world.random());
    if (!world.chance(delay)) return usual;
    world.count('fault: message delayed');
    return usual + world.between(50, 3_000);
  }

  /** Calls an operation of a server; rejects when the connection breaks. An answer may never come. */
  call(from: Place, to: Server, operation: string, body: Uint8Array): Promise<Uint8Array> {
    const caller = from.actor();
    return new Promise((resolve, reject) => {
      let settled = false;
      const settle = (run: () => void) => {
        this.#world.after(0, caller, () => {
          if (!settled) run();
          settled = true;
        });
      };
      const reply: Reply = {
        answer: (answer) =>
          this.#back(
            from,
            to,
            () => settle(() => resolve(answer)),
            () => settle(() => reject(LOST())),
          ),
        refuse: (error) =>
          this.#back(
            from,
            to,
            () => settle(() => reject(error)),
            () => undefined,
          ),
      };
      from.gate(() => this.#there(from, to, operation, body, reply, () => settle(() => reject(LOST()))));
    });
  }

  #there(from: Place, to: Server, operation: string, body: Uint8Array, reply: Reply, lost: () => void): void {
    const world = this.#world;
    const copies = world.chance(this.weather.duplication) ? 2 : 1;
    if (copies === 2) world.count('fault: message duplicated');
    for (let copy = 0; copy < copies; copy++) {
      const ms = this.transit(from, to);
      const number = ++this.#sent;
      if (ms !== undefined) {
        world.after(ms, undefined, () => {
          this.#noteOrder(`${from.name}>${to.name}`, number);
          to.serve(operation, body, reply);
        });
      } else if (copies === 1) this.#maybeNotice(lost);
    }
  }

  #back(from: Place, to: Place, arrive: () => void, lost: () => void): void {
    const ms = this.transit(to, from);
    if (ms === undefined) this.#maybeNotice(lost);
    else this.#world.after(ms, undefined, arrive);
  }

  /** A lost message is sometimes noticed by a broken connection, and sometimes only by its timeout. */
  #maybeNotice(lost: () => void): void {
    if (this.#world.chance(0.5)) this.#world.after(this.#world.between(1, 500), undefined, lost);
  }

  #noteOrder(link: string, number: number): void {
    const newest = this.#newest.get(link) ?? 0;
    if (number < newest) this.#world.count('fault: message overtaken');
    else this.#newest.set(link, number);
  }
}

const LOST = () => new Error('connection lost');
