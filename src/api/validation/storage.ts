import { causes, type StatusCause } from '../../status/status.ts';
import type { KubeObject } from '../object.ts';
import { oneOf, part, text, unchanged } from './checks.ts';
import type { Validator } from './index.ts';

function validateClass(object: KubeObject): StatusCause[] {
  const out: StatusCause[] = [];
  if (text(object.provisioner) === '') out.push(causes.required('provisioner'));
  if (Object.keys(part(object, 'parameters')).includes('')) {
    out.push(causes.invalid('parameters', '', 'field can not be empty.'));
  }
  out.push(...oneOf(object.reclaimPolicy, 'reclaimPolicy', ['Delete', 'Retain']));
  out.push(...oneOf(object.volumeBindingMode, 'volumeBindingMode', ['Immediate', 'WaitForFirstConsumer']));
  return out;
}

/** Fields of a class that decide how its volumes are made. */
const FIXED = ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'];

/** Storage classes. */
export const storageValidators: readonly [string, Validator][] = [
  [
    'storage.k8s.io/storageclasses',
    {
      create: validateClass,
      update: (object, old) => [
        ...validateClass(object),
        ...FIXED.flatMap((key) => unchanged(object[key], old[key], key)),
      ],
    },
  ],
];
