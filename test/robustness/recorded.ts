import { setTimeout as sleep } from 'node:timers/promises';
import type { StartedCluster } from '../support/local-cluster.ts';
import type { ApiClient, ApiObject } from './client.ts';
import { WriteLog } from './record.ts';
import { agreement, completeness, order, type Sighting } from './validate.ts';

const NAMESPACE = 'recorded';
const COLLECTION = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const WRITERS = 2;
const REQUEST_TIMEOUT_S = 8;

type Check = [title: string, faults: string[]];

/** Writers of objects that nobody else touches, with the record that they keep of them in a file, and a watcher. */
export class Recorded {
  readonly #api: ApiClient;
  readonly #log: WriteLog;
  readonly #writing = new AbortController();
  readonly #watching = new AbortController();
  readonly #watched: Sighting[] = [];
  readonly #strange: string[] = [];
  #start = '';
  #writers: Promise<void>[] = [];
  #watcher: Promise<void> = Promise.resolve();

  constructor(api: ApiClient, path: string) {
    this.#api = api;
    this.#log = new WriteLog(path);
  }

  async start(): Promise<void> {
    await this.#api.call('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
    this.#start = (await this.#list('')).resourceVersion;
    this.#watcher = this.#follow();
    this.#writers = Array.from({ length: WRITERS }, (_, writer) => this.#write(writer));
  }

  /** Ends the writers. */
  async stop(): Promise<void> {
    this.#writing.abort();
    await Promise.all(this.#writers);
  }

  /** Stops two replicas: a write must fail in time, in a way that no client repeats silently. */
  async lossOfQuorum(cluster: StartedCluster): Promise<Check> {
    const pids = [1, 2].map((id) => cluster.run().processes[`replica-${id}`]!);
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    const started = Date.now();
    const name = 'without-quorum';
    const answer = await this.#api.call('POST', `${COLLECTION}?timeout=${REQUEST_TIMEOUT_S}s`, { metadata: { name } });
    const seconds = (Date.now() - started) / 1000;
    this.#log.add({ name, outcome: answer.status === 201 ? 'acknowledged' : 'unknown', detail: String(answer.status) });
    const found: string[] = [];
    if (answer.status !== 500 && answer.status !== 504)
      found.push(`status ${answer.status}: ${answer.body.slice(0, 200)}`);
    if (answer.headers['retry-after'] !== undefined) found.push(`Retry-After: ${answer.headers['retry-after']}`);
    if (seconds > REQUEST_TIMEOUT_S + 2) found.push(`it took ${seconds} s`);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    return [`with two replicas down a write fails (${answer.status} after ${seconds.toFixed(1)} s)`, found];
  }

  /** Resolves when a write is acknowledged again. */
  async writable(): Promise<void> {
    for (let tries = 0; tries < 60; tries++) {
      if (await this.#create(`after-quorum-${tries}`)) return;
      await sleep(500);
    }
    throw new Error('no write succeeded after the replicas came back');
  }

  /** Compares the record with what the server shows. Ends the watcher. */
  async compare(): Promise<Check[]> {
    const records = this.#log.read();
    const unknown = records.filter(({ outcome }) => outcome === 'unknown').length;
    const latest = await this.#list('');
    const exact = await this.#list(`?resourceVersion=${latest.resourceVersion}&resourceVersionMatch=Exact`);
    const again = await this.#replay(latest);
    for (let tries = 0; tries < 100 && this.#watched.length < again.length; tries++) await sleep(100);
    this.#watching.abort();
    await this.#watcher;
    const counts = `${records.length} recorded writes, ${unknown} of unknown outcome`;
    return [
      [`a list has every acknowledged write once (${counts})`, completeness('list', records, latest.items)],
      ['an exact list has every acknowledged write once', completeness('exact list', records, exact.items)],
      ['a watch from the start has every acknowledged write once', completeness('watch', records, again)],
      ['a watch from the start is in order', order('watch from the start', again)],
      ['a watch from the start shows what the list shows', agreement('watch and list', again, latest.items)],
      ['the watcher saw every acknowledged write once', completeness('watcher', records, this.#watched)],
      ['the watcher saw them in order, and nothing else', [...order('watcher', this.#watched), ...this.#strange]],
    ];
  }

  async #write(writer: number): Promise<void> {
    for (let n = 0; !this.#writing.signal.aborted; n++) {
      if (!(await this.#create(`w${writer}-${n}`))) await sleep(50);
    }
  }

  /** Creates an object and records what came of it; whether it was acknowledged. */
  async #create(name: string): Promise<boolean> {
    let detail: string;
    try {
      const { status, body } = await this.#api.call('POST', COLLECTION, { metadata: { name }, data: { name } });
      detail = status === 201 ? '' : `${status} ${body.slice(0, 200)}`;
    } catch (error) {
      detail = String(error);
    }
    this.#log.add({ name, outcome: detail === '' ? 'acknowledged' : 'unknown', detail });
    return detail === '';
  }

  /** Follows the collection, resuming at the last resource version whenever a watch ends. */
  async #follow(): Promise<void> {
    const { signal } = this.#watching;
    for (let cursor = this.#start; !signal.aborted; await sleep(100)) {
      const path = `${COLLECTION}?watch=1&allowWatchBookmarks=true&resourceVersion=${cursor}`;
      try {
        for await (const { type, object } of this.#api.watch(path, signal)) {
          const { name, resourceVersion } = object.metadata;
          if (type === 'ADDED') this.#watched.push({ name, resourceVersion });
          else if (type !== 'BOOKMARK') this.#strange.push(`${type}: ${JSON.stringify(object).slice(0, 200)}`);
          if (resourceVersion) cursor = resourceVersion;
        }
      } catch {
        // The connection broke: it goes on where it stands.
      }
    }
  }

  async #list(query: string): Promise<{ resourceVersion: string; items: Sighting[] }> {
    const { status, body } = await this.#api.call('GET', `${COLLECTION}${query}`);
    if (status !== 200) throw new Error(`list: ${status} ${body.slice(0, 300)}`);
    const parsed = JSON.parse(body) as { metadata: { resourceVersion: string }; items: ApiObject[] };
    return { resourceVersion: parsed.metadata.resourceVersion, items: parsed.items.map(({ metadata }) => metadata) };
  }

  /** The ADDED events of a new watch from the start up to the list's revision. */
  async #replay(latest: { items: Sighting[] }): Promise<Sighting[]> {
    const seen: Sighting[] = [];
    const stop = AbortSignal.timeout(20_000);
    const path = `${COLLECTION}?watch=1&resourceVersion=${this.#start}`;
    try {
      for await (const { type, object } of this.#api.watch(path, stop)) {
        if (type === 'ADDED')
          seen.push({ name: object.metadata.name, resourceVersion: object.metadata.resourceVersion });
        if (seen.length >= latest.items.length) break;
      }
    } catch (error) {
      if (!stop.aborted) throw error;
    }
    return seen;
  }
}
