import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StateMachine } from '../../durable-objects/keyspace/state.ts';
import { Hub } from '../../durable-objects/keyspace/watch.ts';
import { encodeEntry, encodeProposal, KIND, PROPOSAL_ID_LENGTH } from '../../src/protocol/commands.ts';
import { decodeFrame } from '../../src/protocol/watch.ts';
import { MapStorage } from '../support/map-storage.ts';

const PREFIX = '/registry/pods/';
const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 2 };
const selector = { labels: [{ op: 'in' as const, key: 'app', values: ['x'] }], fields: [] };

type Step =
  | { type: 'put'; key: string; app: string }
  | { type: 'delete'; key: string }
  | { type: 'credit'; watcher: number; bytes: number }
  | { type: 'flush' }
  | { type: 'pump' };

const key = fc.constantFrom('a/1', 'a/2', 'b/1').map((name) => PREFIX + name);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('put' as const), key, app: fc.constantFrom('x', 'y') }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('delete' as const), key }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('credit' as const), watcher: fc.nat(2), bytes: fc.nat(400) }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'flush' as const }) },
  { weight: 2, arbitrary: fc.constant({ type: 'pump' as const }) },
);

/** A shard with three watchers that have little credit: all, one namespace, and a selector. */
class Shard {
  readonly state = new StateMachine(new MapStorage());
  readonly seen: string[][] = [[], [], []];
  readonly expected: string[][] = [[], [], []];
  readonly hub = new Hub(this.state, {
    send: (id, frame) => this.#receive(this.seen[Number(id)]!, frame),
    end: () => undefined,
    wake: () => undefined,
  });
  readonly #apps = new Map<string, string>();
  #index = 0;

  constructor() {
    const cursor = { phase: 'events', revision: 0 } as const;
    this.hub.open('0', PREFIX, undefined, cursor, 150);
    this.hub.open('1', `${PREFIX}a/`, undefined, cursor, 150);
    this.hub.open('2', PREFIX, selector, cursor, 150);
  }

  write(step: Extract<Step, { key: string }>): void {
    const before = this.#apps.get(step.key);
    const app = step.type === 'put' ? step.app : undefined;
    if (before === undefined && app === undefined) return;
    const meta = { labels: { app: app ?? '' }, fields: {}, terms: [], tag };
    const put = { type: 'put' as const, key: step.key, value: new Uint8Array(20), meta };
    const operations = [step.type === 'put' ? put : { type: 'delete' as const, key: step.key }];
    const id = new Uint8Array(PROPOSAL_ID_LENGTH);
    new DataView(id.buffer).setUint32(0, ++this.#index);
    const payload = encodeProposal(id, { conditions: [], operations }, undefined);
    this.state.apply(this.#index, encodeEntry(KIND.batch, this.#index, payload));
    this.hub.publish(this.state.takeFresh());
    if (app === undefined) this.#apps.delete(step.key);
    else this.#apps.set(step.key, app);
    const note = (watcher: number, was: boolean, is: boolean) => {
      const type = is ? (was ? 'modified' : 'added') : 'deleted';
      if (was || is) this.expected[watcher]!.push(`${type} ${step.key} ${this.state.scalars.revision}`);
    };
    note(0, before !== undefined, app !== undefined);
    if (step.key.startsWith(`${PREFIX}a/`)) note(1, before !== undefined, app !== undefined);
    note(2, before === 'x', app === 'x');
  }

  #receive(seen: string[], bytes: Uint8Array): void {
    const frame = decodeFrame(bytes);
    if (!('events' in frame)) return;
    for (const event of frame.events) {
      if ('record' in event) seen.push(`${event.type} ${event.record.key} ${event.record.modRevision}`);
    }
  }
}

describe('watch hub', () => {
  it('gives every watcher exactly its events in order, whatever its credit', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const shard = new Shard();
        for (const each of steps) {
          if (each.type === 'credit') shard.hub.credit(String(each.watcher), each.bytes);
          else if (each.type === 'flush') shard.state.flush();
          else if (each.type === 'pump') shard.hub.pump();
          else shard.write(each);
        }
        shard.seen.forEach((seen, i) => {
          expect(seen).toEqual(shard.expected[i]!.slice(0, seen.length));
        });
        shard.hub.pump();
        for (const id of ['0', '1', '2']) shard.hub.credit(id, 1 << 20);
        expect(shard.seen).toEqual(shard.expected);
      }),
      { numRuns: 300 },
    );
  });

  it('sends what was written since the last pump as one frame, before anything else', () => {
    const shard = new Shard();
    for (let i = 0; i < 3; i++) shard.write({ type: 'put', key: `${PREFIX}a/1`, app: 'x' });
    expect(shard.seen).toEqual([[], [], []]);
    shard.hub.progress('0');
    expect(shard.seen).toEqual(shard.expected);
  });

  it('sends nothing beyond its credit, one frame excepted', () => {
    const shard = new Shard();
    for (let i = 0; i < 50; i++) {
      shard.write({ type: 'put', key: `${PREFIX}a/1`, app: 'x' });
      shard.hub.pump();
    }
    expect(shard.seen[0]!.length).toBeLessThan(4);
    shard.hub.credit('0', 1 << 20);
    expect(shard.seen[0]!.length).toBe(50);
  });
});
