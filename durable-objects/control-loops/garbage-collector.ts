import type { JsonObject, KubeObject, OwnerReference } from '../../src/api/object.ts';
import { keyOf } from '../../src/registry/keys.ts';
import type { Resource } from '../../src/registry/resource.ts';
import { ApiClient, isConflict, type LoopConnection, pathOf, unlessMissing } from './connection.ts';
import { type Located, Resources } from './locate.ts';
import type { Outcome } from './outcome.ts';

const FOREGROUND = 'foregroundDeletion';
const ORPHAN = 'orphan';
/** Dependents handled side by side. */
const PARALLEL = 8;
/** How often an item is decided anew at once after a lost race. */
const TURNS = 4;
/** How deep foreground deletion follows dependents of dependents before it waits for the next turn. */
const MAX_DEPTH = 20;

const finalizersOf = (object: KubeObject): string[] => object.metadata.finalizers ?? [];
const ownersOf = (object: KubeObject): OwnerReference[] => object.metadata.ownerReferences ?? [];
const isDeleting = (object: KubeObject): boolean => object.metadata.deletionTimestamp !== undefined;
const deletesDependents = (object: KubeObject) => isDeleting(object) && finalizersOf(object).includes(FOREGROUND);

/** The key of an owner, or undefined for a name that no object can have. */
function possibleKey(row: Resource, namespace: string, name: string): string | undefined {
  try {
    return keyOf(row, row.namespaced ? namespace : '', name);
  } catch {
    return undefined;
  }
}

/** What a dependent's owners are: there, gone, or waiting in the foreground for their dependents to go. */
interface Owners {
  solid: OwnerReference[];
  dangling: OwnerReference[];
  waiting: OwnerReference[];
}

/**
 * The garbage collector, one item of work at a time:
 * `owner-deleted:UID` looks after the dependents of an owner that is gone, `check-owners:KEY` after an object whose
 * owners may not exist, `finalize:KEY` after an object that waits for its dependents to go or to be orphaned.
 * Deletes carry the uid and resourceVersion that were looked at, so a lost race deletes nothing.
 */
export class GarbageCollector {
  readonly #connection: LoopConnection;
  readonly #api: ApiClient;
  readonly #resources: Resources;
  /** Whether this turn met someone else's write. */
  #raced = false;

  private constructor(connection: LoopConnection, resources: Resources) {
    this.#connection = connection;
    this.#api = new ApiClient(connection);
    this.#resources = resources;
  }

  /** A collector that knows the resources served now. */
  static async open(connection: LoopConnection): Promise<GarbageCollector> {
    return new GarbageCollector(connection, await Resources.load(connection));
  }

  /** Handles one item of work; `later` when it has to wait for others. */
  async handle(item: string): Promise<Outcome> {
    const colon = item.indexOf(':');
    const [what, subject] = [item.slice(0, colon), item.slice(colon + 1)];
    for (let turn = 1; ; turn++) {
      this.#raced = false;
      const outcome = await this.#decide(what, subject);
      if (outcome === 'done' || !this.#raced || turn === TURNS) return outcome;
    }
  }

  async #decide(what: string, subject: string): Promise<Outcome> {
    if (what === 'owner-deleted') return this.#collectAll(await this.#dependents(subject));
    const found = await this.#read(subject);
    if (found === undefined) return 'done';
    if (what === 'check-owners') return this.#collect(found, 0);
    return what === 'finalize' ? this.#finalize(found, 0) : 'done';
  }

  async #read(key: string): Promise<Located | undefined> {
    const [record] = (await this.#connection.keyspace.get([key], { type: 'linearizable' })).records;
    return record === undefined ? undefined : this.#resources.locate(record);
  }

