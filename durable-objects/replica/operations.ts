import { Reader } from '../../src/protocol/bytes.ts';
import type { MembersRequest } from '../../src/protocol/members.ts';
import {
  answerWriter,
  decodeGet,
  decodeList,
  encodeGetAnswer,
  encodeListAnswer,
  encodeProposeAnswer,
  encodeWorkAnswer,
} from '../../src/protocol/messages.ts';
import { listPage } from '../keyspace/list.ts';
import type { Outcome } from '../keyspace/state.ts';
import type { Version } from '../keyspace/storage.ts';
import type { Driver } from './driver.ts';
import { serveMembers } from './members.ts';
import { Refusal } from './refusal.ts';
import { decodeRowRequest, encodeRow, encodeVersion } from './repair.ts';

/** One operation of the Worker's: takes the request's body, answers with an encoded answer, throws Refusal. */
type Operation = (driver: Driver, body: Uint8Array, suspect: number) => Promise<Uint8Array>;

const recordOf = (version: Version | undefined) => version?.record;

/** What a replica does for the Worker and, `state`, for a peer. `suspect` is a leader that the Worker could not reach, or 0. */
export const OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  [
    'get',
    async (driver, body, suspect) => {
      const { consistency, keys } = decodeGet(body);
      await driver.reading.readable(consistency, suspect);
      if (consistency.type === 'turn') await driver.reading.turnOn(keys[0] ?? '');
      else if (consistency.type === 'linearizable') for (const key of keys) driver.reading.turnDone(key);
      const { revision, policy } = driver.state.scalars;
      const records = keys.map((key) => recordOf(driver.state.get(key)));
      return encodeGetAnswer(driver.leader, revision, policy, records);
    },
  ],
  [
    'list',
    async (driver, body, suspect) => {
      const { consistency, ...query } = decodeList(body);
      await driver.reading.readable(consistency, suspect);
      const { revision: now, policy } = driver.state.scalars;
      const revision = consistency.type === 'exact' ? consistency.revision : undefined;
      const page = listPage(driver.state, { ...query, revision });
      return encodeListAnswer(driver.leader, revision ?? now, policy, page);
    },
  ],
  [
    'propose',
    async (driver, body, suspect) => {
      const forwarded = driver.forward(suspect, body);
      if (forwarded !== undefined) return forwarded;
      const outcome = await driver.propose(body, suspect);
      return encodeProposeAnswer(driver.leader, driver.state.scalars.policy, encodable(outcome));
    },
  ],
  [
    'members',
    async (driver, body) => {
      const request = parseRequest(body);
      if (request.action !== 'show' && !driver.isLeader) throw new Refusal('notLeader');
      const text = JSON.stringify(serveMembers(driver, request));
      return answerWriter(driver.leader).raw(new TextEncoder().encode(text)).finish();
    },
  ],
  ['state', async (driver, body, peer) => answerWriter(driver.leader).raw(driver.transfer.serve(peer, body)).finish()],
  [
    'work',
    async (driver, body, suspect) => {
      await driver.reading.readable({ type: 'linearizable' }, suspect);
      return encodeWorkAnswer(driver.leader, driver.state.work(new Reader(body).varint()));
    },
  ],
  [
    'row',
    async (driver, body) => {
      const { place, id } = decodeRowRequest(body);
      const row = place === 'log' ? encodeRow(driver.entry(id)) : encodeVersion(driver.state.version(id));
      return answerWriter(driver.leader, row.length + 16)
        .raw(row)
        .finish();
    },
  ],
]);

function parseRequest(body: Uint8Array): MembersRequest {
  try {
    return JSON.parse(new TextDecoder().decode(body)) as MembersRequest;
  } catch {
    throw new Refusal('malformed');
  }
}

function encodable(outcome: Outcome) {
  if (outcome.type === 'done') return { ...outcome, previous: outcome.previous.map(recordOf) };
  if (outcome.type === 'failed') return { ...outcome, current: recordOf(outcome.current) };
  return outcome;
}
