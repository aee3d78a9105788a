import type { JoinAnswer } from '../protocol/join.ts';
import type { Members, MembersRequest } from '../protocol/members.ts';
import { decodeAnswer } from '../protocol/messages.ts';
import type { Surroundings } from './client.ts';
import { joinStep } from './join.ts';
import type { Route } from './route.ts';
import { UnavailableError } from './types.ts';

const CALL_MS = 2_000;
const POLL_MS = 100;

/** The change that was asked for makes no sense for the group. */
export class MembershipError extends Error {}

/** How far a replacement has come. */
export interface Replacement {
  done: boolean;
  /** The replica that takes the place. */
  id: number;
  /** What is being waited for. */
  phase: string;
  members: Members;
}

/** Asks one replica for `members`; undefined when it does not answer. */
export async function askMembers(
  route: Route,
  id: number,
  request: MembersRequest,
  timeoutMs = CALL_MS,
): Promise<{ status: string; leader: number; members?: Members } | undefined> {
  try {
    const body = new TextEncoder().encode(JSON.stringify(request));
    const { status, leader, payload } = decodeAnswer(await route.link(id).call('members', body, timeoutMs));
    if (status !== 'ok') return { status, leader };
    return { status, leader, members: JSON.parse(new TextDecoder().decode(payload)) as Members };
  } catch {
    return undefined;
  }
}

/** Changes of the members of one shard, while it serves. Every step may be repeated, by anyone. */
export class ShardMembers {
  readonly #route: Route;
  readonly #surroundings: Surroundings;

  constructor(route: Route, surroundings: Surroundings) {
    this.#route = route;
    this.#surroundings = surroundings;
  }

  /** The members by the leader's word. Throws UnavailableError when there is none. */
  show(deadline: number): Promise<Members> {
    return this.#leader({ action: 'show' }, deadline);
  }

  /** Hands leadership to a voter. Throws MembershipError or UnavailableError. */
  async transfer(to: number, deadline: number): Promise<Members> {
    const { voters } = await this.show(deadline);
    if (!voters.includes(to)) throw new MembershipError(`replica ${to} is no voter`);
    for (;;) {
      const members = await this.#leader({ action: 'transfer', to }, deadline);
      if (members.leader === to) return members;
      await this.#pause(deadline);
    }
  }

  /**
   * Replaces a member that is gone for good, or is to go, by a new replica with an id that was never used: joins it as
   * one without a vote, waits until it has caught up, and gives it the vote of the old one. Goes on until done or until
   * the deadline; then it is to be called again, and goes on where it stopped. Throws MembershipError for an id that was
   * never a member, UnavailableError when the group has no leader.
   */
  async replace(old: number, deadline: number): Promise<Replacement> {
    for (;;) {
      const members = await this.show(deadline);
      const step = await this.#step(old, members, deadline);
      if (step.done || this.#surroundings.now() + POLL_MS >= deadline) return step;
      await this.#surroundings.sleep(POLL_MS);
    }
  }

  async #step(old: number, members: Members, deadline: number): Promise<Replacement> {
    const { voters, votersOutgoing, learners, highestId } = members;
    const slot = this.#route.slotOf(old);
    const all = [...voters, ...votersOutgoing, ...learners];
    const sameSlot = (id: number) => id !== old && this.#route.slotOf(id) === slot;
    if (votersOutgoing.length > 0) return { done: false, id: all.find(sameSlot) ?? 0, phase: 'changing', members };
    if (!voters.includes(old)) {
      if (old > highestId || learners.includes(old)) throw new MembershipError(`replica ${old} was never a voter`);
      await this.#retire(old);
      return { done: true, id: Math.max(0, ...voters.filter(sameSlot)), phase: 'done', members };
    }
    const learner = learners.find(sameSlot);
    if (learner === undefined) {
      const id = this.#route.spare(highestId, slot);
      await this.#join(id, deadline);
      return { done: false, id, phase: 'joining', members };
    }
    if (!(await this.#started(learner))) return { done: false, id: learner, phase: 'starting', members };
    const changed = await this.#ask({ action: 'replace', id: learner, old });
    const behind = members.behind.find(({ id }) => id === learner);
    const phase = changed ? 'changing' : `catching up: ${behind?.entries ?? '?'} entries behind (${behind?.state})`;
    return { done: false, id: learner, phase, members };
  }

  /** The new one gets its identity first, becomes a member, and only then takes part. */
  async #join(id: number, deadline: number): Promise<void> {
    const prepared = await this.#joinStep(id, 'prepare');
    if (prepared?.state === 'retired') throw new MembershipError(`replica ${id} was used before`);
    await this.#leader({ action: 'add', id }, deadline);
    await this.#started(id);
  }

  /** Lets a member that was prepared take part. False as long as it cannot be reached. */
  async #started(id: number): Promise<boolean> {
    try {
      const identity = await this.#joinStep(id, 'peek');
      if (identity?.state === 'started') return true;
      if (identity === null) throw new MembershipError(`the disk of the new replica ${id} is lost`);
      return (await this.#joinStep(id, 'start', identity.token))?.state === 'started';
    } catch (error) {
      if (error instanceof MembershipError) throw error;
      return false;
    }
  }

  /** Tells a removed replica, if it lives, that the group goes on without it. */
  async #retire(id: number): Promise<void> {
    try {
      const identity = await this.#joinStep(id, 'peek');
      if (identity !== null) await this.#joinStep(id, 'retire', identity.token);
    } catch {
      // It is gone, which is why it was replaced.
    }
  }

  #joinStep(id: number, step: 'peek' | 'prepare' | 'start' | 'retire', token = ''): Promise<JoinAnswer> {
    const { tenant, shard } = this.#route;
    const named = { tenant, shard, id };
    const request = step === 'start' || step === 'retire' ? { ...named, step, token } : { ...named, step };
    return joinStep(this.#route.link(id), request);
  }

  /** Whether the leader has done what was asked. */
  async #ask(request: MembersRequest): Promise<boolean> {
    const answer = await askMembers(this.#route, this.#route.memory.leader, request);
    if (answer?.status === 'malformed') throw new MembershipError('the group does not fit this change');
    return answer?.status === 'ok';
  }

  /** Asks until the leader answers. */
  async #leader(request: MembersRequest, deadline: number): Promise<Members> {
    const { memory } = this.#route;
    for (let tries = 0; ; tries++) {
      const { members } = this.#route;
      const id = memory.leader || members[tries % members.length]!;
      const answer = await askMembers(this.#route, id, request);
      if (answer?.members !== undefined && answer.members.leader === id) {
        this.#route.know(answer.members);
        memory.leader = id;
        return answer.members;
      }
      if (answer?.status === 'malformed') throw new MembershipError('the group does not fit this change');
      memory.leader = answer?.leader === id ? 0 : (answer?.leader ?? 0);
      await this.#pause(deadline);
    }
  }

  async #pause(deadline: number): Promise<void> {
    const { now, sleep } = this.#surroundings;
    if (now() >= deadline) throw new UnavailableError('the shard has no leader');
    await sleep(POLL_MS / 2);
  }
}
