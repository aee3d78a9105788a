import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IdentityStore } from '../../durable-objects/replica/identity.ts';
import { firstRow, migrate, type Sql } from '../../durable-objects/replica/sql.ts';
import { type FoundingStep, found } from '../../src/keyspace/founding.ts';
import type { JoinAnswer } from '../../src/protocol/join.ts';
import { emptySql, migrations } from '../support/sqlite.ts';

const MEMBERS = [1, 2, 3];

/** Disks of replicas, which may be lost, and what has ever been started on them. */
class Disks {
  readonly started: string[] = [];
  readonly #disks = new Map<number, Sql>();
  #tokens = 0;

  get(id: number): Sql {
    let sql = this.#disks.get(id);
    if (sql === undefined) {
      sql = emptySql();
      this.#disks.set(id, sql);
    }
    return sql;
  }

  lose(id: number): void {
    this.#disks.delete(id);
  }

  ask(id: number, step: FoundingStep): JoinAnswer {
    const sql = this.get(id);
    const migrateAll = () => migrate(sql, migrations());
    const request = { ...step, tenant: 't', shard: 'main', id };
    const answer = new IdentityStore(sql).join(request, migrateAll, () => `token-${++this.#tokens}`);
    const life = `${id} ${answer?.token}`;
    if (answer?.state === 'started' && !this.started.includes(life)) this.started.push(life);
    return answer ?? null;
  }
}

describe('the first members of a group', () => {
  it('start once all have agreed to each other', async () => {
    const disks = new Disks();
    expect(await found(MEMBERS, async (id, step) => disks.ask(id, step))).toEqual({ type: 'founded' });
    expect(MEMBERS.map((id) => new IdentityStore(disks.get(id)).read()?.state)).toEqual(Array(3).fill('started'));
    expect(await found(MEMBERS, async (id, step) => disks.ask(id, step))).toEqual({ type: 'founded' });
    expect(disks.started).toHaveLength(3);
  });

  it('do not start while one of them cannot be reached', async () => {
    const disks = new Disks();
    const ask = async (id: number, step: FoundingStep) => {
      if (id === 3) throw new Error('not there');
      return disks.ask(id, step);
    };
    expect(await found(MEMBERS, ask)).toEqual({ type: 'unreachable' });
    expect(disks.started).toEqual([]);
  });

  it('stay out with a new disk, on which nothing is written', async () => {
    const disks = new Disks();
    await found(MEMBERS, async (id, step) => disks.ask(id, step));
    disks.lose(2);
    expect(await found(MEMBERS, async (id, step) => disks.ask(id, step))).toEqual({ type: 'lost', ids: [2] });
    expect(firstRow(disks.get(2), 'SELECT name FROM sqlite_master')).toBeUndefined();
  });

  it('go on where a broken-off attempt ended', async () => {
    for (let broken = 0; broken < 12; broken++) {
      const disks = new Disks();
      let steps = 0;
      const breaking = async (id: number, step: FoundingStep) => {
        if (steps++ >= broken) throw new Error('the Worker is gone');
        return disks.ask(id, step);
      };
      expect((await found(MEMBERS, breaking)).type).toBe('unreachable');
      expect(await found(MEMBERS, async (id, step) => disks.ask(id, step))).toEqual({ type: 'founded' });
    }
  });

  it('never start twice under one id while any other disk lives, however steps are delayed, doubled and disks lost', {
    timeout: 60_000,
  }, async () => {
    // Mostly in order, so that foundings get somewhere; sometimes late, and sometimes once more at the end.
    const at = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(20) });
    const again = fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
    const event = fc.oneof(
      { weight: 16, arbitrary: fc.record({ type: fc.constant('deliver' as const), at, again }) },
      { weight: 2, arbitrary: fc.record({ type: fc.constant('found' as const) }) },
      { weight: 1, arbitrary: fc.record({ type: fc.constant('lose' as const), id: fc.constantFrom(1, 2) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 60, maxLength: 200 }), async (events) => {
        const disks = new Disks();
        const underWay: (() => void)[] = [];
        const ask = (id: number, step: FoundingStep) =>
          new Promise<JoinAnswer>((resolve) => {
            underWay.push(() => resolve(disks.ask(id, step)));
          });
        for (const event of events) {
          if (event.type === 'found') void found(MEMBERS, ask);
          else if (event.type === 'lose') disks.lose(event.id);
          else if (underWay.length > 0) {
            const [deliver] = underWay.splice(event.at % underWay.length, 1);
            deliver!();
            if (event.again) underWay.push(deliver!);
            // Lets the founders take the answer in.
            for (let i = 0; i < 10; i++) await Promise.resolve();
          }
        }
        // Disk 3 is never lost, so there is one group at most, and each id takes part in it once at most.
        const ids = disks.started.map((life) => life.split(' ')[0]);
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { numRuns: 500 },
    );
  });
});
