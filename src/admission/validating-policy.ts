import { withDecisions } from '../cel/expressions.ts';
import type { Decisions } from '../cel/library/authorizer.ts';
import { stringifyJson } from '../codec/json.ts';
import { forbidden, type StatusError } from '../status/status.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { NamespaceReader } from './matching/match.ts';
import { bindingsOf, deciderOf } from './policies/inputs.ts';
import {
  hasNamespaceObject,
  type Invocation,
  ignoresFailures,
  invocations,
  policiesFor,
  refusedName,
} from './policies/invocations.ts';
import { actionsOf, askPolicy, compiledPolicy, type Denial, type Findings } from './policies/validating.ts';
import { versioned } from './versions.ts';

const CODES: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};
const FAILURE_KEY = 'validation.policy.admission.k8s.io/validation_failure';
const MAX_ANNOTATION = 10 * 1024;

/** A refusal, as the first policy that denies tells it. */
interface Refusal {
  policy: string;
  binding: string | undefined;
  message: string;
  reason: string;
}

function refusal(attributes: Attributes, { policy, binding, message, reason }: Refusal): StatusError {
  const by = binding === undefined ? `'${policy}'` : `'${policy}' with binding '${binding}'`;
  const why = `ValidatingAdmissionPolicy ${by} denied request: ${message}`;
  const error = forbidden(subjectOf(attributes), refusedName(attributes), why, [{ message: why }]);
  error.status.reason = reason;
  error.status.code = CODES[reason] ?? 422;
  return error;
}

/** Asks policies about one request. */
class Inquiry {
  readonly refusals: Refusal[] = [];
  readonly #attributes: Attributes;
  readonly #namespace: NamespaceReader;
  readonly #decisions: Decisions = new Map();
  /** Values of audit annotations, by policy and key. */
  readonly #annotations = new Map<string, Set<string>>();

  constructor(attributes: Attributes, namespace: NamespaceReader) {
    this.#attributes = attributes;
    this.#namespace = namespace;
  }

  async ask(invocation: Invocation): Promise<void> {
    const { policy, binding, row } = invocation;
    const compiled = compiledPolicy(policy);
    const wantsNamespace = compiled.usesNamespace && hasNamespaceObject(this.#attributes);
    const namespace = wantsNamespace ? await this.#namespace.read() : undefined;
    const objects = await versioned(this.#attributes, row);
    for (const params of invocation.params) {
      const input = { attributes: this.#attributes, row, objects, params, namespace, decisions: this.#decisions };
      const findings = await withDecisions(this.#decisions, deciderOf(this.#attributes.ctx), () =>
        askPolicy(compiled, bindingsOf(input), ignoresFailures(policy)),
      );
      this.#take(invocation, findings, binding.metadata.name ?? '');
    }
  }

  #take({ policy, binding }: Invocation, findings: Findings, bindingName: string): void {
    const policyName = policy.metadata.name ?? '';
    const actions = actionsOf(binding);
    const deny = (message: string, reason: string) =>
      this.refusals.push({ policy: policyName, binding: bindingName, message, reason });
    for (const denial of findings.denials) {
      if (actions.includes('Deny')) deny(denial.message, denial.reason);
      if (actions.includes('Audit')) this.#audit({ policyName, bindingName, actions, denial });
      if (actions.includes('Warn')) {
        const by = `ValidatingAdmissionPolicy '${policyName}' with binding '${bindingName}'`;
        this.#attributes.ctx.warnings.push(`Validation failed for ${by}: ${denial.message}`);
      }
    }
    for (const { key, value } of findings.annotations) {
      const name = `${policyName}/${key}`;
      const values = this.#annotations.get(name) ?? new Set();
      this.#annotations.set(name, values.add(value.slice(0, MAX_ANNOTATION)));
    }
    for (const message of findings.annotationFaults) deny(message, 'Invalid');
  }

  #audit(failure: { policyName: string; bindingName: string; actions: readonly unknown[]; denial: Denial }): void {
    const { policyName, bindingName, actions, denial } = failure;
    const value = [
      {
        message: denial.message,
        policy: policyName,
        binding: bindingName,
        expressionIndex: denial.index,
        validationActions: [...actions] as string[],
      },
    ];
    this.#attributes.ctx.annotate?.(FAILURE_KEY, stringifyJson(value));
  }

  publish(): void {
    const { annotate } = this.#attributes.ctx;
    for (const [key, values] of this.#annotations) annotate?.(key, [...values].join(', '));
  }
}

/** ValidatingAdmissionPolicies: refuses, warns about and audits what their expressions do not hold for. */
export const validatingAdmissionPolicy: Plugin = {
  name: 'ValidatingAdmissionPolicy',
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  validate: async (attributes) => {
    const policies = await policiesFor(attributes, 'validating');
    if (policies.length === 0) return;
    const namespace = new NamespaceReader(attributes);
    const inquiry = new Inquiry(attributes, namespace);
    for (const one of await invocations(policies, attributes, namespace)) {
      if ('params' in one) await inquiry.ask(one);
      else if (!ignoresFailures(one.policy)) {
        const [policy, binding] = [one.policy.metadata.name ?? '', one.binding?.metadata.name];
        inquiry.refusals.push({ policy, binding, message: one.message, reason: 'Invalid' });
      }
    }
    inquiry.publish();
    const [first] = inquiry.refusals;
    if (first !== undefined) throw refusal(attributes, first);
  },
};
