import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Precondition, Request } from '../support/history/index.ts';
import type { Answer, ApiClient, ApiObject } from './client.ts';
import { type History, LABEL, PREFIX, revisionOf, shownOf } from './history.ts';
import type { Random } from './random.ts';

/** Objects that clients contend for at any one time. */
const NAMES = 10;
/** Requests of all clients after which others take their place, so that the history of one stays short enough to check. */
const GENERATION = 1_500;
/** Most milliseconds between two requests of a client. */
const PAUSE_MS = 8;
const MERGE_PATCH = 'application/merge-patch+json';
export const HALVES = ['left', 'right'];
/** The server gives up by then, so that a client does not wait for a quorum that is away. */
const TIMEOUT = 'timeout=8s';

/** A request on its way to an outcome. */
interface Attempt {
  request: Request;
  send(): Promise<Answer>;
}

/**
 * Clients that create, update, patch (each with and without a version), delete, get, list and page at random, over a few
 * names that they all contend for, and record what they saw.
 */
export class Workload {
  readonly #api: ApiClient;
  readonly #collection: string;
  readonly #history: History;
  /** Revisions of each name that somebody was answered with, newest last. */
  readonly #known = new Map<string, number[]>();
  #requests = 0;

  constructor(api: ApiClient, collection: string, history: History) {
    this.#api = api;
    this.#collection = collection;
    this.#history = history;
  }

  /** Names in use now. */
  names(): string[] {
    const generation = Math.floor(this.#requests / GENERATION);
    return Array.from({ length: NAMES }, (_, i) => `g${generation}-${i}`);
  }

  /** One client, until stopped. */
  async run(client: string, random: Random, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      this.#requests++;
      const act = random.weighted(ACTS);
      if (act === 'list' || act === 'relaxed list' || act === 'pages') await this.#list(client, act, random);
      else await this.#one(client, act, random);
      await sleep(random.below(PAUSE_MS));
    }
  }

