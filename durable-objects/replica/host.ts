import type { Format } from '../../src/protocol/commands.ts';
import type { Message } from '../raft/types.ts';

/** What the driver needs of the Durable Object. */
export interface Host {
  id: number;
  now(): number;
  random(): number;
  /** Passes messages on to their receivers. */
  send(messages: readonly Message[]): void;
  /** Resolves in a later macrotask, so that what was sent leaves before the next write. */
  yieldTask(): Promise<void>;
  /** Runs writes as one transaction. */
  transaction(write: () => void): void;
  /** Asks for the driver's `tick` at a time; undefined: no timer is needed. */
  setTimer(at: number | undefined): void;
  /** The replica falls silent: what must survive sleep is to be kept, and it wants to be woken at `alarm`. */
  sleep(alarm: number | undefined): void;
  /** No leader has been known for a while: watchers would hear nothing here, so they should go on elsewhere. */
  orphaned(): void;
  /** The leader wrote outbox rows. */
  pokeLoops(): void;
  /** The format of entries that this code knows, where it is not the present one. */
  format?: Format;
  /** Asks a peer's state transfer for a chunk of state; rejects when it does not answer in time. */
  fetchState(peer: number, request: Uint8Array): Promise<Uint8Array>;
  /**
   * Passes a proposal on to the leader, for a Worker that cannot reach it; resolves with the leader's answer, rejects when
   * there is none in time.
   */
  forward(leader: number, proposal: Uint8Array): Promise<Uint8Array>;
  /** The core's assumptions are broken: build everything anew from disk. */
  fail(error: unknown): void;
}
