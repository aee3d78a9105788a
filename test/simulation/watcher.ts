import type { WatchEvent, WatchStream } from '../../src/keyspace/types.ts';
import type { Sight, Watch } from '../support/history/index.ts';
import { asked, type SimulatedClient } from './client.ts';

/** One watch of a client and all that it was shown. */
export class Watching {
  readonly seen: Sight[] = [];
  readonly #client: SimulatedClient;
  readonly #name: string;
  readonly #prefix: string;
  readonly #color: string | undefined;
  readonly #from: number | undefined;
  readonly #slow: boolean;
  #stream: WatchStream | undefined;
  /** Whether nothing more can come: its history is gone. */
  over = false;
  /** All up to here has been shown. */
  through = 0;

  /** `from` undefined: the state first. `slow`: the reader takes its time. */
  constructor(
    client: SimulatedClient,
    name: string,
    prefix: string,
    color: string | undefined,
    from: number | undefined,
    slow: boolean,
  ) {
    this.#client = client;
    this.#name = name;
    this.#prefix = prefix;
    this.#color = color;
    this.#from = from;
    this.#slow = slow;
  }

  get record(): Watch {
    const start =
      this.#from === undefined ? { type: 'initial' as const } : { type: 'after' as const, revision: this.#from };
    const base = { name: this.#name, prefix: this.#prefix, start, seen: this.seen };
    return this.#color === undefined ? base : { ...base, label: ['color', this.#color] };
  }

  start(): void {
    const { world } = this.#client;
    world.after(0, this.#client.actor(), () => {
      this.#follow().catch((error) => world.fail(error));
    });
  }

  /** Asks to be told how far it is complete. */
  progress(): void {
    const { world } = this.#client;
    world.after(0, this.#client.actor(), () => this.#stream?.progress());
  }

  async #follow(): Promise<void> {
    const { world, keyspace } = this.#client;
    const request = {
      ...asked(this.#prefix, this.#color),
      start:
        this.#from === undefined
          ? { type: 'initial' as const, consistency: { type: 'linearizable' as const } }
          : { type: 'after' as const, revision: this.#from },
    };
    while (!this.over && this.#stream === undefined) {
      this.#stream = await keyspace.watch(request, new AbortController().signal).catch(() => undefined);
    }
    for (;;) {
      const events = await this.#stream?.next();
      if (events === undefined) break;
      for (const event of events) this.#see(event);
      if (this.#slow)
        await new Promise((resolve) =>
          world.after(world.between(0, 2_000), this.#client.actor(), () => resolve(undefined)),
        );
    }
    // A watch that could find no replica for a long time ends; its user would list again.
    this.over = true;
  }

  #see(event: WatchEvent): void {
    this.#client.world.tell(() => {
      const what = 'record' in event ? `${event.record.key}@${event.record.modRevision}` : event.revision;
      return `watch ${this.#name}: ${event.type} ${what}`;
    });
    if ('record' in event) {
      const { key, modRevision: revision, value } = event.record;
      this.seen.push({ type: event.type, key, revision, value: new TextDecoder().decode(value) });
      return;
    }
    const { type, revision } = event;
    this.seen.push(type === 'progress' ? { type: 'bookmark', revision } : { type, revision });
    if (type === 'compacted') this.over = true;
    else this.through = Math.max(this.through, revision);
  }
}
