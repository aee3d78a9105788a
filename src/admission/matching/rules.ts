import { objects, text, texts } from '../../api/fields.ts';
import type { JsonValue } from '../../api/object.ts';
import type { Resource } from '../../registry/resource.ts';
import type { Attributes } from '../chain.ts';

/** Rules of webhooks and policies (k8s.io/apiserver, pkg/admission/plugin/webhook/predicates/rules). */
export interface Rule {
  operations: ReadonlySet<string>;
  groups: ReadonlySet<string>;
  versions: ReadonlySet<string>;
  /** Resource and subresource, either of which may be `*`. */
  resources: readonly (readonly [resource: string, subresource: string])[];
  /** `*`, `Cluster` or `Namespaced`. */
  scope: string;
  /** Names of objects; empty: all. */
  names: ReadonlySet<string>;
}

/** Reads `rules` of a webhook, or `resourceRules` of a policy. */
export function readRules(rules: JsonValue | undefined): Rule[] {
  return objects(rules).map((rule) => ({
    operations: new Set(texts(rule.operations)),
    groups: new Set(texts(rule.apiGroups)),
    versions: new Set(texts(rule.apiVersions)),
    resources: texts(rule.resources).map((resource) => {
      const [name = '', subresource = ''] = resource.split('/', 2);
      return [name, subresource] as const;
    }),
    scope: text(rule.scope) || '*',
    names: new Set(texts(rule.resourceNames)),
  }));
}

const isIn = (set: ReadonlySet<string>, value: string) => set.has('*') || set.has(value);
const isNamespaces = ({ group, resource }: Resource) => group === '' && resource === 'namespaces';

function hasScope({ scope }: Rule, resource: Resource, namespace: string): boolean {
  if (scope === '*') return true;
  const isNamespaced = namespace !== '' && !isNamespaces(resource);
  return scope === (isNamespaced ? 'Namespaced' : 'Cluster');
}

/** Whether a rule asks for a request, when its resource is taken for `row`. */
export function ruleMatches(rule: Rule, attributes: Attributes, row: Resource): boolean {
  const { operation, subresource, namespace, name } = attributes;
  return (
    isIn(rule.operations, operation) &&
    isIn(rule.groups, row.group) &&
    isIn(rule.versions, row.version) &&
    rule.resources.some(
      ([resource, sub]) => (resource === '*' || resource === row.resource) && (sub === '*' || sub === subresource),
    ) &&
    hasScope(rule, row, namespace) &&
    (rule.names.size === 0 || rule.names.has(name))
  );
}

/**
 * The row for which the rules ask for a request: that of its resource, or, when `equivalent`, of another version or
 * group of the same objects. Undefined where they do not ask for it.
 */
export function matchedRow(
  rules: readonly Rule[],
  attributes: Attributes,
  equivalents: () => readonly Resource[],
): Resource | undefined {
  const { resource } = attributes;
  if (rules.some((rule) => ruleMatches(rule, attributes, resource))) return resource;
  const others = equivalents().filter((row) => row !== resource);
  for (const rule of rules) {
    const row = others.find((other) => ruleMatches(rule, attributes, other));
    if (row !== undefined) return row;
  }
  return undefined;
}
