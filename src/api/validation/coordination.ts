import { causes, type StatusCause } from '../../status/status.ts';
import type { KubeObject } from '../object.ts';
import { each, oneOf, part, text } from './checks.ts';
import type { Validator } from './index.ts';
import { qualifiedNameErrors } from './labels.ts';

/** Causes in a strategy; upstream names its field twice. */
function strategyFaults(strategy: string, at: string): StatusCause[] {
  const here = `${at}.strategy`;
  return strategy.includes('/')
    ? each(here, strategy, qualifiedNameErrors(strategy))
    : oneOf(strategy, here, ['OldestEmulationVersion']);
}

function validateLease(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const out: StatusCause[] = [];
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions, strategy } = spec;
  if (typeof seconds === 'number' && seconds <= 0) {
    out.push(causes.invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0'));
  }
  if (typeof transitions === 'number' && transitions < 0) {
    out.push(causes.invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  if (typeof strategy === 'string') out.push(...strategyFaults(strategy, 'spec.strategy'));
  if (text(spec.preferredHolder) !== '' && text(strategy) === '') {
    out.push(causes.forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined'));
  }
  return out;
}

/** Leases. */
export const coordinationValidators: readonly [string, Validator][] = [
  ['coordination.k8s.io/leases', { create: validateLease }],
];
