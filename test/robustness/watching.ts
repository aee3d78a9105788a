import { setTimeout as sleep } from 'node:timers/promises';
import type { Sight, Watch } from '../support/history/index.ts';
import type { ApiClient, ApiObject } from './client.ts';
import { type History, LABEL, PREFIX, revisionOf, writtenIn } from './history.ts';
import type { Random } from './random.ts';
import { HALVES } from './workload.ts';

const TYPES: Readonly<Record<string, 'added' | 'modified' | 'deleted'>> = {
  ADDED: 'added',
  MODIFIED: 'modified',
  DELETED: 'deleted',
};
const INITIAL_END = 'k8s.io/initial-events-end';

/** A watch as a client keeps it up: opened again at the last revision that it was shown, whenever it ends or breaks. */
export class KeptWatch implements Watch {
  readonly name: string;
  readonly prefix: string;
  readonly label?: readonly [string, string];
  readonly start: Watch['start'];
  readonly seen: Sight[] = [];
  /** How often it had to be opened anew. */
  resumed = 0;
  /** What the server answered instead of a watch that none of these requests must get. */
  readonly faults: string[] = [];
  readonly #api: ApiClient;
  readonly #collection: string;
  #cursor: number | undefined;

  constructor(api: ApiClient, collection: string, wanted: Pick<Watch, 'name' | 'prefix' | 'label' | 'start'>) {
    this.#api = api;
    this.#collection = collection;
    this.name = wanted.name;
    this.prefix = wanted.prefix;
    if (wanted.label !== undefined) this.label = wanted.label;
    this.start = wanted.start;
    if (wanted.start.type === 'after') this.#cursor = wanted.start.revision;
  }

  /** Follows until stopped. */
  async run(timeoutSeconds: number, stop: AbortSignal): Promise<void> {
    for (; !stop.aborted; this.resumed++) {
      // An initial state that was cut off is asked for anew.
      if (this.#cursor === undefined) this.seen.length = 0;
      try {
        for await (const { type, object } of this.#api.watch(this.#path(timeoutSeconds), stop))
          this.#take(type, object);
      } catch {
        // The connection broke: it goes on where it stands.
      }
      if (this.seen.at(-1)?.type === 'compacted' || this.faults.length > 0) return;
      if (!stop.aborted) await sleep(20);
    }
  }

  #path(timeoutSeconds: number): string {
    const query = new URLSearchParams({
      watch: '1',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(timeoutSeconds),
    });
    if (this.#cursor !== undefined) query.set('resourceVersion', String(this.#cursor));
    else {
      query.set('sendInitialEvents', 'true');
      query.set('resourceVersionMatch', 'NotOlderThan');
    }
    if (this.label !== undefined) query.set('labelSelector', this.label.join('='));
    if (!this.prefix.endsWith('/')) query.set('fieldSelector', `metadata.name=${this.prefix.slice(PREFIX.length)}`);
    return `${this.#collection}?${query}`;
  }

  #take(type: string, object: ApiObject): void {
    if (type === 'ERROR' && object.code === 410) {
      this.seen.push({ type: 'compacted', revision: 0 });
      return;
    }
    if (type === 'BOOKMARK') this.#bookmark(object);
    else if (TYPES[type] !== undefined) {
      const revision = revisionOf(object);
      this.seen.push({ type: TYPES[type], key: PREFIX + object.metadata.name, revision, value: writtenIn(object) });
      if (this.#cursor !== undefined) this.#cursor = revision;
    } else if (type !== undefined) this.faults.push(`${this.name}: ${type} ${JSON.stringify(object).slice(0, 300)}`);
  }

  #bookmark(object: ApiObject): void {
    const revision = revisionOf(object);
    const synced = object.metadata.annotations?.[INITIAL_END] === 'true';
    this.seen.push({ type: synced ? 'synced' : 'bookmark', revision });
    this.#cursor = revision;
  }
}

/** A client that watches one thing after another, at random, for a while each; the last one is kept until stopped. */
export async function watchAtRandom(
  client: string,
  api: ApiClient,
  collection: string,
  history: History,
  recent: () => { revision: number; name: string },
  random: Random,
  stop: AbortSignal,
): Promise<void> {
  for (let n = 0; !stop.aborted; n++) {
    const { revision, name } = recent();
    const prefix = random.below(4) === 0 ? PREFIX + name : PREFIX;
    const watch = new KeptWatch(api, collection, {
      name: `${client}.${n}`,
      prefix,
      ...(random.below(3) === 0 ? { label: [LABEL, random.pick(HALVES)] as const } : {}),
      start: random.below(2) === 0 ? { type: 'initial' } : { type: 'after', revision },
    });
    history.watches.push(watch);
    const enough = AbortSignal.any([stop, AbortSignal.timeout(2_000 + random.below(15_000))]);
    await watch.run(2 + random.below(20), enough);
  }
}