  /** Everything that names the uid as an owner. */
  async #dependents(uid: string): Promise<Located[]> {
    const out: Located[] = [];
    let after: string | undefined;
    for (;;) {
      const page = await this.#connection.keyspace.list({
        prefix: '/registry/',
        term: `owner:${uid}`,
        limit: 500,
        consistency: { type: 'linearizable' },
        ...(after === undefined ? {} : { after }),
      });
      for (const record of page.records) {
        const located = this.#resources.locate(record);
        if (located !== undefined) out.push(located);
      }
      after = page.records.at(-1)?.key;
      if (!page.more || after === undefined) return out;
    }
  }

  async #collectAll(found: readonly Located[], depth = 0): Promise<Outcome> {
    let outcome: Outcome = 'done';
    for (let at = 0; at < found.length; at += PARALLEL) {
      const outcomes = await Promise.all(found.slice(at, at + PARALLEL).map((f) => this.#collect(f, depth)));
      if (outcomes.includes('later')) outcome = 'later';
    }
    return outcome;
  }

  /** Carries out one decision; a lost race is decided anew next turn. */
  async #attempt(decide: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await decide();
    } catch (error) {
      if (!isConflict(error)) throw error;
      this.#raced = true;
      return 'later';
    }
  }

  /** Deletes an object whose owners are all gone, or takes the gone ones off its references. */
  async #collect(found: Located, depth: number): Promise<Outcome> {
    const { object } = found;
    if (deletesDependents(object)) return this.#finalize(found, depth);
    if (isDeleting(object) || ownersOf(object).length === 0) return 'done';
    const owners = await this.#classify(found);
    if (owners === undefined) return 'done';
    const { solid, dangling, waiting } = owners;
    return this.#attempt(async () => {
      if (solid.length > 0) {
        if (dangling.length + waiting.length > 0) await this.#setOwners(found, solid);
        return 'done';
      }
      if (waiting.length > 0) {
        const dependents = await this.#dependents(object.metadata.uid ?? '');
        if (dependents.length > 0) return this.#deleteForeground(found, dependents, depth);
      }
      const orphans = finalizersOf(object).includes(ORPHAN);
      const foreground = finalizersOf(object).includes(FOREGROUND);
      await this.#delete(found, orphans ? 'Orphan' : foreground ? 'Foreground' : 'Background');
      return 'done';
    });
  }

  /** An object that its owner waits for, and that has dependents itself, goes after them. */
  async #deleteForeground(found: Located, dependents: readonly Located[], depth: number): Promise<Outcome> {
    if (dependents.some((d) => deletesDependents(d.object))) {
      const unblocked = ownersOf(found.object).map((ref) => ({ ...ref, blockOwnerDeletion: false }));
      await this.#setOwners(found, unblocked);
      const latest = await this.#read(found.key);
      if (latest === undefined) return 'done';
      await this.#delete(latest, 'Foreground');
    } else {
      await this.#delete(found, 'Foreground');
    }
    const deleting = depth < MAX_DEPTH ? await this.#read(found.key) : found;
    if (deleting === undefined) return 'done';
    return depth < MAX_DEPTH ? this.#finalize(deleting, depth + 1) : 'later';
  }

  /** Which owners exist, by a linearizable read of each; undefined when one is of a kind that is not served. */
  async #classify({ object, namespace }: Located): Promise<Owners | undefined> {
    const keys: string[] = [];
    const known: OwnerReference[] = [];
    const owners: Owners = { solid: [], dangling: [], waiting: [] };
    for (const ref of ownersOf(object)) {
      const row = this.#resources.ofKind(ref.apiVersion, ref.kind);
      if (row === undefined || (row.namespaced && namespace === '')) return undefined;
      const key = possibleKey(row, namespace, ref.name);
      if (key === undefined) owners.dangling.push(ref);
      else {
        known.push(ref);
        keys.push(key);
      }
    }
    const { records } = await this.#connection.keyspace.get(keys, { type: 'linearizable' });
    for (const [i, ref] of known.entries()) {
      const record = records[i];
      const owner = record === undefined ? undefined : this.#resources.locate(record)?.object;
      if (owner === undefined || owner.metadata.uid !== ref.uid) owners.dangling.push(ref);
      else if (deletesDependents(owner)) owners.waiting.push(ref);
      else owners.solid.push(ref);
    }
    return owners;
  }

  /** An object that is being deleted and has a finalizer for its dependents. */
  async #finalize(found: Located, depth: number): Promise<Outcome> {
    const finalizers = finalizersOf(found.object);
    if (!isDeleting(found.object)) return 'done';
    return this.#attempt(async () => {
      if (finalizers.includes(ORPHAN)) return this.#orphan(found);
      if (finalizers.includes(FOREGROUND)) return this.#awaitDependents(found, depth);
      return 'done';
    });
  }

  async #orphan(found: Located): Promise<Outcome> {
    const uid = found.object.metadata.uid ?? '';
    for (const dependent of await this.#dependents(uid)) {
      await this.#setOwners(
        dependent,
        ownersOf(dependent.object).filter((ref) => ref.uid !== uid),
      );
    }
    await this.#removeFinalizer(found, ORPHAN);
    return 'done';
  }

  async #blocking(uid: string): Promise<Located[]> {
    const blocks = (ref: OwnerReference) => ref.uid === uid && ref.blockOwnerDeletion === true;
    return (await this.#dependents(uid)).filter(({ object }) => ownersOf(object).some(blocks));
  }

  async #awaitDependents(found: Located, depth: number): Promise<Outcome> {
    const uid = found.object.metadata.uid ?? '';
    const blocking = await this.#blocking(uid);
    if (blocking.length > 0 && depth < MAX_DEPTH) await this.#collectAll(blocking, depth + 1);
    if (blocking.length > 0 && (await this.#blocking(uid)).length > 0) return 'later';
    await this.#removeFinalizer(found, FOREGROUND);
    return 'done';
  }

  async #delete({ resource, namespace, name, object }: Located, propagationPolicy: string): Promise<void> {
    const { uid = '', resourceVersion = '' } = object.metadata;
    await unlessMissing(
      this.#api.delete(pathOf(resource, namespace, name), {
        preconditions: { uid, resourceVersion },
        propagationPolicy,
      }),
    );
  }

  async #setOwners(found: Located, owners: readonly OwnerReference[]): Promise<void> {
    await this.#patchMetadata(found, { ownerReferences: owners.length === 0 ? null : [...owners] });
  }

  /** Removes a finalizer from the latest state, which others may be changing too. */
  async #removeFinalizer(found: Located, finalizer: string): Promise<void> {
    const latest = await this.#read(found.key);
    if (latest === undefined || latest.object.metadata.uid !== found.object.metadata.uid) return;
    const finalizers = finalizersOf(latest.object).filter((f) => f !== finalizer);
    await this.#patchMetadata(latest, { finalizers: finalizers.length === 0 ? null : finalizers });
  }

  async #patchMetadata({ resource, namespace, name, object }: Located, change: JsonObject): Promise<void> {
    const { uid = '', resourceVersion = '' } = object.metadata;
    const patch = { metadata: { uid, resourceVersion, ...change } };
    await unlessMissing(this.#api.mergePatch(pathOf(resource, namespace, name), patch));
  }
}
