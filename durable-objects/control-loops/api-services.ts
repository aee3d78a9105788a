import {
  type AggregatedVersion,
  AUTOMANAGED_LABEL,
  aggregatedVersion,
  isAutomanaged,
} from '../../src/aggregation/api-service.ts';
import {
  type Finding,
  failedDiscovery,
  LOCAL,
  PASSED,
  serviceFault,
  withAvailability,
} from '../../src/aggregation/availability.ts';
import { AGGREGATOR, identityHeaders, peerOf } from '../../src/aggregation/peer.ts';
import type { KubeObject } from '../../src/api/object.ts';
import { decodeStored } from '../../src/codec/stored.ts';
import { OutboundError } from '../../src/outbound/index.ts';
import { ServiceError } from '../../src/outbound/service.ts';
import { builtins, type Resource } from '../../src/registry/resource.ts';
import { ApiClient, ApiError, isConflict, type LoopConnection, pathOf, unlessMissing } from './connection.ts';
import type { Outcome } from './outcome.ts';

const USER_AGENT = 'kube-apiserver/v1.36.3';
/** Priorities of groups of custom resources. */
const PRIORITIES = { groupPriorityMinimum: 1000, versionPriority: 100 };
/** A server that answers is asked again after so long. */
const RECHECK_MS = 30_000;
const TIMEOUT_MS = 5_000;
/** Endpoints of one Service that are asked side by side: it is enough that one answers. */
const ATTEMPTS = 5;
const SERVICE_PREFIX = 'apiservice:';
const SERVICES = '/registry/services/specs/';
const SLICES = '/registry/endpointslices/';

const row = (): Resource => builtins.get('apiregistration.k8s.io/v1')!.get('apiservices')!;
const pathTo = (name: string, subresource = '') => pathOf(row(), '', name, subresource);

/**
 * The controllers of APIServices: registers the group versions of custom resources, and keeps the condition Available.
 * Work is by name of an APIService, or by the index term of a Service (`apiservice:NAMESPACE/NAME`), whose server is
 * asked again every 30 s for as long as some APIService leads there.
 */
export class ApiServices {
  readonly #connection: LoopConnection;
  readonly #api: ApiClient;

  constructor(connection: LoopConnection) {
    this.#connection = connection;
    this.#api = new ApiClient(connection, USER_AGENT);
  }

  async handle(item: string): Promise<Outcome> {
    try {
      return item.startsWith(SERVICE_PREFIX) ? await this.#checkService(item) : await this.#register(item);
    } catch (error) {
      if (isConflict(error) || (error instanceof ApiError && error.code === 404)) return 'later';
      throw error;
    }
  }

  /** Makes, mends or removes the APIService of a group version of custom resources; local ones are always available. */
  async #register(name: string): Promise<Outcome> {
    const at = name.indexOf('.');
    const [version, group] = [name.slice(0, at), name.slice(at + 1)];
    const served = await this.#connection.customResources();
    const isWanted = served.some((one) => one.group === group && one.version === version);
    const current = await unlessMissing(this.#api.get(pathTo(name)));
    if (current === undefined) {
      if (isWanted) await this.#create(name, group, version);
      return 'done';
    }
    const isManaged = isAutomanaged(current);
    if (isManaged && !isWanted) {
      await unlessMissing(this.#api.delete(pathTo(name), { preconditions: { uid: current.metadata.uid ?? '' } }));
      return 'done';
    }
    if (isManaged && aggregatedVersion(current) !== undefined) {
      await this.#api.update(pathTo(name), { ...current, spec: { group, version, ...PRIORITIES } });
      return 'done';
    }
    if (aggregatedVersion(current) === undefined) await this.#setStatus(current, LOCAL);
    return 'done';
  }

  async #create(name: string, group: string, version: string): Promise<void> {
    const made = await this.#api.create(pathTo(''), {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name, labels: AUTOMANAGED_LABEL },
      spec: { group, version, ...PRIORITIES },
    });
    await this.#setStatus(made, LOCAL);
  }

  async #checkService(term: string): Promise<Outcome> {
    const { records } = await this.#connection.keyspace.list({
      prefix: `${row().storage!.prefix}/`,
      limit: 0,
      consistency: { type: 'linearizable' },
      term,
    });
    const outcomes = await Promise.all(records.map((record) => this.#check(decodeStored(record).metadata.name ?? '')));
    if (outcomes.includes('later')) return 'later';
    return outcomes.find((outcome) => outcome !== 'done') ?? 'done';
  }

  /** Checks one APIService; what only objects can mend is looked at again when they change. */
  async #check(name: string): Promise<Outcome> {
    const object = await unlessMissing(this.#api.get(pathTo(name)));
    const version = object && aggregatedVersion(object);
    if (object === undefined || version === undefined) return 'done';
    const fault = await this.#serviceFault(version);
    if (fault !== undefined) {
      await this.#setStatus(object, fault);
      return 'done';
    }
    const finding = await this.#discover(version);
    await this.#setStatus(object, finding);
    return finding.status === 'True' ? { again: RECHECK_MS } : 'later';
  }

  async #setStatus(object: KubeObject, finding: Finding): Promise<void> {
    const status = withAvailability(object, finding, this.#connection.now());
    if (status !== undefined)
      await this.#api.update(pathTo(object.metadata.name ?? '', 'status'), { ...object, status });
  }

  /** Where a fixed route leads to a server, its Service need not. */
  async #serviceFault({ service }: AggregatedVersion): Promise<Finding | undefined> {
    const { keyspace, config } = this.#connection;
    const { namespace, name, port } = service;
    const routes = config.serviceRoutes;
    if (routes[`${namespace}/${name}`] ?? routes[`${namespace}/${name}:${port}`]) return undefined;
    const consistency = { type: 'linearizable' } as const;
    const { records } = await keyspace.get([`${SERVICES}${namespace}/${name}`], consistency);
    const slices = await keyspace.list({ prefix: `${SLICES}${namespace}/`, limit: 0, consistency });
    const own = slices.records
      .map(decodeStored)
      .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === name);
    return serviceFault(service, records[0] && decodeStored(records[0]), own);
  }

  async #discover(version: AggregatedVersion): Promise<Finding> {
    const attempts = Array.from({ length: ATTEMPTS }, () => this.#ask(version));
    const faults = await Promise.all(attempts);
    return faults.includes('') ? PASSED : failedDiscovery(faults[0]!);
  }

  /** Asks one endpoint for the group version; why it gave no answer, or nothing. */
  async #ask(version: AggregatedVersion): Promise<string> {
    const { keyspace, config, outbound } = this.#connection;
    let url = '';
    try {
      const { origin, tls } = await peerOf(version, keyspace, config);
      url = `${origin}/apis/${version.groupVersion}`;
      const answer = await outbound({
        ...tls,
        url,
        method: 'GET',
        repeated: identityHeaders(AGGREGATOR),
        timeoutMilliseconds: TIMEOUT_MS,
      });
      await answer.body?.cancel();
      if (answer.status >= 200 && answer.status < 300) return '';
      return `failing or missing response from ${url}: bad status from ${url}: ${answer.status}`;
    } catch (error) {
      if (error instanceof ServiceError) return error.message;
      if (!(error instanceof OutboundError)) throw error;
      return `failing or missing response from ${url}: ${error.message}`;
    }
  }
}