  async #one(client: string, act: Act, random: Random): Promise<void> {
    const name = random.pick(this.names());
    const attempt = this.#attempt(act, name, random);
    const start = this.#history.now();
    let outcome: Outcome | undefined;
    try {
      outcome = this.#outcome(name, attempt.request, await attempt.send());
    } catch {
      outcome = lost(attempt.request);
    }
    this.#history.add(client, name, start, attempt.request, outcome);
    if (outcome?.type === 'unknown') await sleep(50);
  }

  #attempt(act: Act, name: string, random: Random): Attempt {
    const path = `${this.#collection}/${name}?${TIMEOUT}`;
    const value = this.#history.value();
    const object = { metadata: { name, labels: { [LABEL]: random.pick(HALVES) } }, data: { value } };
    const revisions = this.#known.get(name)?.slice(-3) ?? [];
    const versioned = revisions.length > 0 ? random.pick(revisions) : undefined;
    const at = (revision: number) => ({
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(revision) },
    });
    const put = (condition: Precondition): Request => ({ type: 'put', value, condition });
    const known = (revision: number): Precondition => ({ type: 'revision', revision });
    switch (act) {
      case 'create':
        return {
          request: put({ type: 'absent' }),
          send: () => this.#api.call('POST', `${this.#collection}?${TIMEOUT}`, object),
        };
      case 'update':
        return { request: put({ type: 'exists' }), send: () => this.#api.call('PUT', path, object) };
      case 'patch':
        return { request: put({ type: 'exists' }), send: () => this.#api.call('PATCH', path, object, MERGE_PATCH) };
      case 'update at version': {
        if (versioned === undefined) return this.#attempt('create', name, random);
        return { request: put(known(versioned)), send: () => this.#api.call('PUT', path, at(versioned)) };
      }
      case 'patch at version': {
        if (versioned === undefined) return this.#attempt('create', name, random);
        return {
          request: put(known(versioned)),
          send: () => this.#api.call('PATCH', path, at(versioned), MERGE_PATCH),
        };
      }
      case 'delete':
        return {
          request: { type: 'delete', condition: { type: 'exists' } },
          send: () => this.#api.call('DELETE', path),
        };
      case 'delete at version': {
        if (versioned === undefined) return this.#attempt('create', name, random);
        const options = { preconditions: { resourceVersion: String(versioned) } };
        return {
          request: { type: 'delete', condition: known(versioned) },
          send: () => this.#api.call('DELETE', path, options),
        };
      }
      default:
        return { request: { type: 'get' }, send: () => this.#api.call('GET', path) };
    }
  }

  /** What an answer says; undefined when it shows nothing. Throws for one that these requests must not get. */
  #outcome(name: string, request: Request, { status, body }: Answer): Outcome | undefined {
    if (status === 200 || status === 201) {
      if (request.type === 'delete') return { type: 'done' };
      const object = JSON.parse(body) as ApiObject;
      this.#note(name, revisionOf(object));
      return request.type === 'get'
        ? { type: 'read', record: shownOf(object) }
        : { type: 'done', revision: revisionOf(object) };
    }
    if (status === 404)
      return request.type === 'get' ? { type: 'read', record: undefined } : { type: 'failed', current: null };
    if (status === 409) return { type: 'failed' };
    if (status === 429) return undefined;
    return lost(request);
  }

  #note(name: string, revision: number): void {
    const revisions = this.#known.get(name);
    if (revisions === undefined) this.#known.set(name, [revision]);
    else revisions.push(revision);
  }

  async #list(client: string, act: 'list' | 'relaxed list' | 'pages', random: Random): Promise<void> {
    const half = random.below(3) === 0 ? random.pick(HALVES) : undefined;
    const query = new URLSearchParams(half === undefined ? {} : { labelSelector: `${LABEL}=${half}` });
    if (act === 'relaxed list') query.set('resourceVersion', '0');
    if (act === 'pages') query.set('limit', String(1 + random.below(7)));
    const start = this.#history.now();
    const items: ApiObject[] = [];
    let revision = 0;
    for (let more = true; more; ) {
      const answer = await this.#api.call('GET', `${this.#collection}?${query}`).catch(() => undefined);
      // One that failed shows nothing, nor does a page whose revision has been compacted.
      if (answer?.status !== 200) return;
      const page = JSON.parse(answer.body) as {
        metadata: { resourceVersion: string; continue?: string };
        items: ApiObject[];
      };
      items.push(...page.items);
      revision ||= Number(page.metadata.resourceVersion);
      if (revision !== Number(page.metadata.resourceVersion)) throw new Error('pages of one list have two revisions');
      more = page.metadata.continue !== undefined && page.metadata.continue !== '';
      if (more) query.set('continue', page.metadata.continue!);
    }
    this.#history.lists.push({
      client,
      prefix: PREFIX,
      ...(half === undefined ? {} : { label: [LABEL, half] as const }),
      revision,
      records: items.map((item) => ({ key: PREFIX + item.metadata.name, ...shownOf(item) })),
      start,
      end: this.#history.now(),
      linearizable: act !== 'relaxed list',
    });
  }
}

/** No answer, or one that leaves open what happened: a write may have happened, a read showed nothing. */
const lost = (request: Request): Outcome | undefined => (request.type === 'get' ? undefined : { type: 'unknown' });

type Act =
  | 'create'
  | 'update'
  | 'update at version'
  | 'patch'
  | 'patch at version'
  | 'delete'
  | 'delete at version'
  | 'get'
  | 'list'
  | 'relaxed list'
  | 'pages';

const ACTS: readonly (readonly [number, Act])[] = [
  [22, 'create'],
  [8, 'update'],
  [14, 'update at version'],
  [10, 'patch'],
  [6, 'patch at version'],
  [6, 'delete'],
  [4, 'delete at version'],
  [20, 'get'],
  [4, 'list'],
  [3, 'relaxed list'],
  [3, 'pages'],
];
