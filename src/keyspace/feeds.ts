import { type Budget, Feed, type FeedSurroundings, type Interest } from './feed.ts';
import type { Revision, Selector } from './types.ts';

/** How many watches of single keys of one collection are worth a feed of the whole collection. */
const SINGLE_KEYS = 8;

/** The feeds of one shard in this isolate. */
export class Feeds {
  readonly #feeds = new Map<string, Feed>();
  readonly #budget: Budget = { bytes: 0 };
  /** How many feeds there are of single keys, by collection. */
  readonly #singleKeys = new Map<string, number>();

  get size(): number {
    return this.#feeds.size;
  }

  /** The feed that brings what a watch wants, if there is one. */
  find({ prefix, selector }: Interest): Feed | undefined {
    const own = this.#feeds.get(nameOf(prefix, selector));
    return own ?? (selector === undefined && isKey(prefix) ? this.#feeds.get(nameOf(collectionOf(prefix))) : undefined);
  }

  /**
   * Begins a feed for those who have everything up to a revision; {@link find} found none. It is of a whole collection
   * where many watches of single keys would have one each.
   */
  begin({ prefix, selector }: Interest, position: Revision, surroundings: FeedSurroundings): Feed {
    const collection = collectionOf(prefix);
    const single = selector === undefined && isKey(prefix) ? (this.#singleKeys.get(collection) ?? 0) + 1 : 0;
    const interest = single > SINGLE_KEYS ? { prefix: collection } : { prefix, ...(selector && { selector }) };
    const counted = single > 0 && single <= SINGLE_KEYS;
    const name = nameOf(interest.prefix, selector);
    const feed = new Feed(interest, position, surroundings, this.#budget, () => {
      this.#feeds.delete(name);
      if (counted) this.#count(collection, -1);
    });
    this.#feeds.set(name, feed);
    if (counted) this.#count(collection, 1);
    return feed;
  }

  #count(collection: string, change: number): void {
    const count = (this.#singleKeys.get(collection) ?? 0) + change;
    if (count > 0) this.#singleKeys.set(collection, count);
    else this.#singleKeys.delete(collection);
  }
}

const isKey = (prefix: string): boolean => !prefix.endsWith('/');
const collectionOf = (key: string): string => key.slice(0, key.lastIndexOf('/') + 1);
const nameOf = (prefix: string, selector?: Selector): string =>
  selector === undefined ? prefix : `${prefix} ${JSON.stringify(selector)}`;
