import type { Membership, MembershipChange, NodeId } from './types.ts';

/** The membership of a new group. */
export function initialMembership(voters: readonly NodeId[]): Membership {
  return { voters: sorted(voters), learners: [], votersOutgoing: [], learnersNext: [], autoLeave: false };
}

/**
 * The membership that follows from `change`. One change of a voter takes effect at once; several at once make the
 * membership joint (Raft §6), until a change without steps ends that. Steps are idempotent. Throws RangeError if no
 * voter would be left, an id is bad or named twice, or the change does not fit a joint or a simple membership.
 */
export function changeMembership(from: Membership, change: MembershipChange): Membership {
  const joint = from.votersOutgoing.length > 0;
  if (change.steps.length === 0) {
    if (!joint) throw new RangeError('raft: there is no joint membership to leave');
    return leaveJoint(from);
  }
  if (joint) throw new RangeError('raft: a joint membership must be left first');
  checkIds(change);
  const next = applySteps(from, change);
  if (next.voters.length === 0) throw new RangeError('raft: no voter would be left');
  const moved = symmetricDifference(from.voters, next.voters);
  if (moved <= 1) return next;
  const learnersNext = next.learners.filter((id) => from.voters.includes(id));
  const learners = next.learners.filter((id) => !learnersNext.includes(id));
  return {
    voters: next.voters,
    learners,
    votersOutgoing: from.voters,
    learnersNext,
    autoLeave: change.autoLeave ?? true,
  };
}

function leaveJoint(from: Membership): Membership {
  return { ...initialMembership(from.voters), learners: sorted([...from.learners, ...from.learnersNext]) };
}

function applySteps(from: Membership, { steps }: MembershipChange): Membership {
  const voters = new Set(from.voters);
  const learners = new Set(from.learners);
  for (const { type, id } of steps) {
    voters.delete(id);
    learners.delete(id);
    if (type === 'add-voter') voters.add(id);
    else if (type === 'add-learner') learners.add(id);
  }
  return { ...initialMembership([...voters]), learners: sorted([...learners]) };
}

function checkIds({ steps }: MembershipChange): void {
  const ids = new Set<NodeId>();
  for (const { id } of steps) {
    if (!Number.isSafeInteger(id) || id <= 0) throw new RangeError(`raft: ${id} is not the id of a node`);
    if (ids.has(id)) throw new RangeError(`raft: node ${id} is named twice`);
    ids.add(id);
  }
}

function symmetricDifference(a: readonly NodeId[], b: readonly NodeId[]): number {
  return a.filter((id) => !b.includes(id)).length + b.filter((id) => !a.includes(id)).length;
}

function sorted(ids: readonly NodeId[]): NodeId[] {
  return [...ids].sort((a, b) => a - b);
}
