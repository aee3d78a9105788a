import { Driver as RealDriver } from '../../durable-objects/replica/driver.ts';

/** Who is told of every driver that comes to life. */
export const watching: { created: (driver: RealDriver, log: ConstructorParameters<typeof RealDriver>[1]) => void } = {
  created: () => undefined,
};

/** The driver itself, announced to the simulation's observer. */
export class Driver extends RealDriver {
  constructor(...parts: ConstructorParameters<typeof RealDriver>) {
    super(...parts);
    watching.created(this, parts[1]);
  }
}
