import { Reader, Writer } from '../../src/protocol/bytes.ts';
import { decodeFrame, encodeFrame } from '../raft/codec.ts';
import type { Message } from '../raft/types.ts';
import { decodeReport, encodeReport, type Report } from './reports.ts';

/** A peer that has not answered by then is taken for unreachable. */
const TIMEOUT_MS = 2_000;
/** Calls to one peer that may be under way; what comes meanwhile goes with the next. */
const MAX_CALLS = 3;
/** Messages that may wait for a peer; more are dropped, as a network would. */
const MAX_WAITING = 512;
/** Bytes of entries in one call. */
const MAX_CALL_BYTES = 8 << 20;

/** Of the envelope around messages; what is in a report may grow without it. */
const FRAME_VERSION = 2;

interface Peer {
  waiting: Message[];
  calls: number;
  /** Calls of the peer's that are being served: they carry what is sent to it meanwhile. */
  serving: number;
}

export interface TransportHost {
  /** Posts a frame to a peer's `raft` operation and resolves with the frame that answers it. */
  post(peer: number, frame: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  /** What this replica tells about itself with every frame. */
  report(): Report;
  heard(peer: number, report: Report): void;
  /** Takes in messages; resolves when their effects are written. */
  step(messages: readonly Message[]): Promise<void>;
  unreachable(peer: number): void;
}

/** Raft messages between replicas: frames over `fetch`, whose answers carry messages back. */
export class Transport {
  readonly #host: TransportHost;
  readonly #peers = new Map<number, Peer>();

  constructor(host: TransportHost) {
    this.#host = host;
  }

  /** Calls under way, of this replica's and of its peers'. */
  get calls(): number {
    let calls = 0;
    for (const peer of this.#peers.values()) calls += peer.calls + peer.serving;
    return calls;
  }

  /** Sends messages, each to its receiver; lost ones are reported, never repeated. */
  send(messages: readonly Message[]): void {
    if (messages.length === 0) return;
    const touched = new Set<number>();
    for (const message of messages) {
      const peer = this.#peer(message.to);
      if (peer.waiting.length >= MAX_WAITING) peer.waiting.splice(0, MAX_WAITING / 2);
      peer.waiting.push(message);
      if (peer.serving === 0) touched.add(message.to);
    }
    for (const id of touched) this.#pump(id);
  }

  /** Serves a peer's call: takes its messages in and answers with those that wait for it. */
  async serve(from: number, frame: Uint8Array): Promise<Uint8Array> {
    const messages = this.#open(from, frame);
    const peer = this.#peer(from);
    peer.serving++;
    try {
      await this.#host.step(messages);
    } finally {
      peer.serving--;
    }
    return this.#close(take(peer));
  }

  /** A frame: version, report with its length, messages. */
  #close(messages: readonly Message[]): Uint8Array {
    const raft = encodeFrame(messages);
    return new Writer(raft.length + 32).u8(FRAME_VERSION).bytes(encodeReport(this.#host.report())).raw(raft).finish();
  }

  /** Throws RangeError or CodecError on a frame that this code does not know. */
  #open(from: number, frame: Uint8Array): Message[] {
    const reader = new Reader(frame);
    const version = reader.u8();
    if (version !== FRAME_VERSION) throw new RangeError(`frame has version ${version}`);
    const report = decodeReport(reader.bytes());
    const messages = decodeFrame(reader.rest()).filter((message) => message.from === from);
    this.#host.heard(from, report);
    return messages;
  }

  #peer(id: number): Peer {
    let peer = this.#peers.get(id);
    if (peer === undefined) {
      peer = { waiting: [], calls: 0, serving: 0 };
      this.#peers.set(id, peer);
    }
    return peer;
  }

  #pump(id: number): void {
    const peer = this.#peer(id);
    while (peer.waiting.length > 0 && peer.calls < MAX_CALLS) {
      peer.calls++;
      this.#call(id, peer, this.#close(take(peer))).catch(() => undefined);
    }
  }

  async #call(id: number, peer: Peer, frame: Uint8Array): Promise<void> {
    try {
      const answer = await this.#host.post(id, frame, TIMEOUT_MS);
      peer.calls--;
      const messages = this.#open(id, answer);
      if (messages.length > 0) await this.#host.step(messages);
    } catch {
      peer.calls--;
      this.#host.unreachable(id);
    }
    this.#pump(id);
  }
}

/** Takes what one call may carry. */
function take(peer: Peer): Message[] {
  let bytes = 0;
  let count = 0;
  for (; count < peer.waiting.length && (count === 0 || bytes < MAX_CALL_BYTES); count++) {
    const message = peer.waiting[count]!;
    if (message.type === 'append') for (const entry of message.entries) bytes += entry.data.length;
  }
  return peer.waiting.splice(0, count);
}
