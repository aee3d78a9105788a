import type { Identity, JoinAnswer } from '../protocol/join.ts';

/** Tokens of first members by id; integer keys, so that equal lists have equal JSON. */
type Founders = Record<number, string>;

/** A step of a join as {@link found} takes it; tenant and shard are the caller's matter. */
export type FoundingStep =
  | { step: 'peek' | 'prepare' }
  | { step: 'adopt' | 'start'; token: string; founders: Founders };

/** Sends one step to a member; rejects when it cannot be reached. */
export type AskMember = (id: number, step: FoundingStep) => Promise<JoinAnswer>;

/** What became of an attempt: `lost` names members whose disk is not the one that the group began with. */
export type Founding = { type: 'founded' } | { type: 'unreachable' } | { type: 'lost'; ids: number[] };

/**
 * Makes the first members of a new group out of empty objects, or completes what a broken-off attempt began. Harmless
 * at any time and from many callers at once: a member starts only with a list of tokens, one for each disk, to which all
 * members have durably agreed, so a member whose disk was lost since stays out (see `replica/identity.ts`).
 */
export async function found(members: readonly number[], ask: AskMember): Promise<Founding> {
  const seen = await askAll(members, (id) => ask(id, { step: 'peek' }));
  if (seen === undefined) return { type: 'unreachable' };
  const agreed = [...seen.values()].find((identity) => identity?.founders !== undefined)?.founders;
  const begun = [...seen.values()].some((identity) => identity !== null && identity.state !== 'prepared');
  if (agreed !== undefined || begun) {
    const lost = members.filter((id) => !isFounder(seen.get(id) ?? null, agreed));
    if (lost.length > 0) return { type: 'lost', ids: lost };
    return agreed === undefined ? { type: 'founded' } : agree(members, agreed, ask);
  }
  const prepared = await askAll(members, (id) => ask(id, { step: 'prepare' }));
  if (prepared === undefined) return { type: 'unreachable' };
  return agree(members, Object.fromEntries(members.map((id) => [id, prepared.get(id)!.token])), ask);
}

async function agree(members: readonly number[], founders: Founders, ask: AskMember): Promise<Founding> {
  for (const step of ['adopt', 'start'] as const) {
    const answers = await askAll(members, (id) => ask(id, { step, token: founders[id]!, founders }));
    if (answers === undefined) return { type: 'unreachable' };
    const lost = members.filter((id) => !agrees(answers.get(id) ?? null, founders));
    if (lost.length > 0) return { type: 'lost', ids: lost };
  }
  return { type: 'founded' };
}

/** Whether a disk has agreed to this list and to no other. */
function agrees(identity: Identity | null, founders: Founders): boolean {
  return isFounder(identity, founders) && JSON.stringify(identity?.founders) === JSON.stringify(founders);
}

/** Whether a disk is the one that the list means; without a list, whether it takes part already. */
function isFounder(identity: Identity | null, founders: Founders | undefined): boolean {
  if (identity === null) return false;
  if (founders === undefined) return identity.state === 'started';
  return identity.token === founders[identity.id];
}

async function askAll(
  members: readonly number[],
  ask: (id: number) => Promise<JoinAnswer>,
): Promise<Map<number, JoinAnswer> | undefined> {
  const answers = await Promise.allSettled(members.map(async (id) => [id, await ask(id)] as const));
  const map = new Map<number, JoinAnswer>();
  for (const answer of answers) {
    if (answer.status === 'rejected') return undefined;
    map.set(...answer.value);
  }
  return map;
}
