/** A stream of random numbers that a seed decides (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** One of the choices, each as often as its weight says. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let at = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) {
      at -= weight;
      if (at < 0) return choice;
    }
    return choices.at(-1)![1];
  }

  /** A generator of its own, so that what one consumer takes does not change another's numbers. */
  fork(): Random {
    return new Random(this.below(2 ** 32));
  }
}
