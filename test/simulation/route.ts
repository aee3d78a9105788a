import type { Bindings } from '../../src/config.ts';
import type { Route, routeTo } from '../../src/keyspace/route.ts';
import type { Network, Place } from './network.ts';
import type { ReplicaObject } from './replica-object.ts';
import type { World } from './world.ts';

/** Isolates that there may be at once. */
export const ISOLATES = 6;

/** The Worker's module once for each isolate: what it remembers of a shard is the isolate's own. */
const modules = await Promise.all(
  Array.from({ length: ISOLATES }, async (_, isolate) => {
    const url = new URL(`../../src/keyspace/route.ts?isolate=${isolate}`, import.meta.url);
    return (await import(url.href)) as { routeTo: typeof routeTo };
  }),
);

/** A client's way to the replicas: the Worker's own, over the simulated network. */
export function routeOf(
  client: Place,
  isolate: number,
  world: World,
  network: Network,
  objects: readonly ReplicaObject[],
): Route {
  const stub = (name: string) => {
    const object = objects.find((other) => other.name === name)!;
    return {
      call: (operation: string, body: Uint8Array) => network.call(client, object, operation, body),
      fetch: (_: string, { signal }: { signal: AbortSignal }) => dial(client, object, world, network, signal),
    };
  };
  const [tenant, shard] = objects[0]!.name.split('/');
  const env = { REPLICA: { getByName: stub } } as unknown as Bindings;
  return modules[isolate]!.routeTo(
    env,
    tenant!,
    shard!,
    objects.map(({ id }) => id),
  );
}

/** Asks for a socket; an answer may never come. */
function dial(
  client: Place,
  object: ReplicaObject,
  world: World,
  network: Network,
  signal: AbortSignal,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    const there = network.transit(client, object);
    if (there === undefined) return;
    const arrive = (response: Response | undefined) => {
      const back = network.transit(object, client);
      if (back === undefined) return;
      world.after(back, client.actor(), () => {
        if (response === undefined) reject(new Error('not reached'));
        else resolve(response);
      });
    };
    world.after(there, undefined, () => object.upgrade(client, arrive));
  });
}
