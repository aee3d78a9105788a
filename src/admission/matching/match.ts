import { mapOf, text } from '../../api/fields.ts';
import type { JsonObject, JsonValue, KubeObject } from '../../api/object.ts';
import { builtins, type Resource } from '../../registry/resource.ts';
import type { Attributes } from '../chain.ts';
import { builtinRow, lookUp } from '../lookup.ts';
import { matchedRow, type Rule, readRules } from './rules.ts';
import { type Labels, type LabelTest, labelTest } from './selectors.ts';

/** What a webhook, policy or binding asks for, read once. */
export interface Match {
  /** Empty: every resource. */
  rules: readonly Rule[];
  exclude: readonly Rule[];
  namespaces: LabelTest | undefined;
  objects: LabelTest | undefined;
  /** Whether other versions of the same resource count (matchPolicy Equivalent). */
  equivalent: boolean;
}

/** Reads `matchConstraints` or `matchResources` of a policy; its rules may be left out, and then ask for everything. */
export const readMatch = (resources: JsonObject): Match => ({
  rules: readRules(resources.resourceRules),
  exclude: readRules(resources.excludeResourceRules),
  namespaces: labelTest(resources.namespaceSelector),
  objects: labelTest(resources.objectSelector),
  equivalent: text(resources.matchPolicy) !== 'Exact',
});

const byPrefix: ReadonlyMap<string, readonly Resource[]> = Map.groupBy(
  [...builtins.values()].flatMap((rows) => [...rows.values()]).filter(({ storage }) => storage !== undefined),
  ({ storage }) => storage!.prefix,
);

/** Rows of all versions and groups in which the objects of a resource are served. */
export function equivalentRows({ ctx, resource }: Attributes): readonly Resource[] {
  if (resource.custom === undefined) return byPrefix.get(resource.storage?.prefix ?? '') ?? [];
  const rows: Resource[] = [];
  for (const [groupVersion, served] of ctx.policy?.bundle.resources ?? []) {
    const row = groupVersion.startsWith(`${resource.group}/`) ? served.get(resource.resource) : undefined;
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

const namespaceRow = builtinRow('v1', 'namespaces');
const isNamespace = ({ resource }: Attributes) => resource.group === '' && resource.resource === 'namespaces';
const labelsOf = (object: KubeObject | undefined): Labels => mapOf(object?.metadata.labels as JsonValue | undefined);

/** The namespace of a request, read once for all that ask during it. Empty where the request has none. */
export class NamespaceReader {
  readonly #attributes: Attributes;
  #found: Promise<KubeObject | undefined> | undefined;

  constructor(attributes: Attributes) {
    this.#attributes = attributes;
  }

  read(): Promise<KubeObject | undefined> {
    const { ctx, namespace } = this.#attributes;
    this.#found ??= lookUp(ctx, namespaceRow, '', namespace);
    return this.#found;
  }

  /** Labels that a namespaceSelector looks at; a namespace that is being written has its new ones. */
  async labels(): Promise<Labels> {
    const { object, operation, subresource } = this.#attributes;
    if (isNamespace(this.#attributes) && subresource === '' && operation !== 'DELETE') return labelsOf(object);
    return labelsOf(await this.read());
  }
}

/**
 * The row as which a request is asked for; `undefined` where it is not. Selectors are only looked at where the rules
 * ask for it.
 */
export async function matchRequest(
  match: Match,
  attributes: Attributes,
  namespace: NamespaceReader,
): Promise<Resource | undefined> {
  const { resource, object, old } = attributes;
  const equivalents = () => (match.equivalent ? equivalentRows(attributes) : []);
  const row = match.rules.length === 0 ? resource : matchedRow(match.rules, attributes, equivalents);
  if (row === undefined) return undefined;
  if (match.exclude.length > 0 && matchedRow(match.exclude, attributes, equivalents) !== undefined) return undefined;
  const { objects, namespaces } = match;
  const isSelected = (one: KubeObject | undefined) => one !== undefined && (objects?.(labelsOf(one)) ?? true);
  if (objects !== undefined && !isSelected(object) && !isSelected(old)) return undefined;
  const hasNamespace = attributes.namespace !== '' || isNamespace(attributes);
  if (namespaces === undefined || !hasNamespace) return row;
  return namespaces(await namespace.labels()) ? row : undefined;
}

/** Resources that no webhook and no policy is asked about: those that configure them, and reviews. */
const EXEMPT: ReadonlySet<string> = new Set([
  ...['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']
    .concat(['validatingadmissionpolicies', 'validatingadmissionpolicybindings'])
    .concat(['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'])
    .map((resource) => `admissionregistration.k8s.io/${resource}`),
]);

/** Reviews, which policies are not asked about either. */
const REVIEWS: ReadonlySet<string> = new Set([
  'authentication.k8s.io/selfsubjectreviews',
  'authentication.k8s.io/tokenreviews',
  'authorization.k8s.io/localsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
  'authorization.k8s.io/subjectaccessreviews',
]);

const keyOf = ({ group, resource }: Resource) => `${group}/${resource}`;

/** Whether webhooks are not asked about a request. */
export const isExempt = ({ resource }: Attributes): boolean => EXEMPT.has(keyOf(resource));
/** Whether policies are not asked about a request. */
export const isExemptFromPolicies = (attributes: Attributes): boolean =>
  isExempt(attributes) || REVIEWS.has(keyOf(attributes.resource));
