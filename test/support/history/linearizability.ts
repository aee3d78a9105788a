import type { Operation, Precondition, Shown } from './types.ts';

export type Verdict =
  | { ok: true }
  /** `illegal`: no order explains the answers. `budget`: none was found in time, which is a failure too. */
  | { ok: false; key: string; reason: 'illegal' | 'budget'; stuck: readonly Operation[] };

/** Tries per key before the search gives up. */
const BUDGET = 300_000;

/** The value of a record; null when it is absent. */
type State = string | null;

/** Decides what an operation makes of a state; undefined when its answer does not fit the state. */
type Step = (state: State) => State | undefined;

/**
 * Whether some order of the operations, compatible with real time, explains every answer: each key is a register with
 * conditional writes, checked by itself (linearizability is local). The search is Wing and Gong's with Lowe's memory of
 * configurations seen, as in porcupine; a read or a refusal that fits is placed at once, since no order is
 * lost by it. Operations of unknown outcome may take effect at any time after their start, or
 * never. `known`: further records that were shown to clients, by revision (in lists and watches): conditions on a revision
 * may come from there.
 */
export function checkLinearizable(
  operations: readonly Operation[],
  known: ReadonlyMap<number, string> = new Map(),
  budget = BUDGET,
): Verdict {
  const byKey = new Map<string, Operation[]>();
  for (const operation of operations) {
    const others = byKey.get(operation.key);
    if (others === undefined) byKey.set(operation.key, [operation]);
    else others.push(operation);
  }
  for (const [key, own] of byKey) {
    const { reason, stuck } = new Search(own, known).run(budget);
    if (reason !== undefined) return { ok: false, key, reason, stuck };
  }
  return { ok: true };
}

/** A moment of the history: an operation starts, or it has ended. */
interface Moment {
  operation: number;
  /** The end of the same operation, on its start. */
  end: Moment | undefined;
  previous: Moment | undefined;
  next: Moment | undefined;
}

class Search {
  readonly #operations: readonly Operation[];
  readonly #steps: Step[];
  /** Operations that must find a place. */
  readonly #needed: number;
  readonly #head: Moment = { operation: -1, end: undefined, previous: undefined, next: undefined };

  constructor(operations: readonly Operation[], known: ReadonlyMap<number, string>) {
    const values = valuesByRevision(operations, known);
    this.#operations = withoutUnseen(operations, values);
    this.#steps = this.#operations.map((operation) => stepOf(operation, values));
    this.#needed = this.#operations.filter(({ outcome }) => outcome.type !== 'unknown').length;
    this.#link();
  }

