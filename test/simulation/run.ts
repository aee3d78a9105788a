import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeGet } from '../../src/protocol/messages.ts';
import {
  answersAgree,
  checkLinearizable,
  checkWatch,
  exactlyOnce,
  listsShowOneState,
  revisionsRise,
  settleUnknown,
  Truth,
} from '../support/history/index.ts';
import { Adversary, FAULT_NAMES } from './adversary.ts';
import { type Plan, type Record, SimulatedClient } from './client.ts';
import { Death, DiskError } from './disk.ts';
import { enter } from './globals.ts';
import { Network } from './network.ts';
import { Observer } from './observer.ts';
import { ReplicaObject } from './replica-object.ts';
import { Violation, World } from './world.ts';

export interface Options {
  seed: number;
  operations: number;
  /** Databases in files, opened anew after every crash. */
  files: boolean;
  /** Whether what happens is written down. */
  story: boolean;
}

export interface Outcome {
  seed: number;
  error: string | undefined;
  story: string[];
  counts: [what: string, times: number][];
  /** Events of the simulation, its milliseconds, and operations of clients. */
  events: number;
  simulatedMs: number;
  operations: number;
}

/** Wakes a replica that sleeps and makes it catch up. */
const ANY_READ = encodeGet({ consistency: { type: 'linearizable' }, keys: [] });
/** How long a healed cluster may take until everybody has been shown everything, in simulated milliseconds. */
const SETTLE_MS = 180_000;
/** The longest run of clients' work: a cluster that gets nothing done for so long has failed. */
const LONGEST_MS = 4 * 3_600_000;

/** Plays one seed: a cluster, its clients and an adversary, and all checks. */
export function play(options: Options): Outcome {
  const world = new World(options.seed, options.story);
  enter(world);
  const simulation = new Simulation(world, options);
  let error: string | undefined;
  try {
    simulation.run();
  } catch (thrown) {
    simulation.tellStates();
    error = thrown instanceof Violation ? thrown.message : String((thrown as Error)?.stack ?? thrown);
  }
  simulation.close();
  return {
    seed: options.seed,
    error,
    story: world.story ?? [],
    counts: [...world.counts],
    events: world.events,
    simulatedMs: world.now,
    operations: simulation.record.begun,
  };
}

class Simulation {
  readonly record: Record = { operations: [], lists: [], watches: [], begun: 0 };
  readonly #world: World;
  readonly #observer: Observer;
  readonly #network: Network;
  readonly #objects: ReplicaObject[] = [];
  readonly #clients: SimulatedClient[] = [];
  readonly #adversary: Adversary;
  readonly #plan: Plan;

