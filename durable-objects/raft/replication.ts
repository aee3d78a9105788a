import { invariant } from './invariant.ts';
import { dataSize } from './log.ts';
import type { RaftState } from './state.ts';
import type { Progress } from './tracker.ts';
import { type AppendResponse, type Entry, type EntryType, type Index, NONE, type NodeId } from './types.ts';

/** Appends an entry of the leader's own term; sending follows at the next Ready. */
export function appendOwn(raft: RaftState, type: EntryType, data: Uint8Array): Entry {
  const entry: Entry = { index: raft.log.lastIndex + 1, term: raft.term, type, data };
  raft.log.append([entry]);
  raft.uncommittedBytes += data.length;
  return entry;
}

/**
 * Commits what a quorum holds. Only an entry of the present term proves anything; it commits all before it
 * (Raft §5.4.2). Returns whether the commit index rose.
 */
export function advanceCommit(raft: RaftState): boolean {
  const { log, tracker } = raft;
  const reached = tracker.quorumMatch();
  if (reached <= log.committed || !log.matches(reached, raft.term)) return false;
  if (raft.uncommittedBytes > 0) {
    const own = log.slice(Math.max(log.committed + 1, raft.termStart), reached + 1, Number.POSITIVE_INFINITY);
    raft.uncommittedBytes -= dataSize(own);
  }
  return log.commitTo(reached);
}

/** What the leader itself holds durably counts like any member's. */
export function ownLogDurable(raft: RaftState): void {
  raft.tracker.get(raft.id)?.accept(raft.log.stable);
  advanceCommit(raft);
}

/** Whether flushAppends would send something to the member. */
function owesAppend(raft: RaftState, progress: Progress): boolean {
  if (progress.state === 'snapshot') return false;
  // A silent member would only waste a snapshot; it is given one when it answers a heartbeat.
  if (needsSnapshot(raft, progress) && !progress.recentlyActive) return false;
  if (progress.appendOwed) return !(progress.state === 'probe' && progress.probeSent);
  if (progress.paused) return false;
  return progress.next <= raft.log.lastIndex || (progress.state === 'replicate' && owesCommit(raft, progress));
}

function needsSnapshot(raft: RaftState, progress: Progress): boolean {
  return progress.next < raft.log.firstIndex;
}

function owesCommit(raft: RaftState, progress: Progress): boolean {
  return Math.min(raft.log.committed, progress.next - 1) > progress.sentCommit;
}

/** Whether any member is owed an append. */
export function appendsOwed(raft: RaftState): boolean {
  for (const [id, progress] of raft.tracker.entries()) {
    if (id !== raft.id && owesAppend(raft, progress)) return true;
  }
  return false;
}

/** Sends every member what it is owed, as far as flow control lets it. */
export function flushAppends(raft: RaftState): void {
  for (const [id, progress] of raft.tracker.entries()) {
    while (id !== raft.id && owesAppend(raft, progress)) {
      if (needsSnapshot(raft, progress)) sendSnapshot(raft, id, progress);
      else sendAppend(raft, id, progress);
    }
  }
}

function sendAppend(raft: RaftState, to: NodeId, progress: Progress): void {
  const { log, settings } = raft;
  const prevIndex = progress.next - 1;
  const prevTerm = log.term(prevIndex);
  invariant(prevTerm !== undefined, () => `the log has no term for ${prevIndex}`);
  // With the window full an append carries nothing: it finds out whether an earlier one was lost.
  const entries = progress.paused ? [] : log.slice(progress.next, log.lastIndex + 1, settings.maxAppendBytes);
  const pipelined = progress.state === 'replicate';
  raft.send({ type: 'append', to, prevIndex, prevTerm, entries, commit: log.committed, pipelined });
  progress.sent(entries.length, dataSize(entries), Math.min(log.committed, prevIndex + entries.length));
}

function sendSnapshot(raft: RaftState, to: NodeId, progress: Progress): void {
  const snapshot = raft.settings.storage.snapshotMetadata();
  invariant(
    snapshot.index >= raft.log.firstIndex - 1 && snapshot.index <= raft.log.applied,
    () => `snapshot ${snapshot.index} is not within the applied log from ${raft.log.firstIndex}`,
  );
  progress.becomeSnapshot(snapshot.index, raft.now);
  raft.send({ type: 'snapshot', to, snapshot });
}

/** A follower accepted or refused an append, or has installed a state. */
export function onAppendResponse(raft: RaftState, message: AppendResponse): void {
  const progress = raft.tracker.get(message.from);
  if (progress === undefined) return;
  progress.recentlyActive = true;
  progress.commit = Math.max(progress.commit, message.commit);
  if (message.rejected) onRefusal(raft, progress, message);
  else onAccept(raft, progress, message.index);
  finishTransfer(raft, message.from, progress);
}

function onRefusal(raft: RaftState, progress: Progress, { index, hintIndex, hintTerm }: AppendResponse): void {
  const hint = hintTerm > 0 ? raft.log.lastNotAbove(hintIndex, hintTerm).index : hintIndex;
  if (progress.refuse(index, hint)) progress.appendOwed = true;
}

function onAccept(raft: RaftState, progress: Progress, index: Index): void {
  const news = progress.accept(index);
  if (!news && !(progress.match === index && progress.state === 'probe')) return;
  if (progress.state === 'replicate') progress.inflights.freeTo(index);
  else if (progress.state === 'probe' || progress.match + 1 >= raft.log.firstIndex) progress.becomeReplicate();
  advanceCommit(raft);
}

/** Once the target of a transfer has the whole log it is told to campaign. */
export function finishTransfer(raft: RaftState, from: NodeId, progress: Progress): void {
  if (raft.transferee === NONE || raft.transferee !== from) return;
  if (progress.match === raft.log.lastIndex) raft.send({ type: 'timeout-now', to: from });
}
