import type { RaftState } from './state.ts';
import { type MessageOf, NONE, type NodeId, type ReadIndexResult } from './types.ts';

/**
 * Linearizable reads without a lease (Ongaro's thesis §6.4): the leader notes its commit index, then makes sure by a
 * round of heartbeats, begun after the read came, that it was still the leader. One round at a time is under way;
 * all reads that come meanwhile share the next.
 */
export function requestRead(raft: RaftState, context: number): ReadIndexResult {
  if (raft.role === 'leader') {
    queueRead(raft, raft.id, context);
    return { ok: true };
  }
  if (raft.leader === NONE) return { ok: false, reason: 'no-leader', leader: NONE };
  raft.forwardedReads.add(context);
  raft.send({ type: 'read-index', to: raft.leader, context });
  return { ok: true };
}

/** A follower passes on a read. */
export function onReadIndex(raft: RaftState, { from, context }: MessageOf<'read-index'>): void {
  if (raft.role === 'leader') queueRead(raft, from, context);
  else refuseRead(raft, from, context);
}

/** Tells a follower that it asked the wrong replica. */
export function refuseRead(raft: RaftState, to: NodeId, context: number): void {
  raft.send({ type: 'read-index-response', to, context, index: 0, rejected: true });
}

/** The leader has answered a read that was passed on to it. */
export function onReadIndexResponse(raft: RaftState, message: MessageOf<'read-index-response'>): void {
  const { context, index, rejected } = message;
  if (!raft.forwardedReads.delete(context)) return;
  if (rejected) raft.droppedReads.push(context);
  else raft.readStates.push({ context, index });
}

function queueRead(raft: RaftState, from: NodeId, context: number): void {
  raft.waitingReads.push({ context, from, index: 0, round: 0 });
}

/**
 * Whether a round can begin: there are reads, none is under way, and the commit index is known to be the newest,
 * which a new leader knows once its first own entry is committed.
 */
export function readRoundDue(raft: RaftState): boolean {
  return raft.waitingReads.length > 0 && raft.roundReads.length === 0 && raft.log.committed >= raft.termStart;
}

/** Begins the round that the waiting reads share. */
export function startReadRound(raft: RaftState): void {
  raft.round++;
  for (const read of raft.waitingReads) raft.roundReads.push({ ...read, index: raft.log.committed, round: raft.round });
  raft.waitingReads = [];
  sendHeartbeats(raft);
  confirmReads(raft);
}

/** Tells every member that the leader is there, what is committed, and the number of the round. */
export function sendHeartbeats(raft: RaftState, quiesce = false): void {
  raft.heartbeatDeadline = raft.now + raft.settings.heartbeatIntervalMs;
  for (const [to, progress] of raft.tracker.entries()) {
    if (to === raft.id) continue;
    const commit = Math.min(progress.match, raft.log.committed);
    raft.send({ type: 'heartbeat', to, commit, round: raft.round, quiesce });
  }
}

/** Answers the reads whose round a quorum has confirmed. */
export function confirmReads(raft: RaftState): void {
  if (raft.roundReads.length === 0 || raft.tracker.quorumRound(raft.id) < raft.round) return;
  for (const { context, from, index } of raft.roundReads) {
    if (from === raft.id) raft.readStates.push({ context, index });
    else raft.send({ type: 'read-index-response', to: from, context, index, rejected: false });
  }
  raft.roundReads = [];
}