  /** Moments in order of time; at the same time starts come first, which allows more. */
  #link(): void {
    const moments = this.#operations.flatMap((operation, at) => {
      const known = operation.outcome.type !== 'unknown' && Number.isFinite(operation.end);
      const end: Moment = { operation: at, end: undefined, previous: undefined, next: undefined };
      const start: Moment = { ...end, end };
      const time = known ? operation.end : Number.POSITIVE_INFINITY;
      return [
        { time: operation.start, order: 0, moment: start },
        { time, order: 1, moment: end },
      ];
    });
    moments.sort((a, b) => (a.time === b.time ? a.order - b.order : a.time < b.time ? -1 : 1));
    let last = this.#head;
    for (const { moment } of moments) {
      last.next = moment;
      moment.previous = last;
      last = moment;
    }
  }

  run(budget: number): { reason: 'illegal' | 'budget' | undefined; stuck: Operation[] } {
    const seen = new Set<string>();
    const placed = new Uint32Array((this.#operations.length >> 5) + 1);
    const path: { start: Moment; before: State }[] = [];
    let state: State = null;
    let found = 0;
    let best = -1;
    let stuck: Operation[] = [];
    let tries = 0;
    let moment = this.#head.next;
    while (found < this.#needed) {
      if (moment?.end !== undefined) {
        if (++tries > budget) return { reason: 'budget', stuck };
        const at = moment.operation;
        const after = this.#steps[at]!(state);
        if (after !== undefined) {
          placed[at >> 5]! |= 1 << (at & 31);
          const configuration = `${placed.join()} ${after === null ? '' : `=${after}`}`;
          if (!seen.has(configuration)) {
            seen.add(configuration);
            path.push({ start: moment, before: state });
            state = after;
            if (this.#operations[at]!.outcome.type !== 'unknown') found++;
            lift(moment);
            moment = this.#head.next;
            continue;
          }
          placed[at >> 5]! &= ~(1 << (at & 31));
        }
        moment = moment.next;
        continue;
      }
      // An operation has ended without a place (or nothing is left): what was placed last must go elsewhere.
      if (found > best) {
        best = found;
        stuck = this.#open();
      }
      const last = path.pop();
      if (last === undefined) return { reason: 'illegal', stuck };
      const at = last.start.operation;
      placed[at >> 5]! &= ~(1 << (at & 31));
      state = last.before;
      if (this.#operations[at]!.outcome.type !== 'unknown') found--;
      unlift(last.start);
      // Whatever can follow without an operation that never changes anything can follow with it.
      const { type } = this.#operations[at]!.outcome;
      moment = type === 'read' || type === 'failed' ? undefined : last.start.next;
    }
    return { reason: undefined, stuck: [] };
  }

  /** The operations that could come next where the search went furthest: the ones to look at. */
  #open(): Operation[] {
    const open: Operation[] = [];
    for (let at = this.#head.next; at !== undefined && open.length < 20; at = at.next) {
      if (at.end === undefined) break;
      open.push(this.#operations[at.operation]!);
    }
    return open;
  }
}

function lift(start: Moment): void {
  for (const moment of [start, start.end!]) {
    moment.previous!.next = moment.next;
    if (moment.next !== undefined) moment.next.previous = moment.previous;
  }
}

function unlift(start: Moment): void {
  for (const moment of [start.end!, start]) {
    moment.previous!.next = moment;
    if (moment.next !== undefined) moment.next.previous = moment;
  }
}

/**
 * Leaves out writes of unknown outcome whose value nobody was ever shown: if such a write happened, it was overwritten
 * before anybody looked, and the same order without it explains as much, unless some condition depends on what it met and
 * does not tell.
 */
function withoutUnseen(operations: readonly Operation[], values: ReadonlyMap<number, string>): readonly Operation[] {
  if (operations.some(meetsUntold)) return operations;
  const seen = new Set(
    operations.flatMap(({ request, outcome }) => {
      const condition = request.type === 'get' ? undefined : request.condition;
      const expected = condition?.type === 'revision' ? values.get(condition.revision) : undefined;
      return [expected ?? [], shownIn(outcome)?.value ?? []].flat();
    }),
  );
  return operations.filter(({ request, outcome }) => {
    return outcome.type !== 'unknown' || (request.type === 'put' ? seen.has(request.value) : request.type === 'delete');
  });
}

function meetsUntold({ request, outcome }: Operation): boolean {
  if (outcome.type === 'failed') return outcome.current === undefined;
  const exists = request.type === 'put' && request.condition?.type === 'exists';
  return exists && (outcome.type === 'unknown' || (outcome.type === 'done' && outcome.replaced === undefined));
}

function shownIn(outcome: Operation['outcome']): Shown | undefined {
  if (outcome.type === 'read') return outcome.record;
  if (outcome.type === 'done') return outcome.replaced ?? undefined;
  return outcome.type === 'failed' ? (outcome.current ?? undefined) : undefined;
}

/** Which value each revision has, by everything that was answered. */
function valuesByRevision(operations: readonly Operation[], known: ReadonlyMap<number, string>): Map<number, string> {
  const values = new Map(known);
  for (const { request, outcome } of operations) {
    const shown = shownIn(outcome);
    if (shown !== undefined) values.set(shown.revision, shown.value);
    if (request.type === 'put' && outcome.type === 'done' && outcome.revision !== undefined)
      values.set(outcome.revision, request.value);
  }
  return values;
}

function stepOf({ request, outcome }: Operation, values: ReadonlyMap<number, string>): Step {
  if (request.type === 'get') {
    const shown = outcome.type === 'read' ? (outcome.record?.value ?? null) : undefined;
    return (state) => (shown === undefined || state === shown ? state : undefined);
  }
  const holds = conditionOf(request.condition, values);
  const written = request.type === 'put' ? request.value : null;
  if (outcome.type === 'done') {
    const replaced = outcome.replaced === undefined ? undefined : (outcome.replaced?.value ?? null);
    return (state) => (holds(state) && (replaced === undefined || replaced === state) ? written : undefined);
  }
  // Where its condition does not hold it need not happen.
  if (outcome.type === 'unknown') return (state) => (holds(state) && written !== state ? written : undefined);
  const current = outcome.type === 'failed' ? outcome.current : undefined;
  const met = current === undefined ? undefined : (current?.value ?? null);
  return (state) => (!holds(state) && (met === undefined || met === state) ? state : undefined);
}

function conditionOf(
  condition: Precondition | undefined,
  values: ReadonlyMap<number, string>,
): (state: State) => boolean {
  if (condition === undefined) return () => true;
  if (condition.type === 'absent') return (state) => state === null;
  if (condition.type === 'exists') return (state) => state !== null;
  const wanted = values.get(condition.revision);
  return (state) => wanted !== undefined && state === wanted;
}
