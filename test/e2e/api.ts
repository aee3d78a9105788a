import { readFileSync } from 'node:fs';
import { Agent, type AgentOptions, request } from 'node:https';
import { URL } from 'node:url';
import { parse } from 'yaml';

/** A JSON tree whose shape the test knows better than a type would. */
// biome-ignore lint/suspicious/noExplicitAny: answers are looked into, not worked on
export type Tree = any;

/** What a request came back with. */
export interface Answer {
  code: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
  text: string;
  /** The body as JSON; undefined when it is none. */
  json: Tree;
  /** The texts of the Warning headers. */
  warnings: string[];
}

/** Body and headers of a request; a string or bytes go out as they are. */
export interface Sent {
  body?: unknown;
  type?: string;
  accept?: string;
  headers?: Record<string, string>;
}

/** One event of a watch. */
export interface Event {
  type: string;
  object: Tree;
}

/** An open watch. */
export interface Watch {
  code: number;
  headers: Record<string, string | string[] | undefined>;
  events: Event[];
  /** When the n-th line came, milliseconds of `Date.now()`. */
  times: number[];
  /** Resolves when that many events came; rejects after ten seconds. */
  count(n: number): Promise<Event[]>;
  /** Resolves with all events when the server ended the stream; rejects when it broke. */
  ended: Promise<Event[]>;
  /** Cuts the connection. */
  cut(): void;
}

export const MERGE = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';
export const APPLY = 'application/apply-patch+yaml';
export const YAML = 'application/yaml';

const WAIT_MS = 10_000;

/** Speaks to a cluster as the user of a kubeconfig does, one connection per watch. */
export class Api {
  readonly #server: URL;
  readonly #tls: AgentOptions;
  readonly #agent: Agent;

  constructor(kubeconfig: string) {
    const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8'));
    const decoded = (text: string) => Buffer.from(text, 'base64');
    this.#server = new URL(clusters[0].cluster.server);
    this.#tls = {
      ca: decoded(clusters[0].cluster['certificate-authority-data']),
      cert: decoded(users[0].user['client-certificate-data']),
      key: decoded(users[0].user['client-key-data']),
    };
    this.#agent = new Agent({ ...this.#tls, keepAlive: true, maxSockets: 16 });
  }

  get = (path: string, sent?: Sent) => this.send('GET', path, sent);
  post = (path: string, body: unknown, sent?: Sent) => this.send('POST', path, { ...sent, body });
  put = (path: string, body: unknown, sent?: Sent) => this.send('PUT', path, { ...sent, body });
  merge = (path: string, body: unknown) => this.send('PATCH', path, { body, type: MERGE });
  patch = (path: string, type: string, body: unknown) => this.send('PATCH', path, { body, type });
  delete = (path: string, body?: unknown) => this.send('DELETE', path, body === undefined ? {} : { body });

  /** Applies an object as a field manager, without force. */
  apply = (path: string, manager: string, body: unknown) =>
    this.send('PATCH', `${path}${path.includes('?') ? '&' : '?'}fieldManager=${manager}`, { body, type: APPLY });

  /** One request and its whole answer. */
  send(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const { body } = sent;
    const bytes =
      body === undefined ? undefined : typeof body === 'string' || body instanceof Buffer ? body : JSON.stringify(body);
    const headers = {
      'User-Agent': 'gunwale-test/1',
      Accept: sent.accept ?? 'application/json',
      ...(bytes === undefined
        ? {}
        : { 'Content-Type': sent.type ?? 'application/json', 'Content-Length': String(Buffer.byteLength(bytes)) }),
      ...sent.headers,
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(new URL(path, this.#server), { method, headers, agent: this.#agent }, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const whole = Buffer.concat(chunks);
          const text = whole.toString();
          const warnings = incoming.headersDistinct.warning ?? [];
          const code = incoming.statusCode ?? 0;
          resolve({ code, headers: incoming.headers, body: whole, text, json: jsonOf(text), warnings });
        });
      });
      outgoing.on('error', reject);
      outgoing.end(bytes);
    });
  }

  /** Opens a watch: `path` carries the parameters but for `watch=1`. Resolves with the answer's head. */
  watch(path: string, headers: Record<string, string> = {}): Promise<Watch> {
    const target = new URL(`${path}${path.includes('?') ? '&' : '?'}watch=1`, this.#server);
    const options = { ...this.#tls, agent: false, headers: { Accept: 'application/json', ...headers } };
    return new Promise((resolve, reject) => {
      const outgoing = request(target, options, (incoming) => {
        const events: Event[] = [];
        const times: number[] = [];
        let rest = '';
        incoming.setEncoding('utf8').on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) {
            events.push(JSON.parse(line));
            times.push(Date.now());
          }
        });
        const ended = new Promise<Event[]>((end, fail) => {
          incoming.on('end', () => end(events));
          incoming.on('error', fail);
        });
        ended.catch(() => {});
        const count = async (n: number) => {
          await until(
            () => events.length >= n,
            `${n} events`,
            () => JSON.stringify(events.map(({ type }) => type)),
          );
          return events;
        };
        const cut = () => outgoing.destroy();
        resolve({ code: incoming.statusCode ?? 0, headers: incoming.headers, events, times, count, ended, cut });
      });
      outgoing.on('error', reject);
      outgoing.end();
    });
  }

  /** Makes a namespace and returns its path. */
  async namespace(name: string): Promise<string> {
    await this.post('/api/v1/namespaces', { metadata: { name } });
    return `/api/v1/namespaces/${name}`;
  }

  /** Makes a definition and waits until its resource is served. */
  async define(definition: Tree): Promise<void> {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const { code, text } = await this.post(path, definition);
    if (code !== 201 && code !== 409) throw new Error(text);
    await until(async () => {
      const { json } = await this.get(`${path}/${definition.metadata.name}`);
      const conditions: Tree[] = json.status?.conditions ?? [];
      return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
    }, 'the definition to be established');
  }
}

/** Asks until the answer is yes; throws after ten seconds. */
export async function until(good: () => boolean | Promise<boolean>, what: string, seen = () => ''): Promise<void> {
  const deadline = Date.now() + WAIT_MS;
  while (!(await good())) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}; seen: ${seen()}`);
    await pause(20);
  }
}

export const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** `[type, name, version]` of each event. */
export const brief = (events: Event[]) =>
  events.map(({ type, object }) => [type, object.metadata.name, object.metadata.resourceVersion]);

function jsonOf(text: string): Tree {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
