import { causes, type StatusCause } from '../../status/status.ts';
import { deepCopy, isObject, type JsonObject, type KubeObject } from '../object.ts';
import { copyFields, has, integer, nonNegative, oneOf, part, parts, text, unchanged } from './checks.ts';
import { isTimeZone, scheduleError } from './cron.ts';
import type { Validator } from './index.ts';
import { validateJobTemplate } from './job-spec.ts';
import { validateJobStatus } from './job-status.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { dnsLabelErrors } from './names.ts';
import { validateSelection } from './pod-template.ts';

/** Labels of a Job's pods that are made from its name or its uid. */
const GENERATED = [
  ['controller-uid', 'uid'],
  ['job-name', 'name'],
  ['batch.kubernetes.io/controller-uid', 'uid'],
  ['batch.kubernetes.io/job-name', 'name'],
] as const;

function validateGenerated(job: KubeObject): StatusCause[] {
  const spec = part(job, 'spec');
  if (spec.manualSelector === true || !isObject(spec.selector)) return [];
  const labels = part(part(part(spec, 'template'), 'metadata'), 'labels');
  const expected: Record<string, string> = {};
  const out: StatusCause[] = [];
  for (const [key, source] of GENERATED) {
    const value = job.metadata[source] ?? '';
    expected[key] = value;
    const at = `spec.template.metadata.labels[${key}]`;
    if (!Object.hasOwn(labels, key)) out.push(causes.required(at, `must be '${value}'`));
    else if (labels[key] !== value) out.push(causes.invalid(at, labels, `must be '${value}'`));
  }
  const matched = validateSelection(spec.selector, { metadata: { labels: expected } }, '').length === 0;
  return matched ? out : [...out, causes.invalid('spec.selector', spec.selector, '`selector` not auto-generated')];
}

function validateJobSpec(spec: JsonObject): StatusCause[] {
  const { selector } = spec;
  return [
    ...validateJobTemplate(spec, 'spec'),
    ...(isObject(selector) ? labelSelectorFaults(selector, 'spec.selector') : [causes.required('spec.selector')]),
    ...validateSelection(selector, part(spec, 'template'), 'spec.template'),
  ];
}

function validateJob(job: KubeObject): StatusCause[] {
  const spec = part(job, 'spec');
  const out = [...validateGenerated(job), ...validateJobSpec(spec)];
  const completions = integer(spec.completions);
  if (spec.completionMode !== 'Indexed' || completions <= 0) return out;
  const name = job.metadata.name ?? '';
  const host = `${name}-${completions - 1}`;
  if (dnsLabelErrors(host).length === 0) return out;
  return [...out, causes.invalid('metadata.name', name, `will not able to create pod with invalid DNS label: ${host}`)];
}

function validateCompletions(spec: JsonObject, old: JsonObject): StatusCause[] {
  const at = 'spec.completions';
  const { completions } = spec;
  if (spec.completionMode !== 'Indexed') return unchanged(completions, old.completions, at);
  if (completions === old.completions || typeof completions !== 'number' || completions === spec.parallelism) return [];
  return [causes.invalid(at, completions, 'can only be modified in tandem with spec.parallelism')];
}

const isTrue = (object: JsonObject, type: string) =>
  parts(object, 'conditions').some((condition) => condition.type === type && condition.status === 'True');

/** Whether a Job rests: what its pods ask of nodes may change then. */
function rests(job: KubeObject): boolean {
  const status = part(job, 'status');
  if (part(job, 'spec').suspend !== true || integer(status.active) !== 0) return false;
  return !has(status, 'startTime') || isTrue(status, 'Suspended');
}

/** The old template of a Job that rests, with all that may change taken from the new one. */
function leveled(template: JsonObject, old: JsonObject): JsonObject {
  const out = deepCopy(old);
  const [pod, spec] = [part(template, 'spec'), part(out, 'spec')];
  copyFields(pod, spec, ['nodeSelector', 'tolerations', 'schedulingGates']);
  const affinity = { ...part(spec, 'affinity') };
  copyFields(part(pod, 'affinity'), affinity, ['nodeAffinity']);
  if (Object.keys(affinity).length > 0 || has(pod, 'affinity')) spec.affinity = affinity;
  else delete spec.affinity;
  for (const key of ['containers', 'initContainers']) {
    const containers = parts(pod, key);
    const before = parts(spec, key);
    if (containers.length !== before.length) continue;
    for (const [i, container] of before.entries()) {
      if (container.name === containers[i]!.name) copyFields(containers[i]!, container, ['resources']);
    }
  }
  return out;
}

