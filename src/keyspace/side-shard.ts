import type {
  Batch,
  Condition,
  Keyspace,
  ListRequest,
  ProposeResult,
  RecordMeta,
  Revision,
  StoredRecord,
} from './types.ts';
import { OverloadedError, POLICY_FLOOR_KEY } from './types.ts';

/** Below it lie the uids of namespaces that take nothing more. */
const CLOSED = '/shard/closed-namespaces/';
/** How long a namespace stays known as closed: far longer than a write can be under way that was begun before. */
const CLOSED_SECONDS = 3600;
const ATTEMPTS = 10;
const SWEEP = 100;

/**
 * The newest policy floor of a shard that an isolate knows: `policy` is a policy revision of `main`, `revision` the
 * shard's own revision of the record that says so; -1 before it was looked up.
 */
export interface Floor {
  revision: Revision;
  policy: Revision;
}

export const unknownFloor = (): Floor => ({ revision: -1, policy: 0 });

const META: Omit<RecordMeta, 'fields'> = {
  labels: {},
  terms: [],
  tag: { storageVersion: '', schema: 0, typeMetaEnd: 0, resourceVersionAt: 0 },
};

const put = (key: string, fields: Record<string, string>, ttlSeconds?: number) => ({
  type: 'put' as const,
  key,
  value: new Uint8Array(0),
  meta: { ...META, fields },
  ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
});

/** The condition that a new record's namespace, as read from `main`, has not been closed in this shard. */
export function openNamespace(namespace: StoredRecord | undefined): Condition[] {
  const uid = namespace && uidOf(namespace);
  return uid === undefined ? [] : [{ type: 'absent', key: CLOSED + uid }];
}

const uidOf = ({ meta }: StoredRecord) => meta.terms.find((term) => term.startsWith('uid:'))?.slice(4);

/**
 * A shard beside `main`. It holds no policy, but a floor: the newest policy revision of `main` that it was told of. What
 * was decided under an older one is refused, and its answers carry the floor as the policy revision in force. Its own
 * policy revision, which its replicas compare with, is the revision of the record with the floor.
 */
export class SideShard {
  readonly #inner: Keyspace;
  readonly #floor: Floor;
  readonly #prefixes: readonly string[];

  /** `floor` is the isolate's memory; `prefixes` are those of the shard's keys. */
  constructor(inner: Keyspace, floor: Floor, prefixes: readonly string[]) {
    this.#inner = inner;
    this.#floor = floor;
    this.#prefixes = prefixes;
  }

  /** The shard itself, whose answers carry its own policy revision. */
  get bare(): Keyspace {
    return this.#inner;
  }

  /** An answer of the shard with the policy revision of `main` in place of its own. */
  async translated<T extends { policyRevision: Revision }>(answer: Promise<T>): Promise<T> {
    const result = await answer;
    if (result.policyRevision > this.#floor.revision) await this.#look();
    return { ...result, policyRevision: this.#floor.policy };
  }

  list(request: ListRequest) {
    return this.translated(this.#inner.list(request));
  }

  /** Like a Keyspace's; `policyRevision` is one of `main`. The floor is raised to it first, where it lies below. */
  async propose(batch: Batch, policyRevision?: Revision): Promise<ProposeResult> {
    if (policyRevision === undefined) return this.translated(this.#inner.propose(batch));
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      await this.raise(policyRevision);
      const { policy, revision } = this.#floor;
      if (policy > policyRevision) return { ok: false, policyMoved: true, policyRevision: policy };
      const result = await this.#inner.propose(batch, revision);
      if (result.ok || !('policyMoved' in result)) return this.translated(Promise.resolve(result));
      await this.#look();
    }
    throw new OverloadedError('the policy keeps changing');
  }

  /** Makes sure that nothing decided under a policy older than that revision of `main` is written or answered any more. */
  async raise(policy: Revision): Promise<void> {
    if (this.#floor.revision < 0) await this.#look();
    for (let attempt = 0; this.#floor.policy < policy; attempt++) {
      if (attempt === ATTEMPTS) throw new OverloadedError('the policy keeps changing');
      const { revision } = this.#floor;
      const condition: Condition =
        revision === 0
          ? { type: 'absent', key: POLICY_FLOOR_KEY }
          : { type: 'revision', key: POLICY_FLOOR_KEY, revision };
      const operations = [put(POLICY_FLOOR_KEY, { policy: String(policy) })];
      const result = await this.#inner.propose({ conditions: [condition], operations });
      if (result.ok) this.#know(result.revisions[0]!, policy);
      else await this.#look();
    }
  }

  /**
   * Closes a namespace that is about to be removed from `main`: no write is committed any more that was begun while the
   * namespace was alive, and what such a one has left is deleted.
   */
  async close(namespace: StoredRecord, name: string): Promise<void> {
    const uid = uidOf(namespace);
    if (uid === undefined) return;
    await this.#inner.propose({ conditions: [], operations: [put(CLOSED + uid, {}, CLOSED_SECONDS)] });
    for (const prefix of this.#prefixes) await this.#sweep(`${prefix}${name}/`);
  }

  async #sweep(prefix: string): Promise<void> {
    for (;;) {
      const page = await this.#inner.list({
        prefix,
        limit: SWEEP,
        consistency: { type: 'linearizable' },
        keysOnly: true,
      });
      const operations = page.records.map(({ key }) => ({ type: 'delete' as const, key }));
      if (operations.length > 0) await this.#inner.propose({ conditions: [], operations });
      if (!page.more) return;
    }
  }

  async #look(): Promise<void> {
    const [record] = (await this.#inner.get([POLICY_FLOOR_KEY], { type: 'linearizable' })).records;
    this.#know(record?.modRevision ?? 0, Number(record?.meta.fields.policy ?? 0));
  }

  #know(revision: Revision, policy: Revision): void {
    if (revision <= this.#floor.revision) return;
    this.#floor.revision = revision;
    this.#floor.policy = policy;
  }
}
