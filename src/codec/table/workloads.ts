import { at, condition, int, present, size, text } from '../../api/fields.ts';
import type { JsonValue, KubeObject } from '../../api/object.ts';
import {
  age,
  containerCells,
  controllerOf,
  formatLabels,
  formatSelector,
  humanDuration,
  lowerGroupKind,
  nameOf,
  optional,
  selectorString,
  since,
} from './format.ts';
import type { Printers } from './printer.ts';

const templateCells = (o: KubeObject) => containerCells(at(o.spec, 'template', 'spec'));

function controllerRevision(o: KubeObject, now: number): JsonValue[] {
  const owner = controllerOf(o);
  const controller =
    owner === undefined ? '<none>' : `${lowerGroupKind(owner.apiVersion, owner.kind)}/${text(owner.name)}`;
  return [nameOf(o), controller, int(o.revision), age(o, now)];
}

function daemonSet(o: KubeObject, now: number): JsonValue[] {
  const { status } = o;
  return [
    nameOf(o),
    int(at(status, 'desiredNumberScheduled')),
    int(at(status, 'currentNumberScheduled')),
    int(at(status, 'numberReady')),
    int(at(status, 'updatedNumberScheduled')),
    int(at(status, 'numberAvailable')),
    formatLabels(at(o.spec, 'template', 'spec', 'nodeSelector')),
    age(o, now),
    ...templateCells(o),
    formatSelector(at(o.spec, 'selector')),
  ];
}

const readyOfDesired = (o: KubeObject) => `${int(at(o.status, 'readyReplicas'))}/${int(at(o.spec, 'replicas'))}`;

function deployment(o: KubeObject, now: number): JsonValue[] {
  const { status } = o;
  return [
    nameOf(o),
    readyOfDesired(o),
    int(at(status, 'updatedReplicas')),
    int(at(status, 'availableReplicas')),
    age(o, now),
    ...templateCells(o),
    selectorString(at(o.spec, 'selector')),
  ];
}

function replicaSet(o: KubeObject, now: number): JsonValue[] {
  const { spec, status } = o;
  return [
    nameOf(o),
    int(at(spec, 'replicas')),
    int(at(status, 'replicas')),
    int(at(status, 'readyReplicas')),
    age(o, now),
    ...templateCells(o),
    formatSelector(at(spec, 'selector')),
  ];
}

function cronJob(o: KubeObject, now: number): JsonValue[] {
  const { spec, status } = o;
  const suspend = at(spec, 'suspend');
  const last = at(status, 'lastScheduleTime');
  return [
    nameOf(o),
    text(at(spec, 'schedule')),
    optional(at(spec, 'timeZone'), '<none>'),
    typeof suspend === 'boolean' ? (suspend ? 'True' : 'False') : '<unset>',
    size(at(status, 'active')),
    present(last) ? since(last, now) : '<none>',
    age(o, now),
    ...containerCells(at(spec, 'jobTemplate', 'spec', 'template', 'spec')),
    formatSelector(at(spec, 'jobTemplate', 'spec', 'selector')),
  ];
}

function completions(o: KubeObject): string {
  const succeeded = int(at(o.status, 'succeeded'));
  const wanted = at(o.spec, 'completions');
  if (present(wanted)) return `${succeeded}/${int(wanted)}`;
  const parallelism = int(at(o.spec, 'parallelism'));
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(o: KubeObject, now: number): string {
  const start = at(o.status, 'startTime');
  if (!present(start)) return '';
  const end = at(o.status, 'completionTime');
  return humanDuration((present(end) ? Date.parse(text(end)) : now) - Date.parse(text(start)));
}

/** Conditions of a job in the order in which they decide its status; deletion comes between the two lists. */
const finalJobConditions = ['Complete', 'Failed'];
const passingJobConditions = ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'];

function jobStatus(o: KubeObject): string {
  const conditions = at(o.status, 'conditions');
  const holds = (type: string) => condition(conditions, type)?.status === 'True';
  const final = finalJobConditions.find(holds);
  if (final !== undefined) return final;
  if (o.metadata.deletionTimestamp) return 'Terminating';
  return passingJobConditions.find(holds) ?? 'Running';
}

function job(o: KubeObject, now: number): JsonValue[] {
  return [
    nameOf(o),
    jobStatus(o),
    completions(o),
    jobDuration(o, now),
    age(o, now),
    ...templateCells(o),
    formatSelector(at(o.spec, 'selector')),
  ];
}

function podDisruptionBudget(o: KubeObject, now: number): JsonValue[] {
  const { spec, status } = o;
  return [
    nameOf(o),
    optional(at(spec, 'minAvailable'), 'N/A'),
    optional(at(spec, 'maxUnavailable'), 'N/A'),
    int(at(status, 'disruptionsAllowed')),
    age(o, now),
  ];
}

/** apps, batch and policy. */
export const workloadPrinters: Printers = {
  'apps/controllerrevisions': controllerRevision,
  'apps/daemonsets': daemonSet,
  'apps/deployments': deployment,
  'apps/replicasets': replicaSet,
  'apps/statefulsets': (o, now) => [nameOf(o), readyOfDesired(o), age(o, now), ...templateCells(o)],
  'batch/cronjobs': cronJob,
  'batch/jobs': job,
  'policy/poddisruptionbudgets': podDisruptionBudget,
};
