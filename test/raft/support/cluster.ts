import { decodeFrame, encodeFrame } from '../../../durable-objects/raft/codec.ts';
import { initialMembership } from '../../../durable-objects/raft/membership.ts';
import { RawNode } from '../../../durable-objects/raft/node.ts';
import type { Config, Membership, Message, NodeId, Ready } from '../../../durable-objects/raft/types.ts';
import { MemoryStorage } from './memory-storage.ts';

export type Options = Omit<Config, 'id' | 'storage' | 'applied' | 'random' | 'now'>;

/** One replica: its disk, which outlives crashes, and its node while it runs. */
export interface Replica {
  id: NodeId;
  storage: MemoryStorage;
  node: RawNode | undefined;
  /** A Ready that was taken and not carried out yet. */
  taken: Ready | undefined;
}

/** Replicas, one clock, and the messages between them. */
export class Cluster {
  readonly replicas = new Map<NodeId, Replica>();
  readonly inFlight: Message[] = [];
  readonly cut = new Set<NodeId>();
  now = 0;
  readonly #options: Options;
  readonly #random: (id: NodeId) => () => number;

  constructor(options: Options, random: (id: NodeId) => () => number) {
    this.#options = options;
    this.#random = random;
  }

  addMembers(voters: readonly NodeId[], learners: readonly NodeId[] = []): void {
    const membership: Membership = { ...initialMembership(voters), learners: [...learners] };
    for (const id of [...voters, ...learners]) this.add(id, membership);
  }

  /** A replica that knows of no members learns them from a leader. */
  add(id: NodeId, membership: Membership = initialMembership([])): void {
    this.replicas.set(id, { id, storage: new MemoryStorage(membership), node: undefined, taken: undefined });
    this.start(id);
  }

  replica(id: NodeId): Replica {
    const replica = this.replicas.get(id);
    if (replica === undefined) throw new Error(`no replica ${id}`);
    return replica;
  }

  node(id: NodeId): RawNode {
    const { node } = this.replica(id);
    if (node === undefined) throw new Error(`replica ${id} is down`);
    return node;
  }

  running(): Replica[] {
    return [...this.replicas.values()].filter(({ node }) => node !== undefined).sort((a, b) => a.id - b.id);
  }

  start(id: NodeId): void {
    const replica = this.replica(id);
    const { storage } = replica;
    const random = this.#random(id);
    replica.node = new RawNode({ ...this.#options, id, storage, applied: storage.applied, random, now: this.now });
  }

  /** Loses whatever is not on disk. */
  crash(id: NodeId): void {
    const replica = this.replica(id);
    replica.node = undefined;
    replica.taken = undefined;
  }

  /** Takes the next Ready and sends what need not wait. */
  take(id: NodeId): Ready {
    const ready = this.node(id).ready();
    this.replica(id).taken = ready;
    this.post(ready.messages);
    return ready;
  }

  /** Carries out the rest of the taken Ready. */
  finish(id: NodeId): void {
    const replica = this.replica(id);
    const ready = replica.taken;
    if (ready === undefined) throw new Error(`replica ${id} has no Ready taken`);
    replica.taken = undefined;
    replica.storage.persist(ready);
    this.node(id).advance(ready);
    this.post(ready.messagesAfterPersist);
  }

  /**
   * Sends, in the form that travels; what goes to or comes from a replica that is cut off, or to one that is down, is
   * lost.
   */
  post(messages: readonly Message[]): void {
    const reaches = ({ from, to }: Message) =>
      !this.cut.has(from) && !this.cut.has(to) && this.replicas.get(to)?.node !== undefined;
    this.inFlight.push(...decodeFrame(encodeFrame(messages.filter(reaches))));
  }

  /** Takes the messages out of the network that `matches`. */
  pick(matches: (message: Message) => boolean): Message[] {
    const picked = this.inFlight.filter(matches);
    const rest = this.inFlight.filter((message) => !matches(message));
    this.inFlight.splice(0, this.inFlight.length, ...rest);
    return picked;
  }

  /** Moves the state of `from` to `to`, as a driver does after a snapshot message. */
  installSnapshot(from: NodeId, to: NodeId): boolean {
    const source = this.replica(from).storage;
    const snapshot = source.snapshotMetadata();
    const node = this.node(to);
    if (!node.wantsSnapshot(snapshot)) return false;
    this.replica(to).storage.install(snapshot, source.state);
    node.restore(snapshot, this.now);
    return true;
  }
}
