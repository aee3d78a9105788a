import type { StateMachine } from '../keyspace/state.ts';
import type { RawNode } from '../raft/node.ts';
import type { RaftLog } from './raft-log.ts';
import type { StateTransfer } from './transfer.ts';

/** What the parts of a driver share. */
export interface Core {
  readonly node: RawNode;
  readonly log: RaftLog;
  readonly transfer: StateTransfer;
  now(): number;
  /** Made anew when another replica's state takes the place of this one's. */
  state(): StateMachine;
  /** Waits a moment for a leader where none is known, the suspect aside: one that a caller could not reach. */
  findLeader(suspect: number): Promise<void>;
  /** Puts a command into the log of a leader. */
  propose(kind: number, payload: Uint8Array, now: number): void;
  /** Somebody asks for something: the replica stays awake. */
  touch(now: number): void;
  /** A turn of the core in the next macrotask: all that arrives before it shares it. */
  turnSoon(): void;
  /** Sets the timer anew: a part has another deadline. */
  arm(): void;
}
