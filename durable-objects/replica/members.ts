import type { Members, MembersRequest } from '../../src/protocol/members.ts';
import type { Driver } from './driver.ts';
import { Refusal } from './refusal.ts';

/** A replica without a vote that lacks no more entries than this may get one: it holds the others up but for a moment. */
const CLOSE = 64;

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
  driver.changeMembership({ steps: [{ type: 'add-learner', id }] });
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
  driver.changeMembership({
    steps: [
      { type: 'add-voter', id },
      { type: 'remove', id: old },
    ],
  });
}

function transfer(driver: Driver, to: number): void {
  if (driver.leader !== to || driver.isLeader) driver.transferLeadership(to);
}
