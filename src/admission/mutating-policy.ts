import { mapOf } from '../api/fields.ts';
import type { KubeObject } from '../api/object.ts';
import { builtinKind, type KindType } from '../apply/kind-type.ts';
import { type Bindings, withDecisions } from '../cel/expressions.ts';
import type { Decisions } from '../cel/library/authorizer.ts';
import { expectedOf } from '../registry/endpoint.ts';
import { kindTypeOf } from '../registry/managers.ts';
import type { Resource } from '../registry/resource.ts';
import { forbidden, type StatusError } from '../status/status.ts';
import { type Attributes, type Plugin, Reinvocation, subjectOf } from './chain.ts';
import { NamespaceReader } from './matching/match.ts';
import { takePatched } from './patched.ts';
import { conditionsHold } from './policies/compiled.ts';
import { bindingsOf, deciderOf } from './policies/inputs.ts';
import {
  hasNamespaceObject,
  type Invocation,
  ignoresFailures,
  invocations,
  type Misconfigured,
  policiesFor,
  refusedName,
} from './policies/invocations.ts';
import { type CompiledMutations, compiledMutations, MutationFault, valueMadeBy } from './policies/mutations.ts';
import { Rounds } from './rounds.ts';
import { inVersion, versioned } from './versions.ts';

const NAME = 'MutatingAdmissionPolicy';

/** What a policy could not do, which refuses the request unless its failure policy is Ignore. */
interface Refusal {
  message: string;
  /** A policy or binding that cannot be applied leaves the reason as it is. */
  reason: 'Invalid' | 'Forbidden';
}

const nameOf = ({ metadata }: KubeObject) => metadata.name ?? '';

function refusalOf({ policy, binding }: Pick<Misconfigured, 'policy' | 'binding'>, why: string): string {
  if (binding === undefined) return `policy ${JSON.stringify(nameOf(policy))} denied request: ${why}`;
  return `policy '${nameOf(policy)}' with binding '${nameOf(binding)}' denied request: ${why}`;
}

function refuse(attributes: Attributes, refusals: readonly Refusal[]): StatusError {
  const { message, reason } = refusals[0]!;
  const causes = refusals.map((refusal) => ({ message: refusal.message }));
  const error = forbidden(subjectOf(attributes), refusedName(attributes), '', causes);
  error.status.message = message;
  error.status.reason = reason;
  return error;
}

/** The merge type of the objects of an endpoint. */
function mergeTypeOf(row: Resource, subresource: string): KindType {
  const { group, version, kind, custom } = expectedOf(row, subresource);
  const groupVersion = group === '' ? version : `${group}/${version}`;
  return custom ? kindTypeOf(row) : (builtinKind(groupVersion, kind) ?? kindTypeOf(row));
}

/** Lets policies change the object of one request. */
class Round {
  readonly refusals: Refusal[] = [];
  readonly #attributes: Attributes;
  readonly #namespace: NamespaceReader;
  readonly #reinvocation: Reinvocation;
  readonly #rounds: Rounds;
  readonly #decisions: Decisions = new Map();

  constructor(attributes: Attributes, reinvocation: Reinvocation, namespace: NamespaceReader) {
    this.#attributes = attributes;
    this.#namespace = namespace;
    this.#reinvocation = reinvocation;
    this.#rounds = reinvocation.stateOf(NAME, () => new Rounds());
  }

  async run(all: readonly (Invocation | Misconfigured)[]): Promise<void> {
    const rounds = this.#rounds;
    if (this.#reinvocation.isSecond && rounds.hasChanged(this.#attributes.object)) rounds.changed();
    let patched = false;
    for (const one of all) {
      if (!('params' in one)) this.#fail(one, one.message, 'Forbidden');
      else for (const params of one.params) patched = (await this.#invoke(one, params)) || patched;
    }
    if (patched) this.#changed();
    rounds.leave(this.#attributes.object);
  }

  #changed(): void {
    this.#rounds.changed();
    this.#reinvocation.want();
  }

  #fail(of: Pick<Misconfigured, 'policy' | 'binding'>, why: string, reason: Refusal['reason']): void {
    if (!ignoresFailures(of.policy)) this.refusals.push({ message: refusalOf(of, why), reason });
  }

  /** Evaluates what may ask the authorizer. `make` is given the variables as they are now. */
  #evaluate<T>(bindings: Bindings, make: (bindings: Bindings) => T): Promise<T> {
    return withDecisions(this.#decisions, deciderOf(this.#attributes.ctx), () => make(bindings));
  }

  /** Makes the mutations of one policy with one set of params; tells whether there were any. */
  async #invoke(invocation: Invocation, params: KubeObject | undefined): Promise<boolean> {
    const { policy, binding, row } = invocation;
    const compiled = compiledMutations(policy);
    const wantsNamespace = compiled.usesNamespace && hasNamespaceObject(this.#attributes);
    const namespace = wantsNamespace ? await this.#namespace.read() : undefined;
    const bindings = async () => {
      const objects = await versioned(this.#attributes, row);
      return bindingsOf({ attributes: this.#attributes, row, objects, params, namespace, decisions: this.#decisions });
    };
    const verdict = await this.#evaluate(await bindings(), (given) => conditionsHold(compiled, given));
    if ('error' in verdict) this.#fail(invocation, verdict.error, 'Invalid');
    if ('error' in verdict || !verdict.matches) return false;
    const param = params === undefined ? '' : `${params.metadata.namespace ?? ''}/${nameOf(params)}`;
    const id = [nameOf(policy), nameOf(binding), param].join('|');
    if (this.#reinvocation.isSecond && !this.#rounds.isDue(id)) return false;
    const { made, changed } = await this.#mutate(invocation, compiled, bindings);
    if (changed) this.#changed();
    if (mapOf(policy.spec).reinvocationPolicy === 'IfNeeded') this.#rounds.called(id);
    return made;
  }

  async #mutate(
    invocation: Invocation,
    compiled: CompiledMutations,
    bindings: () => Promise<Bindings>,
  ): Promise<{ made: boolean; changed: boolean }> {
    const { row } = invocation;
    const attributes = this.#attributes;
    let [made, changed] = [false, false];
    for (const mutation of compiled.mutations) {
      const { object } = attributes;
      if (object === undefined) continue;
      try {
        const value = await this.#evaluate(await bindings(), (given) => valueMadeBy(mutation, compiled, given));
        const given = await inVersion(attributes, object, row.groupVersion);
        const patched = mutation.apply(value, given, mergeTypeOf(row, attributes.subresource));
        changed = (await takePatched(attributes, row, given, patched)) || changed;
        made = true;
      } catch (error) {
        if (!(error instanceof MutationFault)) throw error;
        this.#fail(invocation, error.message, 'Invalid');
      }
    }
    return { made, changed };
  }
}

/** MutatingAdmissionPolicies: change objects by what their expressions make. */
export const mutatingAdmissionPolicy: Plugin = {
  name: NAME,
  operations: ['CREATE', 'UPDATE'],
  admit: async (attributes) => {
    const policies = await policiesFor(attributes, 'mutating');
    if (policies.length === 0) return;
    const namespace = new NamespaceReader(attributes);
    const all = await invocations(policies, attributes, namespace);
    if (all.length === 0) return;
    attributes.reinvocation ??= new Reinvocation();
    const round = new Round(attributes, attributes.reinvocation, namespace);
    await round.run(all);
    if (round.refusals.length > 0) throw refuse(attributes, round.refusals);
  },
};
