import { performance } from 'node:perf_hooks';
import type { Listing, Operation, Outcome, Request, Watch } from '../support/history/index.ts';
import type { ApiObject } from './client.ts';

/** Below which every key of the history lies; what follows is the name of the ConfigMap. */
export const PREFIX = 'configmaps/';
/** Label that selective lists and watches look at. */
export const LABEL = 'half';

/** The value that a write gave an object: no other write gives it. */
export const writtenIn = (object: ApiObject): string => object.data?.value ?? '';
export const revisionOf = (object: ApiObject): number => Number(object.metadata.resourceVersion);
export const shownOf = (object: ApiObject) => ({ value: writtenIn(object), revision: revisionOf(object) });

/** What all clients of a run did and saw, on one clock. */
export class History {
  readonly operations: Operation[] = [];
  readonly lists: Listing[] = [];
  readonly watches: Watch[] = [];
  #values = 0;

  now(): number {
    return performance.now();
  }

  /** A value that nobody has written yet. */
  value(): string {
    return `v${++this.#values}`;
  }

  /** Records one request; `undefined` as outcome for one that certainly did and showed nothing. */
  add(client: string, name: string, start: number, request: Request, outcome: Outcome | undefined): void {
    if (outcome === undefined) return;
    const end = outcome.type === 'unknown' ? Number.POSITIVE_INFINITY : this.now();
    this.operations.push({ client, key: PREFIX + name, start, end, request, outcome });
  }

  /** How many operations of each kind had each outcome. */
  tally(): string {
    const counts = new Map<string, number>();
    for (const { request, outcome } of this.operations) {
      const condition = 'condition' in request && request.condition ? ` ${request.condition.type}` : '';
      const kind = `${request.type}${condition} ${outcome.type}`;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    return [...counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([kind, count]) => `${kind} ${count}`)
      .join(', ');
  }
}