function validateTemplateUpdate(job: KubeObject, old: KubeObject): StatusCause[] {
  const [template, before] = [part(part(job, 'spec'), 'template'), part(part(old, 'spec'), 'template')];
  if (!rests(old)) return unchanged(template, before, 'spec.template');
  return unchanged(template.spec, leveled(template, before).spec, 'spec.template.spec');
}

function validateJobUpdate(job: KubeObject, old: KubeObject): StatusCause[] {
  const [spec, before] = [part(job, 'spec'), part(old, 'spec')];
  const fixed = ['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'];
  return [
    ...validateJob(job),
    ...validateJobSpec(spec),
    ...validateCompletions(spec, before),
    ...unchanged(spec.selector, before.selector, 'spec.selector'),
    ...validateTemplateUpdate(job, old),
    ...fixed.flatMap((key) => unchanged(spec[key], before[key], `spec.${key}`)),
  ];
}

const ZONE_PART = /^[A-Za-z.\-_0-9+]{1,14}$/;
const MAX_CRON_JOB_NAME = 52;
const CONCURRENCY = ['Allow', 'Forbid', 'Replace'];

function validateSchedule(spec: JsonObject, old: JsonObject | undefined): StatusCause[] {
  const at = 'spec.schedule';
  const schedule = text(spec.schedule);
  if (schedule === '') return [causes.required(at)];
  const fault = scheduleError(schedule);
  const out = fault === undefined ? [] : [causes.invalid(at, schedule, fault)];
  if (!schedule.includes('TZ')) return out;
  const allowed = text(old?.schedule).includes('TZ');
  if (allowed && !has(spec, 'timeZone')) return out;
  const why = allowed
    ? 'cannot use both timeZone field and TZ or CRON_TZ in schedule'
    : 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead';
  return [...out, causes.invalid(at, schedule, why)];
}

function validateTimeZone(zone: string): StatusCause[] {
  const at = 'spec.timeZone';
  if (zone === '') return [causes.invalid(at, zone, 'timeZone must be nil or non-empty string')];
  const unknown = causes.invalid(at, zone, `unknown time zone ${zone}`);
  for (const segment of zone.split('/')) {
    if (segment === '.' || segment === '..' || segment.startsWith('-') || !ZONE_PART.test(segment)) return [unknown];
  }
  const out: StatusCause[] = [];
  if (zone.toLowerCase() === 'local') {
    const why = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';
    out.push(causes.invalid(at, zone, why));
  }
  return zone === 'Local' || isTimeZone(zone) ? out : [...out, unknown];
}

function validateCronJob(cronJob: KubeObject, old?: KubeObject): StatusCause[] {
  const spec = part(cronJob, 'spec');
  const before = old === undefined ? undefined : part(old, 'spec');
  const job = part(part(spec, 'jobTemplate'), 'spec');
  const at = 'spec.jobTemplate.spec';
  const out = [...validateSchedule(spec, before), ...nonNegative(spec, 'spec', ['startingDeadlineSeconds'])];
  if (typeof spec.timeZone === 'string' && before?.timeZone !== spec.timeZone) {
    out.push(...validateTimeZone(spec.timeZone));
  }
  const policy = spec.concurrencyPolicy;
  if (text(policy) === '') out.push(causes.required('spec.concurrencyPolicy'));
  else out.push(...oneOf(policy, 'spec.concurrencyPolicy', CONCURRENCY));
  out.push(...validateJobTemplate(job, at));
  if (has(job, 'selector')) {
    out.push(causes.invalid(`${at}.selector`, job.selector, '`selector` will be auto-generated'));
  }
  if (job.manualSelector === true) {
    out.push(causes.notSupported(`${at}.manualSelector`, true, ['nil', 'false']));
  }
  return [...out, ...nonNegative(spec, 'spec', ['successfulJobsHistoryLimit', 'failedJobsHistoryLimit'])];
}

function validateNewCronJob(cronJob: KubeObject): StatusCause[] {
  const { name = '' } = cronJob.metadata;
  const out = validateCronJob(cronJob);
  if (name.length <= MAX_CRON_JOB_NAME) return out;
  return [...out, causes.invalid('metadata.name', name, `must be no more than ${MAX_CRON_JOB_NAME} characters`)];
}

/** Jobs and CronJobs. */
export const batchValidators: readonly [string, Validator][] = [
  ['batch/jobs', { create: validateJob, update: validateJobUpdate }],
  ['batch/jobs/status', { update: validateJobStatus }],
  ['batch/cronjobs', { create: validateNewCronJob, update: validateCronJob }],
];
