import { causes, type StatusCause } from '../../status/status.ts';
import type { KubeObject } from '../object.ts';
import { part } from './checks.ts';
import type { Validator } from './index.ts';

function validateLease(object: KubeObject): StatusCause[] {
  const out: StatusCause[] = [];
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = part(object, 'spec');
  if (typeof seconds === 'number' && seconds <= 0) {
    out.push(causes.invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0'));
  }
  if (typeof transitions === 'number' && transitions < 0) {
    out.push(causes.invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  return out;
}

/** Leases. */
export const coordinationValidators: readonly [string, Validator][] = [
  ['coordination.k8s.io/leases', { create: validateLease }],
];
