import { causes, type StatusCause } from '../../status/status.ts';
import type { KubeObject } from '../object.ts';
import { integer, nonNegative, part } from './checks.ts';
import type { Validator } from './index.ts';

interface Rule {
  /** Numbers that may not be negative. */
  counts: readonly string[];
  /** Numbers that may not be above `replicas`. */
  bounded: readonly string[];
  /** What those that are available may not be more than, as the message names it. */
  ready?: string;
}

const REPLICAS = ['readyReplicas', 'availableReplicas'];
const COLLISIONS = 'collisionCount';
const replicaSet: Rule = {
  counts: ['replicas', 'fullyLabeledReplicas', ...REPLICAS, 'observedGeneration', 'terminatingReplicas'],
  bounded: ['fullyLabeledReplicas', ...REPLICAS],
  ready: 'readyReplicas',
};

const rules: Readonly<Record<string, Rule>> = {
  'apps/deployments': {
    counts: [
      'observedGeneration',
      'replicas',
      'updatedReplicas',
      ...REPLICAS,
      'unavailableReplicas',
      'terminatingReplicas',
      COLLISIONS,
    ],
    bounded: ['updatedReplicas', ...REPLICAS],
    ready: 'readyReplicas',
  },
  'apps/replicasets': replicaSet,
  '/replicationcontrollers': replicaSet,
  'apps/statefulsets': {
    counts: [
      'replicas',
      'readyReplicas',
      'currentReplicas',
      'updatedReplicas',
      'availableReplicas',
      'observedGeneration',
      COLLISIONS,
    ],
    bounded: ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
    ready: 'status.readyReplicas',
  },
  'apps/daemonsets': {
    counts: [
      'currentNumberScheduled',
      'numberMisscheduled',
      'desiredNumberScheduled',
      'numberReady',
      'observedGeneration',
      'updatedNumberScheduled',
      'numberAvailable',
      'numberUnavailable',
      COLLISIONS,
    ],
    bounded: [],
  },
};

function validateStatus(object: KubeObject, old: KubeObject, { counts, bounded, ready }: Rule): StatusCause[] {
  const [status, before] = [part(object, 'status'), part(old, 'status')];
  const count = (key: string) => integer(status[key]);
  const out = nonNegative(status, 'status', counts);
  for (const key of bounded) {
    if (count(key) <= count('replicas')) continue;
    out.push(causes.invalid(`status.${key}`, count(key), 'cannot be greater than status.replicas'));
  }
  const available = count('availableReplicas');
  if (ready !== undefined && available > count('readyReplicas')) {
    out.push(causes.invalid('status.availableReplicas', available, `cannot be greater than ${ready}`));
  }
  if (counts.includes(COLLISIONS) && count(COLLISIONS) < integer(before[COLLISIONS])) {
    out.push(causes.invalid(`status.${COLLISIONS}`, count(COLLISIONS), 'cannot be decremented'));
  }
  return out;
}

/** The status of each workload: numbers that agree with each other. */
export const workloadStatusValidators: readonly [string, Validator][] = Object.entries(rules).map(([key, rule]) => [
  `${key}/status`,
  { update: (object, old) => validateStatus(object, old, rule) },
]);
