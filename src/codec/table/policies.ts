import { at, condition, int, mapOf, objects, present, size, text, texts } from '../../api/fields.ts';
import type { JsonValue, KubeObject } from '../../api/object.ts';
import { age, nameOf } from './format.ts';
import type { Printer, Printers } from './printer.ts';

const webhooks: Printer = (o, now) => [nameOf(o), size(o.webhooks), age(o, now)];

const policy =
  (rules: string): Printer =>
  (o, now) => {
    const kind = at(o.spec, 'paramKind');
    const shown = present(kind) ? `${text(at(kind, 'apiVersion'))}/${text(at(kind, 'kind'))}` : '<unset>';
    return [nameOf(o), size(at(o.spec, rules)), shown, age(o, now)];
  };

/** A selector in the debugging form of generated Go types, which is what the column shows. */
function goSelector(selector: JsonValue): string {
  const labels = Object.entries(mapOf(at(selector, 'matchLabels')))
    .map(([k, v]) => `${k}: ${text(v)},`)
    .sort();
  const expressions = objects(at(selector, 'matchExpressions')).map(
    (e) =>
      `LabelSelectorRequirement{Key:${text(e.key)},Operator:${text(e.operator)},Values:[${texts(e.values).join(' ')}],},`,
  );
  const list = expressions.join('');
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${list}},}`;
}

/** Without a namespace the parameter may be cluster-scoped or in any namespace, hence the star. */
function paramText(ref: JsonValue | undefined): string {
  const name = text(at(ref, 'name'));
  if (name !== '') return `${text(at(ref, 'namespace')) || '*'}/${name}`;
  const selector = at(ref, 'selector');
  return selector === undefined || selector === null ? '<unset>' : goSelector(selector);
}

const binding: Printer = (o, now) => [
  nameOf(o),
  text(at(o.spec, 'policyName')),
  paramText(at(o.spec, 'paramRef')),
  age(o, now),
];

function apiService(o: KubeObject, now: number): JsonValue[] {
  const service = at(o.spec, 'service');
  const available = condition(at(o.status, 'conditions'), 'Available');
  const status = available === undefined ? 'Unknown' : text(available.status);
  const reason = text(available?.reason);
  return [
    nameOf(o),
    present(service) ? `${text(at(service, 'namespace'))}/${text(at(service, 'name'))}` : 'Local',
    status === 'True' || reason === '' ? status : `${status} (${reason})`,
    age(o, now),
  ];
}

function flowSchema(o: KubeObject, now: number): JsonValue[] {
  const { spec, status } = o;
  const distinguisher = at(spec, 'distinguisherMethod');
  const dangling = condition(at(status, 'conditions'), 'Dangling');
  return [
    nameOf(o),
    text(at(spec, 'priorityLevelConfiguration', 'name')),
    int(at(spec, 'matchingPrecedence')),
    present(distinguisher) ? text(at(distinguisher, 'type')) : '<none>',
    age(o, now),
    dangling === undefined ? '?' : text(dangling.status),
  ];
}

/** The order in which flow schemas are tried, and in which their table lists them. */
export function byPrecedence(a: KubeObject, b: KubeObject): number {
  const difference = int(at(a.spec, 'matchingPrecedence')) - int(at(b.spec, 'matchingPrecedence'));
  return difference !== 0 ? difference : nameOf(a) < nameOf(b) ? -1 : 1;
}

function priorityLevel(o: KubeObject, now: number): JsonValue[] {
  const limited = at(o.spec, 'limited');
  const queuing = at(limited, 'limitResponse', 'queuing');
  const queue = (key: string) => (present(queuing) ? int(at(queuing, key)) : '<none>');
  return [
    nameOf(o),
    text(at(o.spec, 'type')),
    present(limited) ? int(at(limited, 'nominalConcurrencyShares')) : '<none>',
    queue('queues'),
    queue('handSize'),
    queue('queueLengthLimit'),
    age(o, now),
  ];
}

/** admissionregistration.k8s.io, apiregistration.k8s.io and flowcontrol.apiserver.k8s.io. */
export const policyPrinters: Printers = {
  'admissionregistration.k8s.io/mutatingadmissionpolicies': policy('mutations'),
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': binding,
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': webhooks,
  'admissionregistration.k8s.io/validatingadmissionpolicies': policy('validations'),
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': binding,
  'admissionregistration.k8s.io/validatingwebhookconfigurations': webhooks,
  'apiregistration.k8s.io/apiservices': apiService,
  'flowcontrol.apiserver.k8s.io/flowschemas': flowSchema,
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': priorityLevel,
};
