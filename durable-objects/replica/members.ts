import type { Members, MembersRequest } from '../../src/protocol/members.ts';
import type { MembershipChange, ProposeResult } from '../raft/types.ts';
import type { Core } from './core.ts';
import type { Driver } from './driver.ts';
import { Refusal } from './refusal.ts';

/** A replica without a vote that lacks no more entries than this may get one: it holds the others up but for a moment. */
const CLOSE = 64;

/** Changes of who belongs to the group and who leads it; only a leader takes them. */
export class Membership {
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  /**
   * Proposes a change; the driver's status shows when it is in force. Refuses with `notLeader`, `unavailable` while
   * another is under way, `malformed` when it makes no sense.
   */
  change(change: MembershipChange): void {
    const now = this.#core.now();
    this.#core.touch(now);
    let result: ProposeResult;
    try {
      result = this.#core.node.proposeMembership(change, now);
    } catch (error) {
      if (error instanceof RangeError) throw new Refusal('malformed');
      throw error;
    }
    if (!result.ok) throw new Refusal(result.reason === 'not-leader' ? 'notLeader' : 'unavailable');
    this.#core.turnSoon();
  }

  /** Begins to hand leadership to a voter; refuses with `notLeader` or `malformed`. */
  transfer(to: number): void {
    const now = this.#core.now();
    this.#core.touch(now);
    const result = this.#core.node.transferLeadership(to, now);
    if (!result.ok) throw new Refusal(result.reason === 'not-leader' ? 'notLeader' : 'malformed');
    this.#core.turnSoon();
  }
}

/** Carries out a change of membership, as far as it is due, and tells what the membership is. */
export function serveMembers(driver: Driver, request: MembersRequest): Members {
  if (request.action === 'add') add(driver, request.id);
  else if (request.action === 'replace') replace(driver, request.id, request.old);
  else if (request.action === 'transfer') transfer(driver, request.to);
  else if (request.action !== 'show') throw new Refusal('malformed');
  return membersOf(driver);
}

function membersOf(driver: Driver): Members {
  const { leader, applied, lastIndex, membership, highestId, peers } = driver.status();
  const { voters, learners, votersOutgoing } = membership;
  const behind = peers.map(({ id, state, match }) => ({ id, state, entries: lastIndex - match }));
  return { leader, applied, voters, learners, votersOutgoing, highestId, behind };
}

function add(driver: Driver, id: number): void {
  const { membership, highestId } = driver.status();
  if (membership.learners.includes(id) || membership.voters.includes(id)) return;
  if (id <= highestId) throw new Refusal('malformed');
  driver.membership.change({ steps: [{ type: 'add-learner', id }] });
}

function replace(driver: Driver, id: number, old: number): void {
  const { id: self, membership, lastIndex, peers } = driver.status();
  const { voters, learners, votersOutgoing } = membership;
  if (votersOutgoing.length > 0) throw new Refusal('unavailable');
  if (voters.includes(id) && !voters.includes(old)) return;
  if (!learners.includes(id) || !voters.includes(old)) throw new Refusal('malformed');
  const progress = peers.find((peer) => peer.id === id);
  if (progress?.state !== 'replicate' || lastIndex - progress.match > CLOSE) throw new Refusal('unavailable');
  if (old === self) {
    const others = peers.filter((peer) => voters.includes(peer.id) && peer.id !== self);
    const next = others.reduce((best, peer) => (peer.match > best.match ? peer : best), others[0] ?? progress);
    if (others.length > 0) {
      transfer(driver, next.id);
      throw new Refusal('unavailable');
    }
  }
  driver.membership.change({
    steps: [
      { type: 'add-voter', id },
      { type: 'remove', id: old },
    ],
  });
}

function transfer(driver: Driver, to: number): void {
  if (driver.leader !== to || driver.isLeader) driver.membership.transfer(to);
}
