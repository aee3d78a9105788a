import { text, texts } from '../api/fields.ts';
import { isObject, type JsonObject, type JsonValue } from '../api/object.ts';
import type { UserInfo } from '../request/context.ts';

/** rbac.authorization.k8s.io/v1 PolicyRule; absent lists are empty. */
export interface PolicyRule {
  verbs: string[];
  apiGroups: string[];
  resources: string[];
  resourceNames: string[];
  nonResourceURLs: string[];
}

export interface Subject {
  kind: string;
  name: string;
  namespace: string;
}

/** A RoleBinding (with a namespace) or ClusterRoleBinding (namespace empty). */
export interface Binding {
  kind: 'RoleBinding' | 'ClusterRoleBinding';
  name: string;
  namespace: string;
  roleRef: { kind: string; name: string };
  subjects: Subject[];
}

/** One RBAC object as the index takes it in. */
export type RbacEntry =
  | { type: 'role'; namespace: string; name: string; rules: PolicyRule[] }
  | { type: 'binding'; binding: Binding };

/** Reads the `rules` of a Role or ClusterRole. */
export function policyRules(value: JsonValue | undefined): PolicyRule[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).map((rule) => ({
    verbs: texts(rule.verbs),
    apiGroups: texts(rule.apiGroups),
    resources: texts(rule.resources),
    resourceNames: texts(rule.resourceNames),
    nonResourceURLs: texts(rule.nonResourceURLs),
  }));
}

/** Reads a stored Role, ClusterRole, RoleBinding or ClusterRoleBinding. */
export function rbacEntry(object: JsonObject): RbacEntry | undefined {
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const name = text(metadata.name);
  const namespace = text(metadata.namespace);
  switch (object.kind) {
    case 'Role':
    case 'ClusterRole':
      return { type: 'role', namespace, name, rules: policyRules(object.rules) };
    case 'RoleBinding':
    case 'ClusterRoleBinding': {
      const roleRef = isObject(object.roleRef) ? object.roleRef : {};
      const subjects = Array.isArray(object.subjects) ? object.subjects.filter(isObject) : [];
      return {
        type: 'binding',
        binding: {
          kind: object.kind,
          name,
          namespace,
          roleRef: { kind: text(roleRef.kind), name: text(roleRef.name) },
          subjects: subjects.map((s) => ({ kind: text(s.kind), name: text(s.name), namespace: text(s.namespace) })),
        },
      };
    }
    default:
      return undefined;
  }
}

/** How the index names a subject: service accounts by the user name that they have. */
function subjectKey(subject: Subject, bindingNamespace: string): string | undefined {
  switch (subject.kind) {
    case 'User':
      return `user ${subject.name}`;
    case 'Group':
      return `group ${subject.name}`;
    case 'ServiceAccount': {
      const namespace = subject.namespace || bindingNamespace;
      return namespace === '' ? undefined : `user system:serviceaccount:${namespace}:${subject.name}`;
    }
    default:
      return undefined;
  }
}

interface Ordered {
  binding: Binding;
  order: number;
}

/** The RBAC objects of a tenant, found by subject. Immutable once built. */
export class RbacIndex {
  readonly #roles = new Map<string, PolicyRule[]>();
  /** Bindings by namespace (empty: cluster) and subject. */
  readonly #bindings = new Map<string, Map<string, Ordered[]>>();

  /** `entries` in key order, which is the order that bindings are tried in. */
  constructor(entries: Iterable<RbacEntry>) {
    let order = 0;
    for (const entry of entries) {
      if (entry.type === 'role') this.#roles.set(`${entry.namespace}/${entry.name}`, entry.rules);
      else this.#add({ binding: entry.binding, order: order++ });
    }
  }

  #add(ordered: Ordered): void {
    const { binding } = ordered;
    const bySubject = this.#bindings.get(binding.namespace) ?? new Map<string, Ordered[]>();
    this.#bindings.set(binding.namespace, bySubject);
    for (const key of new Set(binding.subjects.map((s) => subjectKey(s, binding.namespace)))) {
      if (key === undefined) continue;
      const list = bySubject.get(key);
      if (list === undefined) bySubject.set(key, [ordered]);
      else list.push(ordered);
    }
  }

  /** The rules of a Role (with namespace) or ClusterRole (empty namespace), or undefined where there is none. */
  rules(namespace: string, name: string): PolicyRule[] | undefined {
    return this.#roles.get(`${namespace}/${name}`);
  }

  /** The bindings of one scope that name the user or one of its groups, in key order. */
  bindings(user: UserInfo, namespace: string): Binding[] {
    const bySubject = this.#bindings.get(namespace);
    if (bySubject === undefined) return [];
    const found: Ordered[] = [];
    const take = (key: string) => {
      for (const ordered of bySubject.get(key) ?? []) if (!found.includes(ordered)) found.push(ordered);
    };
    take(`user ${user.name}`);
    for (const group of user.groups) take(`group ${group}`);
    return found.sort((a, b) => a.order - b.order).map((o) => o.binding);
  }
}

/** The first subject of a binding that the user is. */
export function matchingSubject(binding: Binding, user: UserInfo): Subject | undefined {
  const keys = new Set([`user ${user.name}`, ...user.groups.map((g) => `group ${g}`)]);
  return binding.subjects.find((s) => keys.has(subjectKey(s, binding.namespace) ?? ''));
}
