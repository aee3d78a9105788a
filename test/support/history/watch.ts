import { meaning, type Step, selects, type Truth } from './truth.ts';
import type { Sight, Watch } from './types.ts';

/** What a watch got wrong of one guarantee; empty when it kept it. */
type Validator = (watch: Watch, truth: Truth) => string[];

type Event = Extract<Sight, { key: string }>;

/** What came, taken apart: the initial state before `synced`, and the events after it. */
interface Parts {
  state: Event[];
  /** Revision of the initial state, or of the start; undefined while the initial state is not complete. */
  from: number | undefined;
  events: Event[];
}

/** The guarantees of a watch, each with its validator. */
export const WATCH_GUARANTEES: Readonly<Record<string, Validator>> = {
  /** Revisions rise: the initial state comes in key order, events in the order in which they were committed. */
  ordered(watch) {
    const { state, from, events } = parts(watch);
    const faults = pairs(state)
      .filter(([a, b]) => a.key >= b.key)
      .map(([a, b]) => `${b.key} comes after ${a.key} in the initial state`);
    for (const [a, b] of pairs(events)) if (a.revision > b.revision) faults.push(`${say(b)} comes after ${say(a)}`);
    const early = events.find(({ revision }) => from !== undefined && revision <= from);
    if (early !== undefined) faults.push(`${say(early)} is not after ${from}, where the watch starts`);
    return faults;
  },

  /** No event comes twice. */
  unique(watch) {
    const { state, events } = parts(watch);
    return [state, events].flatMap((part) => {
      const seen = new Set<number>();
      return part.filter(({ revision }) => seen.size === seen.add(revision).size).map((event) => `${say(event)} twice`);
    });
  },

  /** Nothing comes that was not committed, and it comes with the value that was committed. */
  faithful(watch, truth) {
    return watch.seen.flatMap((sight) => {
      if (!('key' in sight)) return [];
      const step = truth.at(sight.revision);
      if (step === undefined || step.key !== sight.key) return [`${say(sight)} was never committed`];
      const value = sight.type === 'deleted' ? step.replaced?.value : step.value;
      return value === sight.value ? [] : [`${say(sight)} was committed as ${value}`];
    });
  },

  /** Nothing is missing between two things that came. */
  reliable(watch, truth) {
    const { from, events } = parts(watch);
    const last = events.at(-1)?.revision;
    const first = watch.start.type === 'after' ? events[0]?.revision : from;
    return last === undefined || first === undefined ? [] : missing(watch, truth, first, last, events);
  },

  /** A watch from a revision goes on right after it. */
  resumable(watch, truth) {
    const { from, events } = parts(watch);
    const first = events[0];
    if (watch.start.type !== 'after' || from === undefined || first === undefined) return [];
    return missing(watch, truth, from, first.revision, events);
  },

  /** All up to a bookmark came before it, and nothing of it comes after. */
  bookmarkable(watch, truth) {
    const faults: string[] = [];
    const { from } = parts(watch);
    const before: Event[] = [];
    let bookmark = 0;
    for (const sight of watch.seen) {
      if ('key' in sight) {
        before.push(sight);
        if (sight.revision <= bookmark) faults.push(`${say(sight)} comes after the bookmark ${bookmark}`);
      } else if (sight.type === 'bookmark' && from !== undefined) {
        faults.push(...missing(watch, truth, Math.max(from, bookmark), sight.revision, before));
        bookmark = Math.max(bookmark, sight.revision);
      }
    }
    return faults;
  },

  /** A state that is told to be complete has every batch whole or not at all. */
  atomic(watch, truth) {
    return watch.seen.flatMap((sight) => {
      const told = sight.type === 'bookmark' || sight.type === 'synced';
      return told && truth.splitsBatch(sight.revision) ? [`${sight.type} ${sight.revision} is inside a batch`] : [];
    });
  },

  /** Only what the watch asked for comes. */
  filtered(watch, truth) {
    return watch.seen.flatMap((sight) => {
      const step = 'key' in sight ? truth.at(sight.revision) : undefined;
      if (step === undefined || step.key !== (sight as Event).key) return [];
      return selects(watch, step) || meaning(watch, step) !== undefined
        ? []
        : [`${say(sight as Event)} is not selected`];
    });
  },

  /** Added, modified and deleted are meant as the watch's selector sees them. */
  typed(watch, truth) {
    return parts(watch).events.flatMap((event) => {
      const step = truth.at(event.revision);
      const type = step && meaning(watch, step);
      return type === undefined || type === event.type ? [] : [`${say(event)} should be ${type}`];
    });
  },

  /** The initial state is the state of the revision that it is synced at. */
  initial(watch, truth) {
    const { state, from } = parts(watch);
    if (watch.start.type !== 'initial' || from === undefined) return [];
    const wanted = truth.state(from, (change) => selects(watch, change)).map(({ revision }) => revision);
    const got = state.map(({ revision }) => revision);
    return wanted.join() === got.join() ? [] : [`the state at ${from} is ${wanted.join()}, not ${got.join()}`];
  },

  /** After the end of history nothing comes, and history does not end behind what was shown. */
  compacted(watch) {
    const at = watch.seen.findIndex(({ type }) => type === 'compacted');
    return at >= 0 && at < watch.seen.length - 1 ? [`${watch.seen.length - 1 - at} things came after 'compacted'`] : [];
  },
};

/**
 * Everything that a watch got wrong, each line beginning with the guarantee. `until`: the watch had time to be shown all
 * up to that revision, unless its history was compacted; undefined makes no demand.
 */
export function checkWatch(watch: Watch, truth: Truth, until?: number): string[] {
  const faults = Object.entries(WATCH_GUARANTEES).flatMap(([guarantee, validate]) =>
    validate(watch, truth).map((fault) => `${guarantee}: ${watch.name}: ${fault}`),
  );
  const { from, events } = parts(watch);
  const ended = watch.seen.at(-1)?.type === 'compacted';
  if (until === undefined || ended) return faults;
  if (from === undefined) return [...faults, `reliable: ${watch.name}: its initial state never ended`];
  const lacking = missing(watch, truth, from, until, events);
  return [...faults, ...lacking.map((fault) => `reliable: ${watch.name}: ${fault}`)];
}

function parts({ start, seen }: Watch): Parts {
  const events = seen.filter((sight) => 'key' in sight);
  if (start.type === 'after') return { state: [], from: start.revision, events };
  const at = seen.findIndex(({ type }) => type === 'synced');
  if (at < 0) return { state: events, from: undefined, events: [] };
  const state = seen.slice(0, at).filter((sight) => 'key' in sight);
  return { state, from: seen[at]!.revision, events: events.slice(state.length) };
}

/** What of the history above `after` and up to `through` the watch should have been shown and was not. */
function missing(watch: Watch, truth: Truth, after: number, through: number, events: readonly Event[]): string[] {
  const seen = new Set(events.map(({ revision }) => revision));
  const lacks = (step: Step) =>
    step.revision > after && step.revision <= through && !seen.has(step.revision) && meaning(watch, step) !== undefined;
  return truth.steps.filter(lacks).map(({ type, key, revision }) => `${type} of ${key} at ${revision} is missing`);
}

function pairs<T>(items: readonly T[]): [T, T][] {
  return items.slice(1).map((item, at) => [items[at]!, item]);
}

function say({ type, key, revision }: Event): string {
  return `${type} ${key} at ${revision}`;
}
