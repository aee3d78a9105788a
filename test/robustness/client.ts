import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';

const JSON_TYPE = 'application/json';

/** An object of the API, as far as these tests look at it. */
export interface ApiObject {
  metadata: {
    name: string;
    resourceVersion: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  data?: Record<string, string>;
  /** Of a Status. */
  code?: number;
}

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: string;
}

/** An event of a watch. */
export interface WatchEvent {
  type: string;
  object: ApiObject;
}

/** A client with the administrator's certificate of a kubeconfig that the launcher wrote (which is JSON). */
export class ApiClient {
  readonly #base: URL;
  readonly #agent: Agent;

  constructor(kubeconfig: string) {
    const config = JSON.parse(readFileSync(kubeconfig, 'utf8'));
    const [cluster, user] = [config.clusters[0].cluster, config.users[0].user];
    const decode = (text: string) => Buffer.from(text, 'base64');
    this.#base = new URL(cluster.server);
    this.#agent = new Agent({
      keepAlive: true,
      ca: decode(cluster['certificate-authority-data']),
      cert: decode(user['client-certificate-data']),
      key: decode(user['client-key-data']),
    });
  }

  /** Sends a request. Rejects when the connection breaks or nothing came within `timeoutMs`. */
  call(method: string, path: string, body?: unknown, type = JSON_TYPE, timeoutMs = 40_000): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = this.#request(method, path, body, type, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          clearTimeout(timer);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          });
        });
      });
      const timer = setTimeout(() => outgoing.destroy(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
      outgoing.on('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
    });
  }

  /** The events of one watch request until it ends or breaks. */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = this.#request('GET', path, undefined, JSON_TYPE, resolve);
      outgoing.on('error', reject);
      signal.addEventListener('abort', () => outgoing.destroy(), { once: true });
    });
    let rest = '';
    for await (const chunk of response) {
      const lines = (rest + (chunk as Buffer).toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as WatchEvent;
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #request(method: string, path: string, body: unknown, type: string, onResponse: (response: IncomingMessage) => void) {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const headers = payload ? { 'content-type': type, 'content-length': Buffer.byteLength(payload) } : {};
    const { hostname, port } = this.#base;
    const outgoing = request({ hostname, port, method, path, headers, agent: this.#agent }, onResponse);
    outgoing.end(payload);
    return outgoing;
  }
}
