import { setTimeout as sleep } from 'node:timers/promises';
import {
  answersAgree,
  type Change,
  checkLinearizable,
  checkWatch,
  exactlyOnce,
  listsShowOneState,
  revisionsRise,
  settleUnknown,
  Truth,
} from '../support/history/index.ts';
import type { ApiClient } from './client.ts';
import { type History, LABEL, PREFIX, revisionOf, writtenIn } from './history.ts';
import type { KeptWatch } from './watching.ts';

const SETTLE_MS = 20_000;

/** Everything that is wrong with a history, by what was checked. `from`: the revision before it began. */
export async function checkHistory(
  api: ApiClient,
  collection: string,
  history: History,
  from: number,
  kept: readonly KeptWatch[],
): Promise<[title: string, faults: string[]][]> {
  const last = await latest(api, collection);
  const truth = new Truth(await committed(api, collection, from, last));
  const { operations, lists, watches } = history;
  const known = new Map(truth.steps.map(({ revision, value }) => [revision, value]));
  const verdict = checkLinearizable(settleUnknown(operations, truth), known);
  const linearizable = verdict.ok
    ? []
    : [`${verdict.reason}: ${verdict.key}`, ...verdict.stuck.map((operation) => JSON.stringify(operation))];
  // These were open to the end, so they must come to see everything; the others were closed by their clients.
  for (const deadline = Date.now() + SETTLE_MS; Date.now() < deadline; await sleep(100)) {
    if (kept.every((watch) => checkWatch(watch, truth, last).length === 0)) break;
  }
  return [
    [`${operations.length} answers are linearizable`, linearizable],
    ['revisions rise in real time', revisionsRise(operations)],
    ['every acknowledged write is in the history once, every other at most once', exactlyOnce(operations, truth)],
    ['what was shown at a revision was committed at it', answersAgree(operations, truth)],
    [
      `${lists.length} lists show one state each, none of them a stale one`,
      listsShowOneState(lists, operations, truth),
    ],
    [
      `${watches.length} watches keep every guarantee (resumed ${resumed(watches as KeptWatch[])} times)`,
      watches.flatMap((watch) => checkWatch(watch, truth, kept.includes(watch as KeptWatch) ? last : undefined)),
    ],
  ];
}

const resumed = (watches: readonly KeptWatch[]) => watches.reduce((sum, watch) => sum + watch.resumed, 0);

async function latest(api: ApiClient, collection: string): Promise<number> {
  const { status, body } = await api.call('GET', collection);
  if (status !== 200) throw new Error(`list: ${status} ${body.slice(0, 300)}`);
  return Number((JSON.parse(body) as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
}

/** What was committed above a revision, by a watch of its own on a cluster at rest, whose end a bookmark tells. */
async function committed(api: ApiClient, collection: string, from: number, last: number): Promise<Change[]> {
  const changes: Change[] = [];
  const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion=${from}`;
  for await (const { type, object } of api.watch(`${collection}?${query}`, AbortSignal.timeout(60_000))) {
    const revision = revisionOf(object);
    if (type === 'ERROR') throw new Error(`the watch from the start: ${JSON.stringify(object)}`);
    if (type === 'BOOKMARK' || revision > last) continue;
    const labels = { [LABEL]: object.metadata.labels?.[LABEL] ?? '' };
    const change = { revision, key: PREFIX + object.metadata.name, labels, batch: revision };
    if (type === 'DELETED') changes.push({ ...change, type: 'delete', value: '' });
    else changes.push({ ...change, type: 'put', value: writtenIn(object) });
  }
  return changes;
}
