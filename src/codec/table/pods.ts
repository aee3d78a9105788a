import { at, condition, int, objects, present, text, textOr } from '../../api/fields.ts';
import type { JsonObject, JsonValue, KubeObject } from '../../api/object.ts';
import { age, nameOf, since } from './format.ts';
import type { Printer, Printers } from './printer.ts';

/** What the status column and its neighbours add up to while the containers are gone through. */
interface Tally {
  reason: string;
  ready: number;
  restarts: number;
  lastRestart: string;
}

const isSidecar = (container: JsonObject | undefined) => container?.restartPolicy === 'Always';

function countRestarts(tally: Tally, status: JsonObject): void {
  tally.restarts += int(status.restartCount);
  const finished = text(at(status, 'lastState', 'terminated', 'finishedAt'));
  if (finished > tally.lastRestart) tally.lastRestart = finished;
}

function terminationReason(terminated: JsonObject): string {
  if (text(terminated.reason) !== '') return text(terminated.reason);
  return int(terminated.signal) === 0 ? `ExitCode:${int(terminated.exitCode)}` : `Signal:${int(terminated.signal)}`;
}

/** Why an init container holds the pod up, `undefined` when it does not. */
function initReason(status: JsonObject, sidecar: boolean, index: number, total: number): string | undefined {
  const terminated = at(status, 'state', 'terminated') as JsonObject | undefined;
  const waiting = text(at(status, 'state', 'waiting', 'reason'));
  if (present(terminated) && int(terminated?.exitCode) === 0) return undefined;
  if (sidecar && status.started === true) return undefined;
  if (terminated) return `Init:${terminationReason(terminated)}`;
  if (waiting !== '' && waiting !== 'PodInitializing') return `Init:${waiting}`;
  return `Init:${index}/${total}`;
}

/** Goes through the init containers in order, up to the first that is not done; answers whether there is one. */
function tallyInit(o: KubeObject, tally: Tally, sidecars: Tally): boolean {
  const specs = new Map(objects(at(o.spec, 'initContainers')).map((c) => [text(c.name), c]));
  for (const [i, status] of objects(at(o.status, 'initContainerStatuses')).entries()) {
    const sidecar = isSidecar(specs.get(text(status.name)));
    countRestarts(tally, status);
    if (sidecar) countRestarts(sidecars, status);
    const reason = initReason(status, sidecar, i, specs.size);
    if (reason !== undefined) {
      tally.reason = reason;
      return true;
    }
    if (sidecar && status.started === true && status.ready === true && !isDone(status)) tally.ready++;
  }
  return false;
}

const isDone = (status: JsonObject) => {
  const terminated = at(status, 'state', 'terminated');
  return present(terminated) && int(at(terminated, 'exitCode')) === 0;
};

/** Goes through the main containers, last to first, so that the first one in trouble names the reason. */
function tallyMain(o: KubeObject, tally: Tally): void {
  let running = false;
  let failure = '';
  for (const status of objects(at(o.status, 'containerStatuses')).reverse()) {
    countRestarts(tally, status);
    const waiting = text(at(status, 'state', 'waiting', 'reason'));
    const terminated = at(status, 'state', 'terminated') as JsonObject | undefined;
    if (waiting !== '') {
      tally.reason = waiting;
    } else if (terminated) {
      tally.reason = terminationReason(terminated);
      if (int(terminated.exitCode) !== 0) failure = tally.reason;
    } else if (status.ready === true && present(at(status, 'state', 'running'))) {
      running = true;
      tally.ready++;
    }
  }
  if (tally.reason !== 'Completed') return;
  const podReady = condition(at(o.status, 'conditions'), 'Ready')?.status === 'True';
  if (running && podReady) tally.reason = 'Running';
  else if (failure !== '') tally.reason = failure;
  else if (running) tally.reason = 'NotReady';
}

function initialReason(o: KubeObject): string {
  const gated = objects(at(o.status, 'conditions')).some(
    (c) => c.type === 'PodScheduled' && c.reason === 'SchedulingGated',
  );
  return gated ? 'SchedulingGated' : textOr(at(o.status, 'reason'), text(at(o.status, 'phase')));
}

function finalReason(o: KubeObject, reason: string): string {
  if (!o.metadata.deletionTimestamp) return reason;
  if (at(o.status, 'reason') === 'NodeLost') return 'Unknown';
  const phase = at(o.status, 'phase');
  return phase === 'Succeeded' || phase === 'Failed' ? reason : 'Terminating';
}

function tallyPod(o: KubeObject): Tally {
  const tally: Tally = { reason: initialReason(o), ready: 0, restarts: 0, lastRestart: '' };
  const sidecars: Tally = { reason: '', ready: 0, restarts: 0, lastRestart: '' };
  const initializing = tallyInit(o, tally, sidecars);
  if (!initializing || condition(at(o.status, 'conditions'), 'Initialized')?.status === 'True') {
    tally.restarts = sidecars.restarts;
    tally.lastRestart = sidecars.lastRestart;
    tallyMain(o, tally);
  }
  tally.reason = finalReason(o, tally.reason);
  return tally;
}

function readinessGates(o: KubeObject): string {
  const gates = objects(at(o.spec, 'readinessGates'));
  if (gates.length === 0) return '<none>';
  const conditions = at(o.status, 'conditions');
  const open = gates.filter((g) => condition(conditions, text(g.conditionType))?.status === 'True');
  return `${open.length}/${gates.length}`;
}

const printPod: Printer = (o, now) => {
  const { reason, ready, restarts, lastRestart } = tallyPod(o);
  const total =
    objects(at(o.spec, 'containers')).length + objects(at(o.spec, 'initContainers')).filter(isSidecar).length;
  return [
    nameOf(o),
    `${ready}/${total}`,
    reason,
    restarts !== 0 && lastRestart !== '' ? `${restarts} (${since(lastRestart, now)} ago)` : `${restarts}`,
    age(o, now),
    textOr(objects(at(o.status, 'podIPs'))[0]?.ip, '<none>'),
    textOr(at(o.spec, 'nodeName'), '<none>'),
    textOr(at(o.status, 'nominatedNodeName'), '<none>'),
    readinessGates(o),
  ];
};

const completed = (reason: string, message: string): JsonValue => [
  { type: 'Completed', status: 'True', reason, message },
];
const endings: ReadonlyMap<string, JsonValue> = new Map([
  ['Succeeded', completed('Succeeded', 'The pod has completed successfully.')],
  ['Failed', completed('Failed', 'The pod failed.')],
]);

/** Row conditions of a pod that has ended, which let clients hide it. */
export const podConditions = (o: KubeObject): JsonValue | undefined => endings.get(text(at(o.status, 'phase')));

export const podPrinters: Printers = { '/pods': printPod };
