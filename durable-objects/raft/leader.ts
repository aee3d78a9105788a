import { encodeMembership } from './codec.ts';
import { changeMembership } from './membership.ts';
import { confirmReads, sendHeartbeats } from './reads.ts';
import { appendOwn, finishTransfer, ownLogDurable } from './replication.ts';
import type { RaftState } from './state.ts';
import {
  type EntryType,
  type HeartbeatResponse,
  type MembershipChange,
  NONE,
  type NodeId,
  type ProposeResult,
  type TransferResult,
} from './types.ts';

const NO_DATA = new Uint8Array(0);

/** Takes over: what earlier terms left is committed together with a first, empty entry of the new term. */
export function startLeading(raft: RaftState): void {
  raft.becomeLeader();
  const own = raft.tracker.get(raft.id);
  own?.becomeReplicate();
  appendOwn(raft, 'normal', NO_DATA);
  ownLogDurable(raft);
}

/** What a leader does when time has passed. */
export function tickLeader(raft: RaftState): void {
  if (raft.transferee !== NONE && raft.now >= raft.transferDeadline) raft.transferee = NONE;
  if (raft.now >= raft.electionDeadline) {
    if (!raft.tracker.checkQuorum(raft.id)) {
      raft.becomeFollower(raft.term, NONE);
      return;
    }
    raft.leaderHeardAt = raft.now;
    raft.electionDeadline = raft.now + raft.settings.electionTimeoutMs;
  }
  if (raft.now >= raft.heartbeatDeadline) sendHeartbeats(raft);
}

/** A follower answered a heartbeat: it lives, so whatever was lost on the way to it is tried again. */
export function onHeartbeatResponse(raft: RaftState, { from, round, commit }: HeartbeatResponse): void {
  const progress = raft.tracker.get(from);
  if (progress === undefined) return;
  progress.recentlyActive = true;
  progress.ackedRound = Math.max(progress.ackedRound, round);
  progress.commit = Math.max(progress.commit, commit);
  progress.probeSent = false;
  const { now, settings } = raft;
  if (progress.state === 'snapshot' && now - progress.snapshotSentAt >= settings.electionTimeoutMs) {
    progress.abandonSnapshot();
  }
  if (progress.match < raft.log.lastIndex || progress.state === 'probe') progress.appendOwed = true;
  confirmReads(raft);
  settleMembership(raft);
}

/** Appends an entry on behalf of a client. */
export function propose(raft: RaftState, type: EntryType, data: Uint8Array): ProposeResult {
  const { leader, uncommittedBytes, settings } = raft;
  if (raft.role !== 'leader') return { ok: false, reason: 'not-leader', leader };
  if (raft.transferee !== NONE) return { ok: false, reason: 'transferring', leader };
  if (uncommittedBytes > 0 && uncommittedBytes + data.length > settings.maxUncommittedBytes) {
    return { ok: false, reason: 'overloaded', leader };
  }
  const { index, term } = appendOwn(raft, type, data);
  return { ok: true, index, term };
}

/**
 * Appends a change of membership, as the whole membership that results: a replica that joins later and reads the log
 * from its start needs no other. Throws RangeError if the change makes no sense for the present membership.
 */
export function proposeMembership(raft: RaftState, change: MembershipChange): ProposeResult {
  const { leader, tracker } = raft;
  if (raft.role !== 'leader') return { ok: false, reason: 'not-leader', leader };
  if (!membershipSettled(raft) || (tracker.isJoint && change.steps.length > 0)) {
    return { ok: false, reason: 'membership-pending', leader };
  }
  const result = propose(raft, 'membership', encodeMembership(changeMembership(tracker.membership, change)));
  if (result.ok) raft.membershipIndex = result.index;
  return result;
}

/**
 * Whether the last change of membership is applied here and known to be committed at a quorum of the new members.
 * Before that no other may begin and a removed leader may not go: members act on a change only when they know that
 * it is committed, so without a leader that tells them nobody might feel entitled to campaign.
 */
function membershipSettled(raft: RaftState): boolean {
  const { log, tracker, membershipIndex } = raft;
  return membershipIndex <= log.applied && membershipIndex <= tracker.quorumCommit(raft.id, log.committed);
}

/**
 * What a leader does once a change of membership is settled: ends a joint membership that is to end by itself, and
 * steps down if it belongs to the voters no more.
 */
export function settleMembership(raft: RaftState): void {
  const { membership } = raft.tracker;
  if (raft.role !== 'leader' || (raft.isVoter && !membership.autoLeave) || !membershipSettled(raft)) return;
  if (!raft.isVoter) {
    raft.becomeFollower(raft.term, NONE);
    return;
  }
  const left = encodeMembership(changeMembership(membership, { steps: [] }));
  raft.membershipIndex = appendOwn(raft, 'membership', left).index;
}

/** Hands leadership to `to`, as soon as it has the whole log. */
export function transferLeadership(raft: RaftState, to: NodeId): TransferResult {
  const { leader } = raft;
  if (raft.role !== 'leader') return { ok: false, reason: 'not-leader', leader };
  if (!raft.tracker.membership.voters.includes(to)) return { ok: false, reason: 'not-a-voter', leader };
  raft.transferee = to === raft.id ? NONE : to;
  raft.transferDeadline = raft.now + raft.settings.electionTimeoutMs;
  const progress = raft.tracker.get(to)!;
  progress.appendOwed = to !== raft.id;
  finishTransfer(raft, to, progress);
  return { ok: true };
}

/**
 * Whether silence is safe: every voter has the whole log and all of it is committed and applied, so a follower that
 * is told so lacks nothing, and no answer is awaited that a timer would have to watch over.
 */
export function canQuiesce(raft: RaftState): boolean {
  const { log, tracker } = raft;
  if (raft.role !== 'leader' || raft.quiescent || raft.transferee !== NONE || tracker.isJoint) return false;
  if (!raft.isVoter) return false;
  if (raft.waitingReads.length > 0 || raft.roundReads.length > 0) return false;
  if (log.applied !== log.lastIndex || log.stable !== log.lastIndex) return false;
  for (const [, { learner, recentlyActive, match }] of tracker.entries()) {
    if (match !== log.lastIndex && !(learner && !recentlyActive)) return false;
  }
  return true;
}

/** Falls silent, and tells the others. */
export function quiesce(raft: RaftState): void {
  sendHeartbeats(raft, true);
  raft.quiescent = true;
}
