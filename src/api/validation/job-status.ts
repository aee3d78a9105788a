import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../object.ts';
import { has, integer, nonNegative, part, parts, texts, withoutValue } from './checks.ts';
import { indexCount, overlap } from './indexes.ts';

const COUNTS = ['active', 'succeeded', 'failed', 'ready', 'terminating'];

/** What a rule about the status of a Job looks at. */
class JobState {
  readonly spec: JsonObject;
  readonly status: JsonObject;
  readonly #true: ReadonlySet<unknown>;
  readonly #false: ReadonlySet<unknown>;

  constructor(job: KubeObject) {
    this.spec = part(job, 'spec');
    this.status = part(job, 'status');
    const conditions = parts(this.status, 'conditions');
    const typesWith = (status: string) => new Set(conditions.filter((c) => c.status === status).map((c) => c.type));
    this.#true = typesWith('True');
    this.#false = typesWith('False');
  }

  is = (condition: string) => this.#true.has(condition);
  isNot = (condition: string) => this.#false.has(condition);
  get finished() {
    return this.is('Complete') || this.is('Failed');
  }
  get indexed() {
    return this.spec.completionMode === 'Indexed';
  }
}

/** The new and the old state, and what of it has changed. */
class Transition {
  readonly now: JobState;
  readonly old: JobState;
  constructor(job: KubeObject, old: KubeObject) {
    this.now = new JobState(job);
    this.old = new JobState(old);
  }

  changed = (...keys: string[]) =>
    keys.some((key) => !deepEqual(this.now.status[key] ?? null, this.old.status[key] ?? null));
  turned = (...conditions: string[]) => conditions.some((type) => this.now.is(type) !== this.old.is(type));
  get finishedChanged() {
    return this.now.finished !== this.old.finished;
  }
}

interface Rule {
  /** Whether the rule is broken by what this change touches. */
  broken: (transition: Transition) => boolean;
  cause: (status: JsonObject) => StatusCause;
}

const condition = (why: string) => () => withoutValue('status.conditions', why);
const value = (key: string, why: string) => (status: JsonObject) =>
  causes.invalid(`status.${key}`, status[key] ?? null, why);
const missing = (key: string, why: string) => () => causes.required(`status.${key}`, why);
const before = (a: unknown, b: unknown) =>
  typeof a === 'string' && typeof b === 'string' && Date.parse(a) < Date.parse(b);

function uncounted({ now }: Transition): boolean {
  const pods = part(now.status, 'uncountedTerminatedPods');
  return texts(pods, 'succeeded').length + texts(pods, 'failed').length > 0;
}

/** In the order in which upstream lists the causes. Most only look at what changed, as specs may have moved on. */
const rulesBeforeIndexes: readonly Rule[] = [
  {
    broken: (t) => t.turned('Complete', 'Failed') && t.now.is('Complete') && t.now.is('Failed'),
    cause: condition('cannot set Complete=True and Failed=true conditions'),
  },
  {
    broken: (t) => t.turned('Complete', 'FailureTarget') && t.now.is('Complete') && t.now.is('FailureTarget'),
    cause: condition('cannot set Complete=True and FailureTarget=true conditions'),
  },
  {
    broken: (t) =>
      (t.turned('Complete') || t.changed('completionTime')) &&
      has(t.now.status, 'completionTime') &&
      !t.now.is('Complete'),
    cause: value('completionTime', 'cannot set completionTime when there is no Complete=True condition'),
  },
  {
    broken: (t) =>
      (t.turned('Complete') || t.changed('completionTime')) &&
      !has(t.now.status, 'completionTime') &&
      t.now.is('Complete'),
    cause: missing('completionTime', 'completionTime is required for Complete jobs'),
  },
  {
    broken: (t) =>
      t.changed('startTime', 'completionTime') && before(t.now.status.completionTime, t.now.status.startTime),
    cause: value('completionTime', 'must be equal to or after `startTime`'),
  },
  {
    broken: (t) =>
      (t.turned('Failed') || t.changed('failedIndexes')) && t.now.is('Failed') && !t.now.is('FailureTarget'),
    cause: condition('cannot set Failed=True condition without the FailureTarget=true condition'),
  },
  {
    broken: (t) =>
      t.turned('Complete', 'SuccessCriteriaMet') && t.now.is('Complete') && !t.now.is('SuccessCriteriaMet'),
    cause: condition('cannot set Complete=True condition without the SuccessCriteriaMet=true condition'),
  },
  {
    broken: (t) => (t.finishedChanged || t.changed('active')) && t.now.finished && integer(t.now.status.active) > 0,
    cause: value('active', 'active>0 is invalid for finished job'),
  },
  {
    broken: (t) =>
      (t.finishedChanged || t.changed('startTime')) &&
      !(t.now.spec.suspend === true && t.now.spec.completions === 0) &&
      t.now.finished &&
      !has(t.now.status, 'startTime'),
    cause: missing('startTime', 'startTime is required for finished job'),
  },
  {
    broken: (t) => (t.finishedChanged || t.changed('uncountedTerminatedPods')) && t.now.finished && uncounted(t),
    cause: value('uncountedTerminatedPods', 'must be empty for finished job'),
  },
];

