import { invariant } from './invariant.ts';
import type { RaftState } from './state.ts';
import type { Append, Heartbeat, Index, NodeId, Snapshot } from './types.ts';

/** The leader sends entries. */
export function onAppend(raft: RaftState, message: Append): void {
  followLeader(raft, message.from);
  const { log } = raft;
  if (message.prevIndex < log.committed) {
    acceptUpTo(raft, message.from, log.committed);
    return;
  }
  const last = takeIn(raft, message);
  if (last !== undefined) acceptUpTo(raft, message.from, takeInHeld(raft, last));
  else if (message.pipelined && message.prevIndex > log.lastIndex) hold(raft, message);
  else refuse(raft, message);
}

/** The leader lives. Its commit index is one that this replica's log is known to reach. */
export function onHeartbeat(raft: RaftState, { from, commit, round, quiesce }: Heartbeat): void {
  followLeader(raft, from);
  raft.log.commitTo(commit);
  raft.quiescent = quiesce && raft.log.lastIndex === commit && raft.held.size === 0;
  if (!quiesce) raft.send({ type: 'heartbeat-response', to: from, round, commit: raft.log.committed });
}

/** The leader's log does not reach back to this replica's. */
export function onSnapshot(raft: RaftState, { from, snapshot }: Snapshot): void {
  followLeader(raft, from);
  const { log } = raft;
  if (log.matches(snapshot.index, snapshot.term)) log.commitTo(snapshot.index);
  if (wantsSnapshot(raft, snapshot)) raft.wantedSnapshot = { ...snapshot, from };
  else acceptUpTo(raft, from, log.committed);
}

/** Whether a state holds more than this replica's log does. */
export function wantsSnapshot(raft: RaftState, { index, term }: { index: Index; term: number }): boolean {
  return index > raft.log.committed && !raft.log.matches(index, term);
}

function followLeader(raft: RaftState, from: NodeId): void {
  invariant(raft.role !== 'leader', () => `node ${from} also leads in term ${raft.term}`);
  if (raft.role !== 'follower' || raft.leader !== from) raft.becomeFollower(raft.term, from);
  raft.heardLeader();
}

/** Appends if the log holds what comes before; returns the index up to which it equals the leader's. */
function takeIn(raft: RaftState, { prevIndex, prevTerm, entries, commit }: Append): Index | undefined {
  const last = raft.log.tryAppend({ index: prevIndex, term: prevTerm }, entries);
  if (last !== undefined) raft.log.commitTo(Math.min(commit, last));
  return last;
}

/**
 * The gap before held appends may be closed: takes in those that now fit, in order. Held ones are all of this term's
 * leader, whose log never changes below its end, so what fits by index fits by term.
 */
function takeInHeld(raft: RaftState, last: Index): Index {
  if (raft.held.size === 0) return last;
  let reached = last;
  for (const [prevIndex, message] of [...raft.held].sort(([a], [b]) => a - b)) {
    if (prevIndex > raft.log.lastIndex) break;
    raft.held.delete(prevIndex);
    reached = Math.max(reached, takeIn(raft, message) ?? 0);
  }
  raft.holdDeadline = raft.now + raft.settings.heartbeatIntervalMs;
  return reached;
}

function hold(raft: RaftState, message: Append): void {
  if (raft.held.size === 0) raft.holdDeadline = raft.now + raft.settings.heartbeatIntervalMs;
  const other = raft.held.get(message.prevIndex);
  if (other === undefined && raft.held.size >= raft.settings.maxInflightAppends) return;
  if (other === undefined || other.entries.length < message.entries.length) raft.held.set(message.prevIndex, message);
}

/** What is held has waited long enough for its predecessors: they are lost. */
export function refuseHeld(raft: RaftState): void {
  const first = Math.min(...raft.held.keys());
  const message = raft.held.get(first);
  raft.held.clear();
  if (message !== undefined) refuse(raft, message);
}

function acceptUpTo(raft: RaftState, to: NodeId, index: Index): void {
  const queue = raft.messagesAfterPersist;
  const last = queue.at(-1);
  if (last?.type === 'append-response' && last.to === to && last.term === raft.term && !last.rejected) {
    queue.pop();
    index = Math.max(index, last.index);
  }
  sendAccepted(raft, to, index);
}

/** Tells the leader that the log equals its own up to `index`. */
export function sendAccepted(raft: RaftState, to: NodeId, index: Index): void {
  const { committed: commit } = raft.log;
  raft.send({ type: 'append-response', to, index, rejected: false, hintIndex: 0, hintTerm: 0, commit });
}

/** Names where the logs may meet, so that the leader skips what cannot match. */
function refuse(raft: RaftState, { from: to, prevIndex: index, prevTerm }: Append): void {
  const { index: hintIndex, term: hintTerm } = raft.log.lastNotAbove(index, prevTerm);
  const { committed: commit } = raft.log;
  raft.send({ type: 'append-response', to, index, rejected: true, hintIndex, hintTerm, commit });
}
