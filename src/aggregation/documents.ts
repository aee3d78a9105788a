import { isObject, type JsonObject, type JsonValue } from '../api/object.ts';
import { ExpiringCache } from '../authn/cache.ts';
import type { Config } from '../config.ts';
import type { Keyspace } from '../keyspace/types.ts';
import { type Outbound, OutboundError } from '../outbound/index.ts';
import { ServiceError } from '../outbound/service.ts';
import type { UserInfo } from '../request/context.ts';
import type { AggregatedVersion } from './api-service.ts';
import { discoveryEntry, STALE } from './discovery.ts';
import { AGGREGATOR, identityHeaders, peerOf } from './peer.ts';

/** How long a document is used without asking again, and how long it is known that there is none. */
const FRESH_MS = 60_000;
const FAILED_MS = 5_000;
const TIMEOUT_MS = 5_000;
const MAX_DOCUMENTS = 1000;

const DISCOVERY_FORM = (version: string) =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
const DISCOVERY_FORMS = `${DISCOVERY_FORM('v2')},${DISCOVERY_FORM('v2beta1')}`;
/** Who asks for a single group version, and for OpenAPI: nobody of a group. */
const UNPRIVILEGED: UserInfo = { ...AGGREGATOR, groups: [] };
const OPENAPI_USER: UserInfo = { name: 'system:aggregator', groups: [], extra: {} };

/** What a server has answered; `value`: its JSON. */
interface Answer {
  status: number;
  type: string;
  etag: string;
  value: JsonValue | undefined;
}

interface Kept {
  until: number;
  answer: Answer | undefined;
  /** The state of the APIService that it was asked for: after a change the server is asked anew. */
  version: AggregatedVersion;
}

/** What other servers say of themselves, kept by an isolate; the key names the tenant, the APIService and the document. */
export type DocumentCache = ExpiringCache<Kept>;
export const documentCache = (): DocumentCache => new ExpiringCache(MAX_DOCUMENTS, 60 * FRESH_MS);

/** What is needed to ask. */
export interface DocumentRuntime {
  tenant: string;
  keyspace: Pick<Keyspace, 'get' | 'list'>;
  config: Pick<Config, 'serviceRoutes' | 'proxyClient'>;
  outbound: Outbound;
  now: () => Date;
  cache: DocumentCache;
}

/** Discovery and OpenAPI of aggregated API servers, as one request sees them. Nothing here throws for a server's faults. */
export class AggregatedDocuments {
  readonly #versions: readonly AggregatedVersion[];
  readonly #runtime: DocumentRuntime;

  constructor(versions: Iterable<AggregatedVersion>, runtime: DocumentRuntime) {
    this.#versions = [...versions];
    this.#runtime = runtime;
  }

  /** Entries of aggregated discovery by group version; of a server that does not answer one without resources. */
  async discovery(): Promise<ReadonlyMap<string, JsonObject>> {
    const entries = await Promise.all(
      this.#versions.map(async (one): Promise<[string, JsonObject]> => [one.groupVersion, await this.#entry(one)]),
    );
    return new Map(entries);
  }

  async #entry(version: AggregatedVersion): Promise<JsonObject> {
    const whole = await this.#ask(version, '/apis', DISCOVERY_FORMS, AGGREGATOR);
    if (whole?.status === 200 && whole.type.includes('as=APIGroupDiscoveryList')) {
      return discoveryEntry(version, whole.value, undefined);
    }
    if (whole === undefined || whole.status === 503) return STALE(version);
    const path = `/apis/${version.groupVersion}`;
    const own = await this.#ask(version, path, 'application/json', UNPRIVILEGED);
    return own?.status === 200 ? discoveryEntry(version, undefined, own.value) : STALE(version);
  }

  /** Addresses of documents of OpenAPI 3 by name (`apis/group/version`), each with who has it. */
  async openApi(): Promise<ReadonlyMap<string, { address: string; version: AggregatedVersion }>> {
    const found = new Map<string, { address: string; version: AggregatedVersion }>();
    const answers = await Promise.all(
      this.#versions.map((one) => this.#ask(one, '/openapi/v3', 'application/json', OPENAPI_USER)),
    );
    for (const [i, answer] of answers.entries()) {
      const paths = isObject(answer?.value) && answer.status === 200 ? answer.value.paths : undefined;
      for (const [name, entry] of Object.entries(isObject(paths) ? paths : {})) {
        const address = isObject(entry) ? entry.serverRelativeURL : undefined;
        if (typeof address === 'string') found.set(name, { address, version: this.#versions[i]! });
      }
    }
    return found;
  }

  /** Documents of OpenAPI 2, each with the group version that it was asked for. */
  async swagger(): Promise<{ document: JsonObject; version: AggregatedVersion }[]> {
    const answers = await Promise.all(
      this.#versions.map((one) => this.#ask(one, '/openapi/v2', 'application/json', OPENAPI_USER)),
    );
    return answers.flatMap((answer, i) =>
      answer?.status === 200 && isObject(answer.value) ? [{ document: answer.value, version: this.#versions[i]! }] : [],
    );
  }

  /** A document of a server, new enough; undefined where it does not answer. */
  async #ask(version: AggregatedVersion, path: string, accept: string, user: UserInfo): Promise<Answer | undefined> {
    if (!version.available) return undefined;
    const { cache, now, tenant } = this.#runtime;
    const key = `${tenant} ${version.name} ${path}`;
    const time = now().getTime();
    const kept = cache.get(key, time);
    if (kept !== undefined && kept.until > time && kept.version === version) return kept.answer;
    const fetched = await this.#fetch(version, path, accept, user, kept?.answer?.etag ?? '');
    const answer = fetched?.status === 304 ? kept?.answer : fetched;
    const until = time + (answer === undefined ? FAILED_MS : FRESH_MS);
    cache.set(key, { until, answer, version }, time);
    return answer;
  }

  async #fetch(
    version: AggregatedVersion,
    path: string,
    accept: string,
    user: UserInfo,
    etag: string,
  ): Promise<Answer | undefined> {
    const { keyspace, config, outbound } = this.#runtime;
    try {
      const { origin, tls } = await peerOf(version, keyspace, config);
      const answer = await outbound({
        ...tls,
        url: `${origin}${path}`,
        method: 'GET',
        headers: { accept, ...(etag !== '' && { 'if-none-match': etag }) },
        repeated: identityHeaders(user),
        timeoutMilliseconds: TIMEOUT_MS,
        signal: AbortSignal.timeout(2 * TIMEOUT_MS),
      });
      const { status, headers } = answer;
      const told = { status, type: headers.get('content-type') ?? '', etag: headers.get('etag') ?? '' };
      const text = await answer.text();
      return { ...told, value: status === 200 ? (JSON.parse(text) as JsonValue) : undefined };
    } catch (error) {
      const isTheirs = error instanceof OutboundError || error instanceof ServiceError || error instanceof SyntaxError;
      if (!isTheirs && !(error instanceof DOMException)) throw error;
      return undefined;
    }
  }
}
