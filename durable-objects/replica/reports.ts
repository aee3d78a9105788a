import { Reader, Writer } from '../../src/protocol/bytes.ts';
import type { Checkpoint, Checkpoints } from '../keyspace/checkpoints.ts';

/** What a replica tells its peers with every frame of messages. */
export interface Report {
  /** Highest feature level that its code reads and writes. */
  level: number;
  /** Its newest digest of the state. */
  checkpoint: Checkpoint | undefined;
  /** The newest digest that it knows a majority to have. Only the leader hears of all. */
  confirmed: Checkpoint | undefined;
}

const NONE: Checkpoint = { index: 0, digest: 0 };

/** Checkpoints of a peer that are remembered. */
const KEPT = 64;

/** Encodes a report. Later versions may only add to its end. */
export function encodeReport({ level, checkpoint, confirmed }: Report): Uint8Array {
  const writer = new Writer(48).varint(level);
  for (const { index, digest } of [checkpoint ?? NONE, confirmed ?? NONE]) writer.varint(index).varint(digest);
  return writer.finish();
}

/** Decodes a report of this or any later version. Throws RangeError. */
export function decodeReport(bytes: Uint8Array): Report {
  const reader = new Reader(bytes);
  const level = reader.varint();
  const read = () => {
    const [index, digest] = [reader.varint(), reader.varint()];
    return index === 0 ? undefined : { index, digest };
  };
  return { level, checkpoint: read(), confirmed: read() };
}

interface Peer {
  level: number;
  /** Its digests by index, oldest first. */
  digests: Map<number, number>;
  /** Those that this replica has not compared, since it had not come as far. */
  ahead: Checkpoint[];
  /** Whether its state was another at the last comparison. */
  differs: boolean;
}

/** What a comparison of states came to, where they are not alike. */
export type Verdict =
  /** A majority has another state than this replica. */
  | { type: 'outvoted'; index: number }
  /** A peer has another state, and it is open who is right. */
  | { type: 'disputed'; peer: number };

/** What peers reported since this replica was started: their feature levels, and whether their states are like its own. */
export class Reports {
  readonly #peers = new Map<number, Peer>();
  #confirmed: Checkpoint | undefined;

  /** The newest digest that a majority has, this replica included. */
  get confirmed(): Checkpoint | undefined {
    return this.#confirmed;
  }

  /** Takes in a report and compares states at equal indexes; `members` are all of the group, this replica included. */
  heard(id: number, report: Report, own: Checkpoints, members: readonly number[]): Verdict | undefined {
    const peer = this.#peer(id);
    peer.level = report.level;
    const { checkpoint, confirmed } = report;
    if (confirmed !== undefined && isOther(own.at(confirmed.index), confirmed.digest))
      return { type: 'outvoted', index: confirmed.index };
    if (checkpoint !== undefined && !peer.digests.has(checkpoint.index)) {
      peer.digests.set(checkpoint.index, checkpoint.digest);
      peer.ahead.push(checkpoint);
      if (peer.digests.size > KEPT) peer.digests.delete(peer.digests.keys().next().value!);
      if (peer.ahead.length > KEPT) peer.ahead.shift();
    }
    for (const each of this.#reached(peer, own)) this.#compare(peer, each, own, members);
    if (!peer.differs) return undefined;
    return this.#outvoted(own, members) ?? { type: 'disputed', peer: id };
  }

  /** Checkpoints of a peer that this replica has come to now. */
  *#reached(peer: Peer, own: Checkpoints): Iterable<Checkpoint> {
    const reached = own.latest?.index ?? 0;
    while ((peer.ahead[0]?.index ?? Number.POSITIVE_INFINITY) <= reached) yield peer.ahead.shift()!;
  }

  #compare(peer: Peer, { index, digest }: Checkpoint, own: Checkpoints, members: readonly number[]): void {
    const mine = own.at(index);
    if (mine === undefined) return;
    peer.differs = mine !== digest;
    if (index <= (this.#confirmed?.index ?? 0)) return;
    if (this.#votes(index, mine, members) + 1 > members.length / 2) this.#confirmed = { index, digest: mine };
  }

  /** How many peers have a digest at an index. */
  #votes(index: number, digest: number, members: readonly number[]): number {
    return members.filter((id) => this.#peers.get(id)?.digests.get(index) === digest).length;
  }

  #outvoted(own: Checkpoints, members: readonly number[]): Verdict | undefined {
    for (const id of members) {
      for (const [index, digest] of this.#peers.get(id)?.digests ?? []) {
        if (isOther(own.at(index), digest) && this.#votes(index, digest, members) > members.length / 2)
          return { type: 'outvoted', index };
      }
    }
    return undefined;
  }

  /** The highest level that all members support, as far as they have reported; 0 when one has not. */
  level(members: readonly number[], self: number, own: number): number {
    return members.reduce((least, id) => Math.min(least, id === self ? own : (this.#peers.get(id)?.level ?? 0)), own);
  }

  #peer(id: number): Peer {
    let peer = this.#peers.get(id);
    if (peer === undefined) {
      peer = { level: 0, digests: new Map(), ahead: [], differs: false };
      this.#peers.set(id, peer);
    }
    return peer;
  }
}

function isOther(mine: number | undefined, digest: number): boolean {
  return mine !== undefined && mine !== digest;
}
