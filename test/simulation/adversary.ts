import type { SimulatedClient } from './client.ts';
import type { Network } from './network.ts';
import type { ReplicaObject } from './replica-object.ts';
import { breakSocket } from './sockets.ts';
import { draw, type Weighted } from './weighted.ts';
import type { World } from './world.ts';

interface Field {
  world: World;
  network: Network;
  objects: readonly ReplicaObject[];
  clients: readonly SimulatedClient[];
}

/** What may be done to a cluster, each with how often it is chosen. Their names are in the report. */
const FAULTS: Weighted<(field: Field) => void> = [
  ['crash', 4, ({ world, objects }) => takeDown(world, world.pick(objects), 'is killed')],
  [
    'crash of the leader',
    3,
    ({ world, objects }) => takeDown(world, leaderOf(objects) ?? world.pick(objects), 'is killed as leader'),
  ],
  [
    'crash at a write',
    6,
    ({ world, objects }) => {
      const object = world.chance(0.5) ? (leaderOf(objects) ?? world.pick(objects)) : world.pick(objects);
      object.light(Math.floor(world.random() * 40));
    },
  ],
  [
    'crash of all',
    1,
    ({ world, objects }) => {
      for (const object of objects) takeDown(world, object, 'is killed with all others');
    },
  ],
  [
    'partition of one',
    3,
    ({ world, network, objects, clients }) => {
      const one = world.chance(0.5) ? (leaderOf(objects) ?? world.pick(objects)) : world.pick(objects);
      const others = [...objects.filter((other) => other !== one), ...clients.filter(() => world.chance(0.7))];
      cutFor(world, network, [[one], others], true);
    },
  ],
  [
    'partition in halves',
    2,
    ({ world, network, objects, clients }) => {
      const [left, right]: [{ name: string }[], { name: string }[]] = [[], []];
      for (const place of [...objects, ...clients]) (world.chance(0.5) ? left : right).push(place);
      cutFor(world, network, [left, right], true);
    },
  ],
  [
    'partition one way',
    3,
    ({ world, network, objects }) => {
      const one = world.chance(0.5) ? (leaderOf(objects) ?? world.pick(objects)) : world.pick(objects);
      const others = objects.filter((other) => other !== one && world.chance(0.8));
      cutFor(world, network, world.chance(0.5) ? [[one], others] : [others, [one]], false);
    },
  ],
  [
    'slow disk',
    2,
    ({ world, objects }) => {
      const { disk } = world.pick(objects);
      const { syncMs } = disk.mood;
      disk.mood.syncMs = () => world.between(20, 600);
      world.after(world.between(500, 4_000), undefined, () => {
        disk.mood.syncMs = syncMs;
      });
    },
  ],
  [
    'disk full',
    1.5,
    ({ world, objects }) => {
      const { disk, name } = world.pick(objects);
      disk.mood.full = true;
      world.tell(() => `${name}: its disk is full`);
      world.after(world.between(100, 3_000), undefined, () => {
        disk.mood.full = false;
      });
    },
  ],
  [
    'clock jumps ahead',
    2,
    ({ world, objects }) => jump(world, world.pick(objects), world.chance(0.2) ? 400_000 : world.between(10, 9_000)),
  ],
  ['clock jumps back', 2, ({ world, objects }) => jump(world, world.pick(objects), -world.between(10, 1_500))],
  [
    'stall',
    3,
    ({ world, objects }) => {
      const object = world.chance(0.6) ? (leaderOf(objects) ?? world.pick(objects)) : world.pick(objects);
      if (object.life !== undefined) object.life.stalledUntil = world.now + world.between(100, 5_000);
      world.tell(() => `${object.name}: stands still`);
    },
  ],
  [
    'socket breaks',
    3,
    ({ world, objects }) => {
      const ends = objects.flatMap((object) => object.sockets());
      if (ends.length > 0) breakSocket(world.pick(ends));
    },
  ],
];

/** The names of all faults. */
export const FAULT_NAMES = FAULTS.map(([name]) => name);

/** Strikes a cluster at random times with those faults that this run has. */
export class Adversary {
  readonly #field: Field;
  readonly #faults: typeof FAULTS;
  readonly #pause: number;
  #resting = false;

  /** `pause`: milliseconds between two faults, on average. */
  constructor(field: Field, faults: readonly string[], pause: number) {
    this.#field = field;
    this.#faults = FAULTS.filter(([name]) => faults.includes(name));
    this.#pause = pause;
  }

  start(): void {
    const { world } = this.#field;
    const wait = -this.#pause * Math.log(1 - world.random());
    world.after(wait, undefined, () => {
      if (this.#resting) return;
      this.#strike();
      this.start();
    });
  }

  #strike(): void {
    const { world } = this.#field;
    if (this.#faults.length === 0) return;
    const [name, , strike] = draw(world.random, this.#faults);
    world.count(`fault: ${name}`);
    world.tell(() => `fault: ${name}`);
    strike(this.#field);
  }

  /** Makes everything work again, for good. */
  rest(): void {
    this.#resting = true;
    const { network, objects } = this.#field;
    network.cut.clear();
    Object.assign(network.weather, { loss: 0, duplication: 0, delay: 0 });
    for (const object of objects) {
      object.down = false;
      object.disk.mood.full = false;
      if (object.life !== undefined) {
        object.life.stalledUntil = 0;
        object.life.fuse = undefined;
      }
    }
  }
}

function leaderOf(objects: readonly ReplicaObject[]): ReplicaObject | undefined {
  return objects.find((object) => object.leads());
}

function takeDown(world: World, object: ReplicaObject, how: string): void {
  if (object.down) return;
  object.down = true;
  object.crash(how);
  world.after(world.between(0, 4_000), undefined, () => {
    object.down = false;
  });
}

function cutFor(
  world: World,
  network: Network,
  [from, to]: [readonly { name: string }[], readonly { name: string }[]],
  both: boolean,
): void {
  const links = from.flatMap((a) =>
    to.flatMap((b) => (both ? [`${a.name}>${b.name}`, `${b.name}>${a.name}`] : [`${a.name}>${b.name}`])),
  );
  world.tell(() => `cut: ${links.join(' ')}`);
  for (const link of links) network.cut.add(link);
  world.after(world.between(200, 6_000), undefined, () => {
    for (const link of links) network.cut.delete(link);
  });
}

function jump(world: World, object: ReplicaObject, ms: number): void {
  world.tell(() => `${object.name}: its clock jumps by ${ms.toFixed(0)} ms`);
  object.skew += ms;
  if (object.life !== undefined) object.life.skew = object.skew;
}
