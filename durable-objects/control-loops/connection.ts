import type { JsonObject, KubeObject } from '../../src/api/object.ts';
import type { Config } from '../../src/config.ts';
import type { Keyspace } from '../../src/keyspace/types.ts';
import type { Outbound } from '../../src/outbound/index.ts';
import type { Resource } from '../../src/registry/resource.ts';

/** What the control loops need of the process that they live in. */
export interface LoopConnection {
  config: Config;
  /** The bare keyspace: the outbox, index terms and linearizable reads of owners. */
  keyspace: Keyspace;
  /** Serves a request in this process as the user `system:apiserver` in `system:masters`, not over the network. */
  api: (request: Request) => Promise<Response>;
  /** The rows of custom resources in force, besides the built-in ones. */
  customResources: () => Promise<Resource[]>;
  now: () => Date;
  /** Sends to peers outside of the cluster. */
  outbound: Outbound;
}

/** A refusal by the API: the code and Status reason. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

const USER_AGENT = 'kube-controller-manager/v1.36.3';

/** The path of an object, or of a collection without a name, with an optional subresource. */
export function pathOf(resource: Resource, namespace: string, name = '', subresource = ''): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.groupVersion}`;
  const scope = resource.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  const object = name === '' ? '' : `/${encodeURIComponent(name)}`;
  return `${root}${scope}/${resource.resource}${object}${subresource === '' ? '' : `/${subresource}`}`;
}

/** A client of the API in this process; throws {@link ApiError} for every answer but 2xx. */
export class ApiClient {
  readonly #connection: LoopConnection;
  readonly #agent: string;

  /** `agent`: the component that the calls are made as, by which managed fields name it. */
  constructor(connection: LoopConnection, agent = USER_AGENT) {
    this.#connection = connection;
    this.#agent = agent;
  }

  async #call(method: string, path: string, body?: JsonObject, contentType = 'application/json'): Promise<KubeObject> {
    const headers: Record<string, string> = { Accept: 'application/json', 'User-Agent': this.#agent };
    if (body !== undefined) headers['Content-Type'] = contentType;
    const request = new Request(`https://loopback${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const response = await this.#connection.api(request);
    const text = await response.text();
    if (response.ok) return JSON.parse(text) as KubeObject;
    const status = readStatus(text);
    throw new ApiError(response.status, status.reason, status.message);
  }

  get(path: string): Promise<KubeObject> {
    return this.#call('GET', path);
  }
  create(path: string, object: JsonObject): Promise<KubeObject> {
    return this.#call('POST', path, object);
  }
  update(path: string, object: JsonObject): Promise<KubeObject> {
    return this.#call('PUT', path, object);
  }
  mergePatch(path: string, patch: JsonObject): Promise<KubeObject> {
    return this.#call('PATCH', path, patch, 'application/merge-patch+json');
  }
  apply(path: string, object: JsonObject): Promise<KubeObject> {
    return this.#call('PATCH', path, object, 'application/apply-patch+yaml');
  }
  delete(path: string, options: JsonObject): Promise<KubeObject> {
    return this.#call('DELETE', path, { kind: 'DeleteOptions', apiVersion: 'v1', ...options });
  }
}

function readStatus(text: string): { reason: string; message: string } {
  try {
    const { reason, message } = JSON.parse(text) as { reason?: string; message?: string };
    return { reason: reason ?? '', message: message ?? '' };
  } catch {
    return { reason: '', message: text.slice(0, 200) };
  }
}

/** The value, or undefined where the API says 404. */
export async function unlessMissing<T>(value: Promise<T>): Promise<T | undefined> {
  return value.catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 404) return undefined;
    throw error;
  });
}

/** Whether an error is a lost race, to be decided anew. */
export const isConflict = (error: unknown): boolean => error instanceof ApiError && error.code === 409;
