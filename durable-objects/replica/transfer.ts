import type { Storage } from '../keyspace/storage.ts';
import type { RawNode } from '../raft/node.ts';
import type { Index, NodeId } from '../raft/types.ts';
import { decodeChunk, decodeStateRequest, encodeStateRequest, type StateHead } from './chunks.ts';
import { type Staging, StateSink } from './state-sink.ts';
import { StateSource } from './state-source.ts';

/** Calls in a row that may fail before a transfer is given up, until the leader announces it again. */
const MAX_FAILURES = 3;

export interface TransferHost {
  now(): number;
  transaction(write: () => void): void;
  /** Asks a peer for the next chunk of its state; rejects when it does not answer in time. */
  fetchState(peer: NodeId, request: Uint8Array): Promise<Uint8Array>;
}

/** What a transfer needs of the driver. */
export interface TransferOwner {
  node: RawNode;
  /** The state now, all of it written. */
  head(): StateHead;
  storage(): Storage;
  /** Resolves when no turn of the core is under way. */
  idle(): Promise<void>;
  /** Replaces the state: `install` is to run in the transaction that empties the log. */
  replace(head: StateHead, install: () => Storage): void;
  fail(error: unknown): void;
}

/** Both ends of the transfer of a replica's state to one that the leader's log does not reach back to. */
export class StateTransfer {
  readonly #host: TransferHost;
  readonly #owner: TransferOwner;
  readonly #staging: Staging | undefined;
  readonly #source: StateSource;
  #receiving = false;

  constructor(host: TransferHost, owner: TransferOwner, staging: Staging | undefined) {
    this.#host = host;
    this.#owner = owner;
    this.#staging = staging;
    this.#source = new StateSource({
      now: () => host.now(),
      head: () => owner.head(),
      storage: () => owner.storage(),
    });
  }

  /** Answers a peer's request for a chunk. Throws RangeError when it cannot be read. */
  serve(peer: NodeId, request: Uint8Array): Uint8Array {
    return this.#source.serve(peer, decodeStateRequest(request));
  }

  /** Log entries up to here are not needed by any state under way. */
  get floor(): Index {
    return this.#source.floor;
  }

  /** Whether history must stay as it is. */
  get pinned(): boolean {
    return this.#source.pinned;
  }

  /** A leader knows how far its peers have come: those that hold the log after their state need it no more. */
  note(peers: readonly { id: NodeId; match: Index }[]): void {
    for (const { id, match } of peers) this.#source.reached(id, match);
  }

  /** Fetches the state of a peer and puts it in place of the own one, unless that is under way. */
  receive(from: NodeId): void {
    if (this.#receiving || this.#staging === undefined) return;
    this.#receiving = true;
    this.#receive(from, this.#staging)
      .catch((error) => this.#owner.fail(error))
      .finally(() => {
        this.#receiving = false;
      });
  }

  async #receive(from: NodeId, staging: Staging): Promise<void> {
    const sink = new StateSink(staging, (write) => this.#host.transaction(write));
    const head = await this.#fetchAll(from, sink);
    if (head === undefined) return;
    await this.#owner.idle();
    if (this.#owner.node.isLeader || !this.#owner.node.wantsSnapshot(head)) sink.discard();
    else this.#owner.replace(head, () => sink.install(head));
  }

  async #fetchAll(from: NodeId, sink: StateSink): Promise<StateHead | undefined> {
    for (let failures = 0; failures < MAX_FAILURES; ) {
      const request = encodeStateRequest(sink.request);
      let bytes: Uint8Array;
      try {
        bytes = await this.#host.fetchState(from, request);
      } catch {
        failures++;
        continue;
      }
      const chunk = readChunk(bytes);
      const head = chunk && sink.take(chunk);
      if (head !== undefined) return head;
      failures = chunk === undefined ? failures + 1 : 0;
    }
    return undefined;
  }
}

/** Undefined for a chunk that is damaged: it is asked for again. */
function readChunk(bytes: Uint8Array) {
  try {
    return decodeChunk(bytes);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