  constructor(world: World, { seed, operations, files }: Options) {
    this.#world = world;
    world.reported = (error) => {
      if (!(error instanceof Error)) {
        world.count('reports');
        world.tell(() => `reported: ${String(error)}`);
      } else if (!(error instanceof DiskError || error instanceof Death)) world.fail(error);
    };
    this.#observer = new Observer(world);
    this.#network = new Network(world);
    const members = new Map<string, ReplicaObject>();
    const sleepy = world.chance(0.7);
    const around = {
      world,
      network: this.#network,
      observer: this.#observer,
      config: configuration(world.pick([10, 60, 300])),
      objects: members,
      sleepy: () => sleepy,
      alarms: () => (world.chance(0.3) ? [world.between(0, 500), world.between(0, 5_000)] : [world.between(0, 500)]),
    };
    const size = seed % 4 === 0 ? 5 : 3;
    const fsync = world.pick([0.2, 1, 5, 20]);
    for (let id = 1; id <= size; id++) {
      const mood = { syncMs: () => world.between(fsync / 2, fsync * 2), full: false };
      const path = files ? join(tmpdir(), `gunwale-simulation-${process.pid}-${seed}-${id}.sqlite`) : undefined;
      const object = new ReplicaObject(around, `t${seed}/main/${id}`, id, mood, path);
      this.#objects.push(object);
      members.set(object.name, object);
    }
    const { weather } = this.#network;
    weather.spread = world.pick([0.3, 1, 10]);
    weather.base = weather.spread / 2;
    if (world.chance(0.6)) weather.loss = world.pick([0.001, 0.01, 0.05]);
    if (world.chance(0.6)) weather.duplication = world.pick([0.005, 0.05]);
    if (world.chance(0.5)) weather.delay = world.pick([0.001, 0.01]);
    this.#plan = { operations, pause: world.pick([1, 5, 30]), quietUntil: 0 };
    const clients = 2 + Math.floor(world.random() * 4);
    for (let at = 0; at < clients; at++) {
      this.#clients.push(new SimulatedClient(at, world, this.#network, this.#objects, this.record, this.#plan));
    }
    // Each run has some faults only: those that never meet hide nothing from one another.
    const faults = FAULT_NAMES.filter(() => world.chance(0.5));
    const field = { world, network: this.#network, objects: this.#objects, clients: this.#clients };
    this.#adversary = new Adversary(field, faults, world.pick([700, 2_000, 5_000, 15_000]));
    world.afterEvent = (actor) => {
      const object = actor === undefined ? undefined : members.get(actor.name);
      if (object === undefined) return;
      try {
        this.#observer.check(object);
      } catch (error) {
        world.fail(error);
      }
    };
  }

  run(): void {
    const world = this.#world;
    for (const client of this.#clients) {
      client.start();
      for (let n = 0; n < 2; n++) {
        const slow = world.chance(0.2);
        if (slow) world.count('fault: slow watcher');
        world.after(world.between(0, 6_000), undefined, () => client.watch(slow));
      }
    }
    this.#everySecond();
    this.#adversary.start();
    world.run(() => this.#clients.every(({ idle }) => idle), LONGEST_MS);
    if (!this.#clients.every(({ idle }) => idle)) throw new Violation('liveness: the clients never got done');
    this.#adversary.rest();
    const final = this.#settle();
    this.#checkHistory(final);
  }

  /** Sleep of who is quiet, and now and then a pause of all clients, long enough for a group to fall silent. */
  #everySecond(): void {
    const world = this.#world;
    world.after(1_000, undefined, () => {
      for (const object of this.#objects) object.maybeSleep();
      if (world.now > this.#plan.quietUntil && world.chance(0.02)) {
        world.tell(() => 'all clients pause');
        this.#plan.quietUntil = world.now + world.between(5_000, 40_000);
      }
      this.#everySecond();
    });
  }

  /** With everything healed, a last write succeeds and everybody is shown everything. Returns the last revision. */
  #settle(): number {
    const world = this.#world;
    const client = this.#clients[0]!;
    const until = world.now + SETTLE_MS;
    let final: number | undefined;
    world.after(0, client.actor(), () => {
      this.#lastRevision(client)
        .then((revision) => {
          final = revision;
        })
        .catch((error) => world.fail(error));
    });
    world.run(() => final !== undefined, until);
    if (final === undefined) throw new Violation('liveness: the healed cluster takes no write');
    const last = final;
    const ask = () => {
      for (const watching of this.record.watches) if (!watching.over) watching.progress();
      for (const object of this.#objects) {
        if (!this.#applied(object, last)) this.#network.call(client, object, 'get', ANY_READ).catch(() => undefined);
      }
      world.after(500, undefined, ask);
    };
    ask();
    const behind = () => this.record.watches.filter(({ over, through }) => !over && through < last);
    world.run(() => behind().length === 0 && this.#allApplied(last), until);
    const late = behind().map(({ record, through }) => `${record.name} at ${through}`);
    if (late.length > 0) throw new Violation(`reliable: watches do not get to ${last}: ${late.join(', ')}`);
    if (!this.#allApplied(last)) throw new Violation(`liveness: a replica does not get to ${last}`);
    return last;
  }

  async #lastRevision(client: SimulatedClient): Promise<number> {
    for (;;) {
      const before = this.record.operations.length;
      await client.put();
      const [operation] = this.record.operations.slice(before);
      if (operation?.outcome.type === 'done') return operation.outcome.revision!;
    }
  }

  #allApplied(revision: number): boolean {
    return this.#objects.every((object) => this.#applied(object, revision));
  }

  #applied(object: ReplicaObject, revision: number): boolean {
    const applied = this.#observer.driverOf(object)?.state.scalars.revision ?? 0;
    return applied >= revision && !object.disk.hasUnsynced;
  }

  #checkHistory(final: number): void {
    const { operations, lists, watches } = this.record;
    const truth = new Truth([...this.#observer.changes.values()]);
    for (let revision = 1; revision <= truth.last; revision++) {
      if (truth.at(revision) === undefined) throw new Violation(`revision ${revision} was never committed`);
    }
    this.#checkStates(truth);
    const faults = [
      ...exactlyOnce(operations, truth).map((fault) => `exactly once: ${fault}`),
      ...answersAgree(operations, truth).map((fault) => `answers: ${fault}`),
      ...revisionsRise(operations).map((fault) => `revisions: ${fault}`),
      ...listsShowOneState(lists, operations, truth).map((fault) => `lists: ${fault}`),
      ...watches.flatMap(({ record, over }) => checkWatch(record, truth, over ? undefined : final)),
    ];
    if (faults.length > 0) throw new Violation(faults.slice(0, 10).join('\n'));
    const known = new Map(truth.steps.map(({ revision, value }) => [revision, value]));
    const verdict = checkLinearizable(settleUnknown(operations, truth), known);
    if (verdict.ok) return;
    const open = verdict.stuck.map((operation) => `\n  ${JSON.stringify(operation)}`).join('');
    throw new Violation(`linearizability of ${verdict.key}: ${verdict.reason}; no place for one of${open}`);
  }

  /** State machine equality at the end: every replica shows the committed state. */
  #checkStates(truth: Truth): void {
    for (const object of this.#objects) {
      const { state } = this.#observer.driverOf(object)!;
      const { revision } = state.scalars;
      const expected = truth.state(revision, () => true).map(({ key, revision: at }) => `${key}@${at}`);
      const found = Array.from(state.scan({ from: '/', end: '0' }), ({ key, revision: at }) => `${key}@${at}`);
      if (found.join() !== expected.join()) {
        const odd = found.filter((entry) => !expected.includes(entry));
        const lost = expected.filter((entry) => !found.includes(entry));
        throw new Violation(`state machine equality: ${object.name} has [${odd.join()}] and lacks [${lost.join()}]`);
      }
    }
  }

  /** Where every replica stands, for the story. */
  tellStates(): void {
    for (const object of this.#objects) {
      const driver = this.#observer.driverOf(object);
      const state = driver === undefined ? 'sleeps' : JSON.stringify(driver.status());
      this.#world.tell(() => `${object.name}: ${object.describe()} ${state}`);
    }
  }

  close(): void {
    for (const { disk } of this.#objects) disk.close();
  }
}

/** The `GUNWALE_CONFIG` binding. */
function configuration(compactionIntervalSeconds: number): string {
  return JSON.stringify({ tenant: { uid: 't', name: 'default', replicas: [1] }, compactionIntervalSeconds });
}
