import type { Format } from '../../src/protocol/commands.ts';
import type { Outcome } from '../keyspace/state.ts';
import type { Entry } from '../raft/types.ts';
import { Refusal } from './refusal.ts';

/** Proposals that may wait for their commit at once; more are refused as `overloaded`, and never get into the log. */
const MAX_PROPOSALS = 4_096;
const MAX_PROPOSAL_BYTES = 12 << 20;

interface Proposal {
  term: number;
  resolve: (outcome: Outcome) => void;
  reject: (reason: Refusal) => void;
}

/** Entries that this replica put into its log as leader, until they are applied. */
export class Proposals {
  readonly #waiting = new Map<number, Proposal>();

  get pending(): boolean {
    return this.#waiting.size > 0;
  }

  get full(): boolean {
    return this.#waiting.size >= MAX_PROPOSALS;
  }

  /** Resolves with what becomes of the entry at an index; refused as `notLeader` when another took its place. */
  add(index: number, term: number): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(index, { term, resolve, reject });
    });
  }

  /** An entry has been applied. */
  applied({ index, term }: Entry, outcome: Outcome | undefined): void {
    const proposal = this.#waiting.get(index);
    if (proposal === undefined) return;
    this.#waiting.delete(index);
    if (proposal.term === term && outcome !== undefined) proposal.resolve(outcome);
    else proposal.reject(new Refusal('notLeader'));
  }

  /** Nothing more is heard of any: they may commit yet, through other replicas. */
  giveUp(): void {
    for (const { reject } of this.#waiting.values()) reject(new Refusal('unknown'));
    this.#waiting.clear();
  }
}

/**
 * The keys of the records that a batch was decided on. Refuses a payload that cannot be decoded: it must not get into the
 * log, where it would stop every replica.
 */
export function conditionKeys(entry: Uint8Array, format: Format): string[] {
  if (entry.length > MAX_PROPOSAL_BYTES) throw new Refusal('tooLarge');
  try {
    const command = format.decode(entry);
    return command.kind === 'batch' ? command.conditions.map(({ key }) => key) : [];
  } catch {
    throw new Refusal('malformed');
  }
}
