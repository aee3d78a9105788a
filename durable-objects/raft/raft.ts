import { answerVote, campaign, countPreVote, countVote, onTimeoutNow } from './election.ts';
import { onAppend, onHeartbeat, onSnapshot, refuseHeld, sendAccepted } from './follower.ts';
import { onHeartbeatResponse, settleMembership, tickLeader } from './leader.ts';
import { onReadIndex, onReadIndexResponse, refuseRead } from './reads.ts';
import { onAppendResponse } from './replication.ts';
import type { RaftState } from './state.ts';
import { type Message, type MessageOf, type MessageType, NONE, type Time } from './types.ts';

type Handlers = { [T in MessageType]: (raft: RaftState, message: MessageOf<T>) => void };

/** What is done with a message of the present term (or one that leaves terms alone). */
const HANDLERS: Handlers = {
  'pre-vote': answerVote,
  'pre-vote-response': countPreVote,
  vote: answerVote,
  'vote-response': countVote,
  append: onAppend,
  'append-response': ifLeader(onAppendAnswer),
  heartbeat: onHeartbeat,
  'heartbeat-response': ifLeader(onHeartbeatResponse),
  snapshot: onSnapshot,
  'timeout-now': onTimeoutNow,
  'read-index': onReadIndex,
  'read-index-response': onReadIndexResponse,
};

/** Only a leader sends these, so they name the leader of their term. */
const FROM_LEADER: ReadonlySet<MessageType> = new Set(['append', 'heartbeat', 'snapshot']);

/** These end nobody's rest: they answer what a leader sent before it fell silent. */
const LATE_ANSWERS: ReadonlySet<MessageType> = new Set(['append-response', 'heartbeat-response']);

/** Takes in a message from a peer. */
export function step(raft: RaftState, message: Message): void {
  if (message.to !== raft.id || message.from === raft.id) return;
  if (raft.quiescent && wakes(message)) wake(raft);
  if (message.term > raft.term) {
    if (!stepHigherTerm(raft, message)) return;
  } else if (message.term < raft.term) {
    stepLowerTerm(raft, message);
    return;
  }
  const handle = HANDLERS[message.type] as (raft: RaftState, message: Message) => void;
  handle(raft, message);
}

/** Adopts a higher term where the message is a reason to. False if the message is to be ignored. */
function stepHigherTerm(raft: RaftState, message: Message): boolean {
  const { type, term, from } = message;
  const asksVote = type === 'vote' || type === 'pre-vote';
  // Who hears a leader does not help to replace it, or a partitioned replica could depose one that works
  // (Ongaro's thesis §4.2.3), unless that leader has asked for it.
  if (asksVote && raft.inLease && !(type === 'vote' && message.transfer)) return false;
  const keepsTerm = type === 'pre-vote' || (type === 'pre-vote-response' && message.granted);
  if (!keepsTerm) raft.becomeFollower(term, FROM_LEADER.has(type) ? from : NONE);
  return true;
}

/** Tells the sender of a stale message the present term where it would else go on in vain. */
function stepLowerTerm(raft: RaftState, message: Message): void {
  const { type, from: to } = message;
  if (FROM_LEADER.has(type)) {
    sendAccepted(raft, to, 0);
  } else if (type === 'pre-vote') {
    raft.send({ type: 'pre-vote-response', to, granted: false });
  } else if (type === 'read-index') {
    refuseRead(raft, to, message.context);
  }
}

function onAppendAnswer(raft: RaftState, message: MessageOf<'append-response'>): void {
  onAppendResponse(raft, message);
  settleMembership(raft);
}

function ifLeader<T extends MessageType>(handle: (raft: RaftState, message: MessageOf<T>) => void) {
  return (raft: RaftState, message: MessageOf<T>): void => {
    if (raft.role === 'leader') handle(raft, message);
  };
}

function wakes(message: Message): boolean {
  return !LATE_ANSWERS.has(message.type) && !(message.type === 'heartbeat' && message.quiesce);
}

/**
 * Ends the rest. Nothing that was known of the others before it counts any more: a leader has to hear a quorum anew,
 * a follower has to hear its leader within an election timeout and meanwhile does not protect it.
 */
export function wake(raft: RaftState): void {
  if (!raft.quiescent) return;
  raft.quiescent = false;
  raft.leaderHeardAt = Number.NEGATIVE_INFINITY;
  if (raft.role === 'leader') {
    raft.tracker.checkQuorum(raft.id);
    raft.electionDeadline = raft.now + raft.settings.electionTimeoutMs;
    raft.heartbeatDeadline = raft.now;
  } else {
    raft.restartElectionTimer();
  }
}

/** Lets the timers fire whose time has come. */
export function tick(raft: RaftState): void {
  if (raft.quiescent) return;
  if (raft.role === 'leader') tickLeader(raft);
  else if (raft.mayCampaign && raft.now >= raft.electionDeadline) campaign(raft, false);
  if (raft.held.size > 0 && raft.now >= raft.holdDeadline) refuseHeld(raft);
}

/** When the next timer fires; undefined if none runs. */
export function nextDeadline(raft: RaftState): Time | undefined {
  if (raft.quiescent) return undefined;
  const running: Time[] = [];
  if (raft.held.size > 0) running.push(raft.holdDeadline);
  if (raft.role !== 'leader') {
    if (raft.mayCampaign) running.push(raft.electionDeadline);
  } else if (raft.tracker.hasPeers(raft.id)) {
    running.push(raft.heartbeatDeadline, raft.electionDeadline);
    if (raft.transferee !== NONE) running.push(raft.transferDeadline);
  }
  return running.length === 0 ? undefined : Math.min(...running);
}
