import type { Change, Watch } from './types.ts';

/** A change with what it replaced; undefined where the key was absent. */
export interface Step extends Change {
  replaced: Change | undefined;
}

/** The committed history, for the validators to compare with. */
export class Truth {
  /** In revision order. */
  readonly steps: readonly Step[];
  readonly #byRevision = new Map<number, Step>();
  readonly #lastOfBatch = new Map<number, number>();

  /** Throws when two changes share a revision. */
  constructor(changes: readonly Change[]) {
    const live = new Map<string, Change>();
    this.steps = [...changes]
      .sort((a, b) => a.revision - b.revision)
      .map((change) => {
        const replaced = live.get(change.key);
        if (change.type === 'put') live.set(change.key, change);
        else live.delete(change.key);
        return { ...change, replaced };
      });
    for (const step of this.steps) {
      if (this.#byRevision.has(step.revision)) throw new Error(`two changes have revision ${step.revision}`);
      this.#byRevision.set(step.revision, step);
      this.#lastOfBatch.set(step.batch, step.revision);
    }
  }

  at(revision: number): Step | undefined {
    return this.#byRevision.get(revision);
  }

  get last(): number {
    return this.steps.at(-1)?.revision ?? 0;
  }

  /** Whether a state of `revision` would show a batch in part. */
  splitsBatch(revision: number): boolean {
    const step = this.#byRevision.get(revision);
    return step !== undefined && this.#lastOfBatch.get(step.batch) !== revision;
  }

  /** What is there at a revision, in key order. */
  state(revision: number, wanted: (change: Change) => boolean): Change[] {
    const live = new Map<string, Change>();
    for (const step of this.steps) {
      if (step.revision > revision) break;
      if (step.type === 'put') live.set(step.key, step);
      else live.delete(step.key);
    }
    return [...live.values()].filter(wanted).sort((a, b) => (a.key < b.key ? -1 : 1));
  }
}

/** Whether a record is within what a watch or a list asked for. */
export function selects({ prefix, label }: Pick<Watch, 'prefix' | 'label'>, { key, labels }: Change): boolean {
  if (prefix.endsWith('/') ? !key.startsWith(prefix) : key !== prefix) return false;
  return label === undefined || labels[label[0]] === label[1];
}

/** What a step means to a watch; undefined when it is none of its business. */
export function meaning(
  watch: Pick<Watch, 'prefix' | 'label'>,
  step: Step,
): 'added' | 'modified' | 'deleted' | undefined {
  const was = step.replaced !== undefined && selects(watch, step.replaced);
  const is = step.type === 'put' && selects(watch, step);
  if (was) return is ? 'modified' : 'deleted';
  return is ? 'added' : undefined;
}
