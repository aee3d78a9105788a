import { mapOf } from '../../api/fields.ts';
import { isObject, type KubeObject } from '../../api/object.ts';
import type { BoundPolicy } from '../../policy/admission-policies.ts';
import { samePolicies } from '../../policy/admission-policies.ts';
import type { Resource } from '../../registry/resource.ts';
import type { Attributes } from '../chain.ts';
import { isExemptFromPolicies, type Match, matchRequest, type NamespaceReader, readMatch } from '../matching/match.ts';
import { ConfigurationError, paramRow, paramsOf } from './params.ts';

/** A binding by which a policy is asked about a request. */
export interface Invocation {
  policy: KubeObject;
  binding: KubeObject;
  /** What the request was matched as. */
  row: Resource;
  params: readonly (KubeObject | undefined)[];
}

/** A policy, or a binding of it, that cannot be applied. */
export interface Misconfigured {
  policy: KubeObject;
  binding: KubeObject | undefined;
  message: string;
}

/** What each policy and binding asks for, by its object: a fact of its revision. */
const matches = new WeakMap<KubeObject, Match | undefined>();

function matchOf(object: KubeObject, key: 'matchConstraints' | 'matchResources'): Match | undefined {
  if (!matches.has(object)) {
    const resources = mapOf(object.spec)[key];
    matches.set(object, isObject(resources) ? readMatch(resources) : undefined);
  }
  return matches.get(object);
}

/**
 * The bound policies of a kind that may be asked about a request, as of the policy that it will be decided by. Costs
 * nothing where there are none.
 */
export async function policiesFor(
  attributes: Attributes,
  kind: 'validating' | 'mutating',
): Promise<readonly BoundPolicy[]> {
  const { policy } = attributes.ctx;
  if (policy === undefined || isExemptFromPolicies(attributes)) return [];
  return policy.follow(`${kind} admission policies`, (bundle) => bundle.admission[kind], samePolicies);
}

async function invocationsOf(
  { policy, bindings }: BoundPolicy,
  attributes: Attributes,
  namespace: NamespaceReader,
): Promise<(Invocation | Misconfigured)[]> {
  const match = matchOf(policy, 'matchConstraints');
  const row = match === undefined ? undefined : await matchRequest(match, attributes, namespace);
  if (row === undefined) return [];
  const { paramKind } = mapOf(policy.spec);
  let params: Resource | undefined;
  try {
    params = isObject(paramKind) ? paramRow(attributes.ctx, paramKind) : undefined;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return [{ policy, binding: undefined, message: `failed to configure policy: ${error.message}` }];
  }
  const out: (Invocation | Misconfigured)[] = [];
  for (const binding of bindings) {
    const own = matchOf(binding, 'matchResources');
    if (own !== undefined && (await matchRequest(own, attributes, namespace)) === undefined) continue;
    try {
      out.push({ policy, binding, row, params: await paramsOf(attributes, params, mapOf(binding.spec).paramRef) });
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      out.push({ policy, binding, message: `failed to configure binding: ${error.message}` });
    }
  }
  return out;
}

/** What policies are asked about a request, in order, and what is wrong with some of them. */
export async function invocations(
  policies: readonly BoundPolicy[],
  attributes: Attributes,
  namespace: NamespaceReader,
): Promise<(Invocation | Misconfigured)[]> {
  const out: (Invocation | Misconfigured)[] = [];
  for (const policy of policies) out.push(...(await invocationsOf(policy, attributes, namespace)));
  return out;
}

/** Whether a policy lets requests pass that it cannot be evaluated for. */
export const ignoresFailures = (policy: KubeObject): boolean => mapOf(policy.spec).failurePolicy === 'Ignore';

/** The namespace that expressions see: none for namespaces themselves. */
export const hasNamespaceObject = ({ resource, namespace }: Attributes): boolean =>
  namespace !== '' && !(resource.group === '' && resource.resource === 'namespaces');

/** The name that a refusal speaks of. */
export const refusedName = ({ name, object }: Attributes): string =>
  name || (object?.metadata.name ?? '') || (object?.metadata.generateName ?? '') || 'Unknown';
