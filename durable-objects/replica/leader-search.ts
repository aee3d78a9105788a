import type { RawNode } from '../raft/node.ts';
import { Refusal } from './refusal.ts';

/** How long a replica without a leader keeps its watchers. */
const ORPHANED_MS = 3_000;
/** How often a replica that knows no leader starts an election because it is asked something. */
const CAMPAIGN_MS = 200;
/** How much longer each further replica of a group waits with that, so that those woken together do not compete. */
const CAMPAIGN_STEP_MS = 40;
/** How long an operation waits for an election. */
const LEADER_WAIT_MS = 600;
/** Operations that may wait for an election; more are refused as `overloaded`. */
const MAX_WAITS = 10_000;

/** Operations that wait for a leader, and the elections that are held because of them. */
export class LeaderSearch {
  readonly #node: RawNode;
  readonly #campaigned: () => void;
  #waits: { resolve: () => void; deadline: number }[] = [];
  #leaderlessSince: number | undefined;
  #campaignedAt = Number.NEGATIVE_INFINITY;
  /** When to start the election that somebody waits for. */
  #campaignAt: number | undefined;

  /** `campaigned` is called when an election was started: the core has something to send. */
  constructor(node: RawNode, campaigned: () => void) {
    this.#node = node;
    this.#campaigned = campaigned;
  }

  /** When {@link tick} is due; undefined while nobody waits. */
  get deadline(): number | undefined {
    const wait = this.#waits[0]?.deadline;
    return wait === undefined ? this.#campaignAt : Math.min(wait, this.#campaignAt ?? wait);
  }

  /**
   * Undefined when a leader is known, the suspect aside (one that a caller could not reach: a replica that fell silent
   * with it would never notice). Else starts an election where one is due; resolves with a leader, or after 600 ms.
   */
  find(suspect: number, now: number): Promise<void> | undefined {
    const node = this.#node;
    const lost = node.isQuiescent && node.leader === suspect && !node.isLeader;
    if (node.leader !== 0 && !lost) return undefined;
    const rank = node.status().membership.voters.filter((id) => id < node.id && id !== suspect).length;
    const at = Math.max(now + (lost ? 0 : rank * CAMPAIGN_STEP_MS), this.#campaignedAt + CAMPAIGN_MS);
    this.#campaignAt = Math.min(at, this.#campaignAt ?? at);
    this.#campaignIfDue(now);
    if (this.#waits.length >= MAX_WAITS) throw new Refusal('overloaded');
    return new Promise((resolve) => {
      this.#waits.push({ resolve, deadline: now + LEADER_WAIT_MS });
    });
  }

  /** Whether this replica hears from a leader that a caller could not reach. */
  follows(suspect: number): boolean {
    const node = this.#node;
    return suspect !== 0 && node.leader === suspect && !node.isLeader && !node.isQuiescent;
  }

  /** A leader is known, or none is looked for any more. */
  end(): void {
    this.#campaignAt = undefined;
    for (const { resolve } of this.#waits.splice(0)) resolve();
  }

  /** Lets time pass. */
  tick(now: number): void {
    while ((this.#waits[0]?.deadline ?? now + 1) <= now) this.#waits.shift()?.resolve();
    this.#campaignIfDue(now);
  }

  /** Whether there has been no leader for so long that watchers should look for another replica; begins anew then. */
  orphaned(now: number): boolean {
    if (this.#node.leader !== 0) this.#leaderlessSince = undefined;
    else this.#leaderlessSince ??= now;
    if (now - (this.#leaderlessSince ?? now) < ORPHANED_MS) return false;
    this.#leaderlessSince = now;
    return true;
  }

  #campaignIfDue(now: number): void {
    if (this.#campaignAt === undefined || now < this.#campaignAt) return;
    this.#campaignAt = undefined;
    this.#campaignedAt = now;
    this.#node.campaign(now);
    this.#campaigned();
  }
}
