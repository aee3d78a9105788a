import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/api/object.ts';
import type { Attributes } from '../../src/authz/attributes.ts';
import { authorizeByRbac } from '../../src/authz/rbac.ts';
import { type RbacEntry, RbacIndex, rbacEntry } from '../../src/policy/rbac-index.ts';

/** The seed of a run that failed, to run it again. */
const seed = process.env.FAST_CHECK_SEED === undefined ? {} : { seed: Number(process.env.FAST_CHECK_SEED) };

// Few names, so that what is asked for and what is granted often meet; some of them are also keys of every object.
const word = fc.constantFrom('a', 'b', '__proto__');
const namespace = fc.constantFrom('n1', 'constructor');
const verb = fc.constantFrom('get', 'list', 'create', '*');
const group = fc.constantFrom('', 'apps', '*');
const resource = fc.constantFrom('pods', 'pods/log', '*/log', 'nodes', '*', 'pods/*');
const path = fc.constantFrom('/', '/a', '/a/*', '/a*', '*', '/a/b');
const some = <T>(one: fc.Arbitrary<T>, maxLength = 3) => fc.array(one, { minLength: 1, maxLength });
const few = <T>(one: fc.Arbitrary<T>) => fc.array(one, { maxLength: 1 });

const rule = fc.record(
  {
    verbs: some(verb),
    apiGroups: some(group),
    resources: some(resource),
    resourceNames: few(word),
    nonResourceURLs: some(path),
  },
  { requiredKeys: ['verbs'] },
);
const account = fc.record(
  { kind: fc.constant('ServiceAccount'), name: word, namespace },
  { requiredKeys: ['kind', 'name'] },
);
const subject = fc.oneof(
  fc.record({
    kind: fc.constantFrom('User', 'Group', 'Robot'),
    name: fc.oneof(word, fc.constant('system:serviceaccount:n1:a')),
  }),
  account,
);
const roleRef = fc.record({ kind: fc.constantFrom('Role', 'ClusterRole'), name: word });

const scoped = (kind: string) => fc.record({ kind: fc.constant(kind), metadata: fc.record({ name: word, namespace }) });
const unscoped = (kind: string) => fc.record({ kind: fc.constant(kind), metadata: fc.record({ name: word }) });
const ruled = (object: fc.Arbitrary<object>) => fc.tuple(object, some(rule, 3)).map(([o, rules]) => ({ ...o, rules }));
const bound = (object: fc.Arbitrary<object>) =>
  fc.tuple(object, roleRef, some(subject, 3)).map(([o, ref, subjects]) => ({ ...o, roleRef: ref, subjects }));

interface Policy {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: {
    verbs: string[];
    apiGroups?: string[];
    resources?: string[];
    resourceNames?: string[];
    nonResourceURLs?: string[];
  }[];
  roleRef?: { kind: string; name: string };
  subjects?: { kind: string; name: string; namespace?: string }[];
}

const idOf = ({ kind, metadata }: Policy) => JSON.stringify([kind, metadata.namespace, metadata.name]);
const policies = fc.uniqueArray(
  fc.oneof(
    ruled(scoped('Role')),
    ruled(unscoped('ClusterRole')),
    bound(scoped('RoleBinding')),
    bound(unscoped('ClusterRoleBinding')),
  ) as unknown as fc.Arbitrary<Policy>,
  { minLength: 4, maxLength: 10, selector: idOf, size: 'max' },
);

const user = fc.record({
  name: fc.oneof(word, fc.constant('system:serviceaccount:n1:a')),
  groups: few(word),
  extra: fc.constant({}),
});
const request: fc.Arbitrary<Attributes> = fc.oneof(
  fc.record({
    user,
    verb: fc.constantFrom('get', 'list', 'create'),
    isResourceRequest: fc.constant(true),
    path: fc.constant(''),
    group: fc.constantFrom('', 'apps', 'batch'),
    version: fc.constant('v1'),
    resource: fc.constantFrom('pods', 'nodes'),
    subresource: fc.constantFrom('', 'log'),
    namespace: fc.oneof(fc.constant(''), namespace),
    name: fc.oneof(fc.constant(''), word),
  }),
  fc.record({
    user,
    verb: fc.constantFrom('get', 'list', 'create'),
    isResourceRequest: fc.constant(false),
    path: fc.constantFrom('/', '/a', '/a/', '/a/b', '/ab', '/b'),
    group: fc.constant(''),
    version: fc.constant(''),
    resource: fc.constant(''),
    subresource: fc.constant(''),
    namespace: fc.constant(''),
    name: fc.constant(''),
  }),
);

/** The slow and obvious answer: every binding, every subject, every rule (RBAC's documentation, "API objects"). */
function twin(all: readonly Policy[], a: Attributes): boolean {
  for (const { kind, metadata, roleRef: ref, subjects } of all) {
    if (ref === undefined || subjects === undefined) continue;
    if (kind === 'RoleBinding' && (a.namespace === '' || metadata.namespace !== a.namespace)) continue;
    const isSubject = subjects.some((s) => {
      if (s.kind === 'User') return s.name === a.user.name;
      if (s.kind === 'Group') return a.user.groups.some((g) => g === s.name);
      if (s.kind !== 'ServiceAccount') return false;
      const home = s.namespace ?? metadata.namespace;
      return home !== undefined && a.user.name === `system:serviceaccount:${home}:${s.name}`;
    });
    if (!isSubject) continue;
    // A cluster-wide binding can only mean a cluster-wide role.
    const home = ref.kind === 'Role' ? metadata.namespace : undefined;
    const role = all.find(
      (r) => r.rules !== undefined && r.metadata.name === ref.name && r.metadata.namespace === home,
    );
    for (const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } of role?.rules ??
      []) {
      if (!verbs.some((v) => v === '*' || v === a.verb)) continue;
      if (!a.isResourceRequest) {
        if (
          nonResourceURLs.some(
            (p) => p === '*' || p === a.path || (p.endsWith('*') && a.path.startsWith(p.slice(0, -1))),
          )
        )
          return true;
        continue;
      }
      if (!apiGroups.some((g) => g === '*' || g === a.group)) continue;
      const wanted = a.subresource === '' ? a.resource : `${a.resource}/${a.subresource}`;
      const named = resources.some(
        (r) => r === '*' || r === wanted || (a.subresource !== '' && r === `*/${a.subresource}`),
      );
      if (named && (resourceNames.length === 0 || resourceNames.some((n) => n === a.name))) return true;
    }
  }
  return false;
}

test('decides as its naive twin does, for 10,000 random policies', () => {
  let allowed = 0;
  fc.assert(
    fc.property(policies, fc.array(request, { minLength: 4, maxLength: 4 }), (all, requests) => {
      const entries = all
        .map((one) => rbacEntry(one as unknown as JsonObject))
        .filter((e): e is RbacEntry => e !== undefined);
      const index = new RbacIndex(entries);
      for (const one of requests) {
        const wanted = twin(all, one);
        if (wanted) allowed++;
        expect(authorizeByRbac(index, one).decision).toBe(wanted ? 'allow' : 'noOpinion');
      }
    }),
    { numRuns: 10_000, ...seed },
  );
  // The two agree about something: a good part of the requests is allowed.
  expect(allowed).toBeGreaterThan(1000);
}, 120_000);