const rulesAfterIndexes: readonly Rule[] = [
  {
    broken: (t) =>
      (t.finishedChanged || t.changed('terminating')) && t.now.finished && integer(t.now.status.terminating) > 0,
    cause: value('terminating', 'terminating>0 is invalid for finished job'),
  },
  {
    broken: (t) =>
      t.changed('ready', 'active') &&
      has(t.now.status, 'ready') &&
      integer(t.now.status.ready) > integer(t.now.status.active),
    cause: value('ready', 'cannot set more ready pods than active'),
  },
  {
    broken: (t) => t.now.is('SuccessCriteriaMet') && t.now.is('Failed'),
    cause: condition('cannot set SuccessCriteriaMet=True and Failed=true conditions'),
  },
  {
    broken: (t) => t.now.is('SuccessCriteriaMet') && t.now.is('FailureTarget'),
    cause: condition('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions'),
  },
  {
    broken: (t) => has(t.now.spec, 'successPolicy') && !t.now.is('SuccessCriteriaMet') && t.now.is('Complete'),
    cause: condition('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True'),
  },
  ...['Failed', 'Complete', 'FailureTarget'].map(
    (type): Rule => ({
      broken: (t) => t.old.is(type) && !t.now.is(type),
      cause: condition(`cannot disable the terminal ${type}=True condition`),
    }),
  ),
  {
    broken: (t) => integer(t.now.status.failed) < integer(t.old.status.failed),
    cause: (status) => causes.invalid('status.failed', integer(status.failed), 'cannot decrease the failed counter'),
  },
  {
    broken: (t) =>
      !(t.now.indexed && t.now.spec.completions === t.now.spec.parallelism) &&
      integer(t.now.status.succeeded) < integer(t.old.status.succeeded),
    cause: (status) =>
      causes.invalid('status.succeeded', integer(status.succeeded), 'cannot decrease the succeeded counter'),
  },
  {
    broken: (t) =>
      has(t.now.status, 'completionTime') && has(t.old.status, 'completionTime') && t.changed('completionTime'),
    cause: value('completionTime', 'field is immutable'),
  },
  {
    broken: (t) =>
      t.changed('startTime') &&
      has(t.old.status, 'startTime') &&
      t.now.spec.suspend !== true &&
      !(t.old.is('Suspended') && t.now.isNot('Suspended')),
    cause: value('startTime', 'field is immutable for unsuspended job once set'),
  },
  {
    broken: (t) => t.old.is('SuccessCriteriaMet') && !t.now.is('SuccessCriteriaMet'),
    cause: condition('cannot disable the SuccessCriteriaMet=True condition'),
  },
  {
    broken: (t) => t.old.is('Complete') && !t.old.is('SuccessCriteriaMet') && t.now.is('SuccessCriteriaMet'),
    cause: condition('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions'),
  },
];

function validateUncounted(status: JsonObject): StatusCause[] {
  const pods = part(status, 'uncountedTerminatedPods');
  const seen = new Set<string>();
  return ['succeeded', 'failed'].flatMap((key) =>
    texts(pods, key).flatMap((uid, i) => {
      const at = `status.uncountedTerminatedPods.${key}[${i}]`;
      if (uid === '') return [causes.invalid(at, uid, 'must not be empty')];
      if (seen.has(uid)) return [causes.duplicate(at, uid)];
      seen.add(uid);
      return [];
    }),
  );
}

function validateIndexes(t: Transition): StatusCause[] {
  const { spec, status, indexed } = t.now;
  const { completions } = spec;
  const completed = typeof status.completedIndexes === 'string' ? status.completedIndexes : '';
  const failed = typeof status.failedIndexes === 'string' ? status.failedIndexes : undefined;
  const limited = has(spec, 'backoffLimitPerIndex');
  const [completedChanged, failedChanged] = [t.changed('completedIndexes'), t.changed('failedIndexes')];
  const out: StatusCause[] = [];
  const parse = (key: string, indexes: string) => {
    const found = typeof completions === 'number' ? indexCount(indexes, completions) : 0;
    if (typeof found === 'string') out.push(causes.invalid(`status.${key}`, indexes, `error parsing ${key}: ${found}`));
  };
  if (completedChanged) parse('completedIndexes', completed);
  if (failedChanged && failed !== undefined && limited) parse('failedIndexes', failed);
  if (completedChanged && completed !== '' && !indexed) {
    const why = 'cannot set non-empty completedIndexes when non-indexed completion mode';
    out.push(causes.invalid('status.completedIndexes', completed, why));
  }
  if (failed === undefined) return out;
  if (failedChanged && !limited) {
    const why = 'cannot set non-null failedIndexes when backoffLimitPerIndex is null';
    out.push(causes.invalid('status.failedIndexes', failed, why));
  }
  if ((!failedChanged && !completedChanged) || typeof completions !== 'number') return out;
  const index = overlap(completed, failed, completions);
  if (index === undefined) return out;
  const why = `failedIndexes and completedIndexes overlap at index: ${index}`;
  return [...out, causes.invalid('status.failedIndexes', failed, why)];
}

/** Causes in the changed status of a Job. */
export function validateJobStatus(job: KubeObject, old: KubeObject): StatusCause[] {
  const transition = new Transition(job, old);
  const { status } = transition.now;
  const check = (rules: readonly Rule[]) => rules.filter((r) => r.broken(transition)).map((r) => r.cause(status));
  return [
    ...nonNegative(status, 'status', COUNTS),
    ...validateUncounted(status),
    ...check(rulesBeforeIndexes),
    ...validateIndexes(transition),
    ...check(rulesAfterIndexes),
  ];
}
