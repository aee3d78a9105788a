import { dnsLabelErrors, dnsSubdomainErrors } from '../../api/validation/names.ts';
import { type Definition, LIBRARY_TYPES } from '../functions.ts';
import { Fault, Opaque } from '../values.ts';

/** Kubernetes' authz and authzSelectors libraries. */

/** What is asked of the authorizer. */
export interface AccessQuery {
  /** Set where the check is of a service account, not of the request's user. */
  serviceAccount?: { namespace: string; name: string } | undefined;
  verb: string;
  /** Only for checks of paths. */
  path?: string;
  group: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
  fieldSelector: string;
  labelSelector: string;
}

export interface AccessDecision {
  allowed: boolean;
  reason: string;
  /** Empty unless the authorizer failed. */
  error: string;
}

/** Thrown where an evaluation needs a decision that is not there yet: get it, and evaluate again. No {@link Fault}. */
export class PendingDecision {
  readonly query: AccessQuery;
  readonly key: string;

  constructor(query: AccessQuery, key: string) {
    this.query = query;
    this.key = key;
  }
}

/** Decisions that are known, by the text of their query. */
export type Decisions = Map<string, AccessDecision>;

const nothing: AccessQuery = {
  verb: '',
  group: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  fieldSelector: '',
  labelSelector: '',
};

/** A step towards a check: the authorizer itself, and what has been said of the path or resource. */
class Step extends Opaque {
  readonly type;
  readonly decisions: Decisions;
  readonly query: AccessQuery;

  constructor(type: keyof typeof LIBRARY_TYPES, decisions: Decisions, query: AccessQuery) {
    super();
    this.type = LIBRARY_TYPES[type]!;
    this.decisions = decisions;
    this.query = query;
  }

  equals(other: Opaque): boolean {
    return other instanceof Step && JSON.stringify(other.query) === JSON.stringify(this.query);
  }

  next(type: keyof typeof LIBRARY_TYPES, more: Partial<AccessQuery>): Step {
    return new Step(type, this.decisions, { ...this.query, ...more });
  }
}

class Decision extends Opaque {
  readonly type = LIBRARY_TYPES.Decision!;
  readonly decision: AccessDecision;

  constructor(decision: AccessDecision) {
    super();
    this.decision = decision;
  }

  equals(other: Opaque): boolean {
    return other === this;
  }
}

/** The variable `authorizer`. */
export const authorizerValue = (decisions: Decisions): Opaque => new Step('Authorizer', decisions, nothing);

/** The variable `authorizer.requestResource`. */
export const requestResourceValue = (decisions: Decisions, resource: Partial<AccessQuery>): Opaque =>
  new Step('ResourceCheck', decisions, { ...nothing, ...resource });

function serviceAccount(step: Step, namespace: string, name: string): Step {
  if (dnsSubdomainErrors(name).length > 0) throw new Fault('Invalid service account name');
  if (dnsLabelErrors(namespace).length > 0) throw new Fault('Invalid service account namespace');
  return step.next('Authorizer', { serviceAccount: { namespace, name } });
}

const filled = (value: string, what: string) => {
  if (value.trim() === '') throw new Fault(`${what} must not be empty`);
  return value;
};

function check(step: Step, verb: string): Decision {
  const query = { ...step.query, verb };
  const key = JSON.stringify(query);
  const known = step.decisions.get(key);
  if (known === undefined) throw new PendingDecision(query, key);
  return new Decision(known);
}

const refine =
  (field: 'subresource' | 'namespace' | 'name' | 'fieldSelector' | 'labelSelector') => (step: Step, value: string) =>
    step.next('ResourceCheck', { [field]: value });

export const authorizers: readonly Definition[] = [
  [
    'authorizer_path',
    'Authorizer.path(string): PathCheck',
    (step: Step, path: string) => step.next('PathCheck', { path: filled(path, 'path') }),
  ],
  [
    'authorizer_group',
    'Authorizer.group(string): GroupCheck',
    (step: Step, group: string) => step.next('GroupCheck', { group }),
  ],
  ['authorizer_serviceaccount', 'Authorizer.serviceAccount(string, string): Authorizer', serviceAccount],
  [
    'groupcheck_resource',
    'GroupCheck.resource(string): ResourceCheck',
    (step: Step, resource: string) => step.next('ResourceCheck', { resource: filled(resource, 'resource') }),
  ],
  ['resourcecheck_subresource', 'ResourceCheck.subresource(string): ResourceCheck', refine('subresource')],
  ['resourcecheck_namespace', 'ResourceCheck.namespace(string): ResourceCheck', refine('namespace')],
  ['resourcecheck_name', 'ResourceCheck.name(string): ResourceCheck', refine('name')],
  ['authorizer_fieldselector', 'ResourceCheck.fieldSelector(string): ResourceCheck', refine('fieldSelector')],
  ['authorizer_labelselector', 'ResourceCheck.labelSelector(string): ResourceCheck', refine('labelSelector')],
  ['pathcheck_check', 'PathCheck.check(string): Decision', check],
  ['resourcecheck_check', 'ResourceCheck.check(string): Decision', check],
  ['decision_errored', 'Decision.errored(): bool', ({ decision }: Decision) => decision.error !== ''],
  ['decision_error', 'Decision.error(): string', ({ decision }: Decision) => decision.error],
  ['decision_allowed', 'Decision.allowed(): bool', ({ decision }: Decision) => decision.allowed],
  ['decision_reason', 'Decision.reason(): string', ({ decision }: Decision) => decision.reason],
];
