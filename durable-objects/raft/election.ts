import { startLeading } from './leader.ts';
import type { VoteResult } from './quorum.ts';
import type { RaftState } from './state.ts';
import { type MessageOf, NONE, type PreVote, type Vote } from './types.ts';

/** Bytes of entries looked at in one go when searching for a membership change. */
const SCAN_BYTES = 1 << 20;

/**
 * Starts an election: a pre-vote, so that a replica that cannot win does not disturb the others by raising the term
 * (Ongaro's thesis §9.6), or at once the real vote if the leader asked for it or nobody else votes.
 */
export function campaign(raft: RaftState, transfer: boolean): void {
  if (raft.role === 'leader' || !raft.mayCampaign) return;
  if (hasUnappliedMembership(raft)) {
    raft.restartElectionTimer();
    return;
  }
  if (transfer || raft.tracker.isSoleVoter(raft.id)) {
    campaignForReal(raft, transfer);
    return;
  }
  raft.becomePreCandidate();
  requestVotes(raft, 'pre-vote');
  finishPreVote(raft, raft.tracker.recordVote(raft.id, true));
}

function campaignForReal(raft: RaftState, transfer: boolean): void {
  raft.becomeCandidate(transfer);
  requestVotes(raft, 'vote');
}

function requestVotes(raft: RaftState, type: 'pre-vote' | 'vote'): void {
  const position = { lastIndex: raft.log.lastIndex, lastTerm: raft.log.lastTerm };
  for (const to of raft.tracker.voters()) {
    if (to === raft.id) continue;
    if (type === 'pre-vote') raft.send({ type, to, term: raft.term + 1, ...position });
    else raft.send({ type, to, ...position, transfer: raft.campaignIsTransfer });
  }
}

/**
 * Counts the candidate's vote for itself, once that is durable: counted earlier, a crash could let it vote again in
 * the same term for somebody else.
 */
export function ownVoteDurable(raft: RaftState): void {
  finishVote(raft, raft.tracker.recordVote(raft.id, true));
}

/** Answers a request for a vote or pre-vote of a term not below ours. */
export function answerVote(raft: RaftState, message: Vote | PreVote): void {
  const { from: to, term, type } = message;
  const free = raft.vote === to || (raft.vote === NONE && raft.leader === NONE);
  const couldVote = free || (type === 'pre-vote' && term > raft.term);
  const granted = couldVote && raft.log.isUpToDate(message.lastIndex, message.lastTerm);
  if (type === 'pre-vote') {
    // A grant speaks about the asked term, a refusal tells ours.
    raft.send({ type: 'pre-vote-response', to, granted, term: granted ? term : raft.term });
    return;
  }
  raft.send({ type: 'vote-response', to, granted });
  if (granted) {
    raft.vote = to;
    raft.restartElectionTimer();
  }
}

/** Counts an answer to a pre-vote. */
export function countPreVote(raft: RaftState, message: MessageOf<'pre-vote-response'>): void {
  if (raft.role !== 'pre-candidate') return;
  if (message.granted && message.term !== raft.term + 1) return;
  finishPreVote(raft, raft.tracker.recordVote(message.from, message.granted));
}

function finishPreVote(raft: RaftState, result: VoteResult): void {
  if (result === 'won') campaignForReal(raft, false);
  else if (result === 'lost') raft.becomeFollower(raft.term, NONE);
}

/** Counts an answer to a vote of the present term. */
export function countVote(raft: RaftState, message: MessageOf<'vote-response'>): void {
  if (raft.role === 'candidate') finishVote(raft, raft.tracker.recordVote(message.from, message.granted));
}

function finishVote(raft: RaftState, result: VoteResult): void {
  if (result === 'won') startLeading(raft);
  else if (result === 'lost') raft.becomeFollower(raft.term, NONE);
}

/** The leader hands over: campaigns without asking whether a leader is in charge. */
export function onTimeoutNow(raft: RaftState): void {
  if (raft.role === 'follower') campaign(raft, true);
}

/** A committed membership change that is not applied yet: until it is, this replica does not know who votes. */
function hasUnappliedMembership(raft: RaftState): boolean {
  const { log } = raft;
  for (let at = log.applied + 1; at <= log.committed; ) {
    const entries = log.slice(at, log.committed + 1, SCAN_BYTES);
    if (entries.some((entry) => entry.type === 'membership')) return true;
    at += entries.length;
  }
  return false;
}
