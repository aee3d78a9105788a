import { causes, type StatusCause } from '../../status/status.ts';
import type { KubeObject } from '../object.ts';
import { has, integer, oneOf, text, unchanged } from './checks.ts';
import type { Validator } from './index.ts';

const SYSTEM = 'system-';
const HIGHEST = 1000000000;
/** Values of the priority classes that come with every cluster. */
const systemValues: ReadonlyMap<string, number> = new Map([
  ['system-node-critical', 2000001000],
  ['system-cluster-critical', 2000000000],
]);

function systemFault(name: string, value: number, isDefault: boolean): string | undefined {
  const known = systemValues.get(name);
  if (known === undefined) return `${name} is not a known system priority class`;
  if (value !== known) return `value of ${name} PriorityClass must be ${known}`;
  return isDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

function validatePriority(object: KubeObject): StatusCause[] {
  const name = object.metadata.name ?? '';
  const value = integer(object.value);
  const out: StatusCause[] = [];
  if (name.startsWith(SYSTEM)) {
    const fault = systemFault(name, value, object.globalDefault === true);
    const why = `priority class names with '${SYSTEM}' prefix are reserved for system use only. error: ${fault}`;
    if (fault !== undefined) out.push(causes.forbidden('metadata.name', why));
  } else if (value > HIGHEST) {
    out.push(causes.forbidden('value', `maximum allowed value of a user defined priority is ${HIGHEST}`));
  }
  if (!has(object, 'preemptionPolicy')) return out;
  if (text(object.preemptionPolicy) === '') return [...out, causes.required('preemptionPolicy')];
  return [...out, ...oneOf(object.preemptionPolicy, 'preemptionPolicy', ['PreemptLowerPriority', 'Never'], false)];
}

/** Priority classes. */
export const schedulingValidators: readonly [string, Validator][] = [
  [
    'scheduling.k8s.io/priorityclasses',
    {
      create: validatePriority,
      update: (object, old) => [
        ...(integer(object.value) === integer(old.value)
          ? []
          : [causes.forbidden('value', 'may not be changed in an update.')]),
        ...unchanged(object.preemptionPolicy, old.preemptionPolicy, 'preemptionPolicy'),
      ],
    },
  ],
];
