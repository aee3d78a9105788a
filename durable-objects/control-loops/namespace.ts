import { isObject, type KubeObject } from '../../src/api/object.ts';
import { decodeStored } from '../../src/codec/stored.ts';
import { collectionPrefix } from '../../src/registry/keys.ts';
import type { Resource } from '../../src/registry/resource.ts';
import { ApiClient, ApiError, isConflict, type LoopConnection, pathOf, unlessMissing } from './connection.ts';
import { Resources } from './locate.ts';
import { type ContentReport, nextConditions } from './namespace-conditions.ts';
import type { Outcome } from './outcome.ts';

const FINALIZER = 'kubernetes';
/** Collections looked at side by side. */
const PARALLEL = 16;

const path = (name: string, subresource = '') =>
  `/api/v1/namespaces/${name}${subresource === '' ? '' : `/${subresource}`}`;

const isPods = (row: Resource) => row.group === '' && row.resource === 'pods';
const isTerminating = (namespace: KubeObject) => namespace.metadata.deletionTimestamp !== undefined;

function finalizersOf(namespace: KubeObject): string[] {
  const finalizers = isObject(namespace.spec) ? namespace.spec.finalizers : undefined;
  return Array.isArray(finalizers) ? finalizers.filter((f): f is string => typeof f === 'string') : [];
}

/**
 * Namespace termination: deletes everything in a namespace that is being deleted, pods first, tells in its conditions
 * what is left, and takes the finalizer `kubernetes` off when nothing is.
 */
export class NamespaceTermination {
  readonly #connection: LoopConnection;
  readonly #api: ApiClient;

  constructor(connection: LoopConnection) {
    this.#connection = connection;
    this.#api = new ApiClient(connection);
  }

  /** Handles one namespace; `later` while content remains. */
  async handle(name: string): Promise<Outcome> {
    const namespace = await unlessMissing(this.#api.get(path(name)));
    if (namespace === undefined || !isTerminating(namespace)) return 'done';
    if (!finalizersOf(namespace).includes(FINALIZER)) return 'done';
    const report = await this.#empty(name);
    await this.#updateConditions(namespace, report);
    if (report.remaining.size > 0 || report.faults.length > 0) return 'later';
    return this.#finalize(name);
  }

  async #empty(namespace: string): Promise<ContentReport> {
    const report: ContentReport = { remaining: new Map(), finalizers: new Map(), faults: [] };
    const resources = await Resources.load(this.#connection);
    const rows = resources.all().filter((row) => row.namespaced && row.verbs.has('delete'));
    const pods = rows.filter(isPods);
    await this.#emptyAll(pods, namespace, report);
    if (report.remaining.size > 0) return report;
    await this.#emptyAll(
      rows.filter((row) => !isPods(row)),
      namespace,
      report,
    );
    return report;
  }

  async #emptyAll(rows: readonly Resource[], namespace: string, report: ContentReport): Promise<void> {
    for (let at = 0; at < rows.length; at += PARALLEL) {
      await Promise.all(rows.slice(at, at + PARALLEL).map((row) => this.#emptyOne(row, namespace, report)));
    }
  }

  async #emptyOne(row: Resource, namespace: string, report: ContentReport): Promise<void> {
    if ((await this.#content(row, namespace, 1)).length === 0) return;
    try {
      await unlessMissing(this.#deleteContent(row, namespace));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!isConflict(error)) report.faults.push(error.message);
    }
    const left = await this.#content(row, namespace, 0);
    if (left.length === 0) return;
    report.remaining.set(`${row.resource}.${row.group}`, left.length);
    for (const finalizer of left.flatMap((object) => object.metadata.finalizers ?? [])) {
      report.finalizers.set(finalizer, (report.finalizers.get(finalizer) ?? 0) + 1);
    }
  }

  async #deleteContent(row: Resource, namespace: string): Promise<void> {
    const options = { propagationPolicy: 'Background' };
    if (row.verbs.has('deletecollection')) {
      await this.#api.delete(pathOf(row, namespace), options);
      return;
    }
    for (const { metadata } of await this.#content(row, namespace, 0)) {
      await unlessMissing(this.#api.delete(pathOf(row, namespace, metadata.name), options));
    }
  }

  /** What a namespace holds of a resource, as a quorum confirms it; at most `limit` objects (0: all). */
  async #content(row: Resource, namespace: string, limit: number): Promise<KubeObject[]> {
    const prefix = collectionPrefix(row, namespace, []);
    const out: KubeObject[] = [];
    let after: string | undefined;
    for (;;) {
      const consistency = { type: 'linearizable' } as const;
      const page = await this.#connection.keyspace.list({
        prefix,
        limit,
        consistency,
        ...(after === undefined ? {} : { after }),
      });
      out.push(...page.records.map(decodeStored));
      after = page.records.at(-1)?.key;
      if (!page.more || limit > 0 || after === undefined) return out;
    }
  }

  async #updateConditions(namespace: KubeObject, report: ContentReport): Promise<void> {
    const status = isObject(namespace.status) ? namespace.status : {};
    const conditions = nextConditions(status.conditions, report, this.#connection.now());
    if (conditions === undefined) return;
    const changed = { ...namespace, status: { ...status, phase: 'Terminating', conditions } };
    await unlessMissing(this.#api.update(path(namespace.metadata.name ?? '', 'status'), changed)).catch(
      (error: unknown) => {
        if (!isConflict(error)) throw error;
      },
    );
  }

  async #finalize(name: string): Promise<Outcome> {
    const namespace = await unlessMissing(this.#api.get(path(name)));
    if (namespace === undefined || !isTerminating(namespace)) return 'done';
    const spec = isObject(namespace.spec) ? namespace.spec : {};
    const finalizers = finalizersOf(namespace).filter((f) => f !== FINALIZER);
    try {
      await unlessMissing(this.#api.update(path(name, 'finalize'), { ...namespace, spec: { ...spec, finalizers } }));
      return 'done';
    } catch (error) {
      if (isConflict(error)) return 'later';
      throw error;
    }
  }
}
