import { deepCopy, deepEqual, type JsonValue, type KubeObject } from '../api/object.ts';

/** What a plugin of several webhooks or policies leaves from the first round of mutation for the second. */
export class Rounds {
  /** Those that ask to be called again, if the object changes after them. */
  readonly #previous = new Set<string>();
  readonly #again = new Set<string>();
  #output: JsonValue | undefined;

  hasChanged(object: KubeObject | undefined): boolean {
    return !deepEqual((object ?? null) as JsonValue, this.#output ?? null);
  }

  /** The object changed: those that were called before are to be called again. */
  changed(): void {
    for (const id of this.#previous) this.#again.add(id);
    this.#previous.clear();
  }

  called(id: string): void {
    this.#previous.add(id);
  }

  isDue(id: string): boolean {
    return this.#again.has(id);
  }

  leave(object: KubeObject | undefined): void {
    this.#output = object === undefined ? undefined : deepCopy(object as JsonValue);
  }
}
