import { decodeMembership } from './codec.ts';
import type {
  Entry,
  HardState,
  Membership,
  Message,
  MessageOf,
  MessageType,
  PeerStatus,
  Ready,
  SnapshotMetadata,
  SoftState,
  Status,
} from './types.ts';

/** The one place that renders the core's types, for logs, transcripts and failures. Output is stable. */

const MAX_DATA_SHOWN = 40;

/** `12/3 "text"`: index, term and data, shortened; `12/3` alone for an empty entry. */
export function describeEntry(entry: Entry): string {
  const position = `${entry.index}/${entry.term}`;
  if (entry.type === 'membership') return `${position} ${describeMembership(decodeMembership(entry.data))}`;
  return entry.data.length === 0 ? position : `${position} ${describeData(entry.data)}`;
}

function describeData(data: Uint8Array): string {
  const text = new TextDecoder().decode(data.subarray(0, MAX_DATA_SHOWN));
  return JSON.stringify(text) + (data.length > MAX_DATA_SHOWN ? `+${data.length - MAX_DATA_SHOWN}` : '');
}

export function describeEntries(entries: readonly Entry[]): string {
  return `[${entries.map(describeEntry).join(', ')}]`;
}

export function describeHardState({ term, vote, commit }: HardState): string {
  return `term=${term} vote=${vote} commit=${commit}`;
}

export function describeSoftState({ role, leader }: SoftState): string {
  return `${role} leader=${leader}`;
}

/** `voters=(1 2 3)`, with `&&(1 2)` for the old voters of a joint membership. */
export function describeMembership(membership: Membership): string {
  const { voters, votersOutgoing, learners, learnersNext } = membership;
  const outgoing = votersOutgoing.length > 0 ? `&&${describeIds(votersOutgoing)}` : '';
  const parts = [`voters=${describeIds(voters)}${outgoing}`];
  if (learners.length > 0) parts.push(`learners=${describeIds(learners)}`);
  if (learnersNext.length > 0) parts.push(`learners-next=${describeIds(learnersNext)}`);
  return parts.join(' ');
}

function describeIds(ids: readonly number[]): string {
  return `(${ids.join(' ')})`;
}

export function describeSnapshot({ index, term, membership }: SnapshotMetadata): string {
  return `${index}/${term} ${describeMembership(membership)}`;
}

type Details = { readonly [T in MessageType]: (message: MessageOf<T>) => string };

const flag = (name: string, value: boolean): string => (value ? ` ${name}` : '');

const DETAILS: Details = {
  'pre-vote': ({ lastIndex, lastTerm }) => ` last=${lastIndex}/${lastTerm}`,
  'pre-vote-response': ({ granted }) => (granted ? ' granted' : ' refused'),
  vote: ({ lastIndex, lastTerm, transfer }) => ` last=${lastIndex}/${lastTerm}${flag('transfer', transfer)}`,
  'vote-response': ({ granted }) => (granted ? ' granted' : ' refused'),
  append: ({ prevIndex, prevTerm, commit, entries, pipelined }) =>
    ` prev=${prevIndex}/${prevTerm} commit=${commit}${flag('pipelined', pipelined)} ${describeEntries(entries)}`,
  'append-response': ({ index, rejected, hintIndex, hintTerm, commit }) =>
    rejected ? ` refused prev=${index} hint=${hintIndex}/${hintTerm}` : ` index=${index} commit=${commit}`,
  heartbeat: ({ commit, round, quiesce }) => ` commit=${commit} round=${round}${flag('quiesce', quiesce)}`,
  'heartbeat-response': ({ round, commit }) => ` round=${round} commit=${commit}`,
  snapshot: ({ snapshot }) => ` ${describeSnapshot(snapshot)}`,
  'timeout-now': () => '',
  'read-index': ({ context }) => ` context=${context}`,
  'read-index-response': ({ context, index, rejected }) =>
    ` context=${context}${rejected ? ' refused' : ` index=${index}`}`,
};

/** `1->2 append term=1 prev=…`: sender, receiver, type, term and what the type carries. */
export function describeMessage(message: Message): string {
  const details = DETAILS[message.type] as (message: Message) => string;
  return `${message.from}->${message.to} ${message.type} term=${message.term}${details(message)}`;
}

/** One line for each thing that a Ready asks for; none if it is empty. */
export function describeReady(ready: Ready): string[] {
  const lines: string[] = [];
  if (ready.softState) lines.push(`state: ${describeSoftState(ready.softState)}`);
  for (const message of ready.messages) lines.push(`send: ${describeMessage(message)}`);
  const sync = ready.mustSync ? '' : ' (no sync)';
  if (ready.hardState) lines.push(`persist: ${describeHardState(ready.hardState)}${sync}`);
  if (ready.entries.length > 0) lines.push(`persist: ${describeEntries(ready.entries)}`);
  for (const message of ready.messagesAfterPersist) lines.push(`send after: ${describeMessage(message)}`);
  if (ready.committedEntries.length > 0) lines.push(`apply: ${describeEntries(ready.committedEntries)}`);
  if (ready.membership) lines.push(`membership: ${describeMembership(ready.membership)}`);
  if (ready.wantedSnapshot) {
    lines.push(`fetch snapshot: ${describeSnapshot(ready.wantedSnapshot)} from ${ready.wantedSnapshot.from}`);
  }
  for (const { context, index } of ready.readStates) lines.push(`read: context=${context} index=${index}`);
  for (const context of ready.droppedReads) lines.push(`read dropped: context=${context}`);
  return lines;
}

/** One line: role, term, log and leader. */
export function describeStatus(status: Status): string {
  const { id, role, leader, term, vote, commit, applied, lastIndex, quiescent, transferee } = status;
  const rest = flag('quiescent', quiescent) + (transferee > 0 ? ` transfer-to=${transferee}` : '');
  return `${id} ${role} leader=${leader} term=${term} vote=${vote} last=${lastIndex} commit=${commit} applied=${applied}${rest}`;
}

/** One line: what a leader knows of a member. */
export function describePeer({ id, state, match, next, learner, recentlyActive }: PeerStatus): string {
  return `${id}: ${state} match=${match} next=${next}${flag('learner', learner)}${flag('silent', !recentlyActive)}`;
}
