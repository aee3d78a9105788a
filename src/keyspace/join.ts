import type { ReplicaLink } from '../protocol/address.ts';
import type { JoinAnswer, JoinRequest } from '../protocol/join.ts';
import { decodeAnswer } from '../protocol/messages.ts';

const JOIN_MS = 2_000;

/** Asks an object for one step of a join. Rejects when it cannot be reached in time or finds the request wrong. */
export async function joinStep(link: ReplicaLink, request: JoinRequest): Promise<JoinAnswer> {
  const body = new TextEncoder().encode(JSON.stringify(request));
  const answer = decodeAnswer(await link.call('join', body, JOIN_MS));
  if (answer.status !== 'ok') throw new Error(`replica ${request.id} refuses to ${request.step}: ${answer.status}`);
  return JSON.parse(new TextDecoder().decode(answer.payload)) as JoinAnswer;
}
