import type { Identity, JoinRequest, JoinState } from '../../src/protocol/join.ts';
import { firstRow, type Sql } from './sql.ts';

/**
 * Who a replica is, in its one identity row. The row is made by the step `prepare` of a join and bears a token that no
 * other life of this disk has; the replica takes part in its group only after a `start` that names this token.
 *
 * Why in steps: an empty disk cannot tell whether it is new or was lost. A lost disk may have voted and acknowledged, so
 * the same id must never come back without it. First members therefore start only once each of them has durably agreed
 * to one list of tokens: were one lost after that, its new token is on nobody's list, and no second list can be agreed to
 * while any of the others has its disk.
 */
export class IdentityStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Undefined for a disk that was never prepared. Writes nothing. */
  read(): Identity | undefined {
    const known = firstRow(this.#sql, "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'identity'");
    if (known === undefined) return undefined;
    const row = firstRow(this.#sql, 'SELECT * FROM identity') as string[] | undefined;
    if (row === undefined) return undefined;
    const [, tenant, shard, id, token, founders, state] = row as [
      unknown,
      string,
      string,
      unknown,
      string,
      string,
      string,
    ];
    const identity = { tenant, shard, id: Number(id), token: token ?? '', state: (state ?? 'started') as JoinState };
    return founders === null || founders === undefined ? identity : { ...identity, founders: parseFounders(founders) };
  }

  /** Carries out one step, in a transaction of the caller's; answers with what the disk then says. */
  join(request: JoinRequest, migrate: () => void, newToken: () => string): Identity | undefined {
    const present = this.read();
    if (request.step === 'peek') return present;
    if (request.step === 'prepare') {
      if (present !== undefined) return present;
      migrate();
      const { tenant, shard, id } = request;
      this.#sql.exec(
        "INSERT INTO identity (one, tenant, shard, id, token, state) VALUES (1, ?, ?, ?, ?, 'prepared')",
        tenant,
        shard,
        id,
        newToken(),
      );
      return this.read();
    }
    if (present === undefined || present.token !== request.token) return present;
    if (request.step === 'adopt') this.#adopt(present, request.founders);
    else if (request.step === 'start') this.#start(present, request.founders);
    else this.#sql.exec("UPDATE identity SET state = 'retired'");
    return this.read();
  }

  #adopt({ id, token, founders, state }: Identity, asked: Founders): void {
    if (state !== 'prepared' || founders !== undefined || asked[id] !== token) return;
    this.#sql.exec('UPDATE identity SET founders = ?', JSON.stringify(asked));
  }

  /** A first member starts with the list it agreed to, one that joins later without any. */
  #start({ founders, state }: Identity, asked: Founders | undefined): void {
    if (state !== 'prepared' || !sameFounders(founders, asked)) return;
    this.#sql.exec("UPDATE identity SET state = 'started'");
  }
}

type Founders = NonNullable<Identity['founders']>;

function parseFounders(text: string): Founders {
  return JSON.parse(text) as Founders;
}

function sameFounders(a: Founders | undefined, b: Founders | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const ids = Object.keys(a);
  return ids.length === Object.keys(b).length && ids.every((id) => a[Number(id)] === b[Number(id)]);
}
