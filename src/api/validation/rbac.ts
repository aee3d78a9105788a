import { causes, type StatusCause } from '../../status/status.ts';
import { list, text } from '../fields.ts';
import { deepEqual, isObject, type JsonObject, type KubeObject } from '../object.ts';
import type { Validator } from './index.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { dnsSubdomainErrors, pathSegment } from './names.ts';

const GROUP = 'rbac.authorization.k8s.io';

/** An unsupported value, with the supported ones in their own order. */
const unsupported = (field: string, value: string, supported: readonly string[]): StatusCause => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported.map((s) => JSON.stringify(s)).join(', ')}`,
  field,
});

function ruleFaults(rule: JsonObject, namespaced: boolean, path: string): StatusCause[] {
  const [urls, groups, resources] = [list(rule.nonResourceURLs), list(rule.apiGroups), list(rule.resources)];
  const faults: StatusCause[] = [];
  if (list(rule.verbs).length === 0)
    faults.push(causes.required(`${path}.verbs`, 'verbs must contain at least one value'));
  if (urls.length > 0) {
    const at = `${path}.nonResourceURLs`;
    if (namespaced) faults.push(causes.invalid(at, urls, 'namespaced rules cannot apply to non-resource URLs'));
    if (groups.length + resources.length + list(rule.resourceNames).length > 0) {
      faults.push(causes.invalid(at, urls, 'rules cannot apply to both regular resources and non-resource URLs'));
    }
    return faults;
  }
  const need = (what: string) => `resource rules must supply at least one ${what}`;
  if (groups.length === 0) faults.push(causes.required(`${path}.apiGroups`, need('api group')));
  if (resources.length === 0) faults.push(causes.required(`${path}.resources`, need('resource')));
  return faults;
}

const rulesFaults = (role: KubeObject, namespaced: boolean) =>
  list(role.rules).flatMap((rule, i) => ruleFaults(isObject(rule) ? rule : {}, namespaced, `rules[${i}]`));

function aggregationFaults(role: KubeObject): StatusCause[] {
  if (!isObject(role.aggregationRule)) return [];
  const path = 'aggregationRule.clusterRoleSelectors';
  const selectors = list(role.aggregationRule.clusterRoleSelectors);
  if (selectors.length === 0) {
    return [causes.required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  }
  return selectors.flatMap((selector, i) => {
    const faults = labelSelectorFaults(selector, `${path}[${i}]`);
    return faults.length === 0 ? [] : [...faults, causes.invalid(`${path}[${i}]`, null, 'invalid label selector.')];
  });
}

function subjectFaults(subject: JsonObject, namespaced: boolean, path: string): StatusCause[] {
  const [kind, name, apiGroup] = [text(subject.kind), text(subject.name), text(subject.apiGroup)];
  const faults: StatusCause[] = name === '' ? [causes.required(`${path}.name`)] : [];
  switch (kind) {
    case 'ServiceAccount':
      for (const fault of name === '' ? [] : dnsSubdomainErrors(name))
        faults.push(causes.invalid(`${path}.name`, name, fault));
      if (apiGroup !== '') faults.push(unsupported(`${path}.apiGroup`, apiGroup, ['']));
      if (!namespaced && text(subject.namespace) === '') faults.push(causes.required(`${path}.namespace`));
      return faults;
    case 'User':
    case 'Group':
      if (apiGroup !== GROUP) faults.push(unsupported(`${path}.apiGroup`, apiGroup, [GROUP]));
      return faults;
    default:
      return [...faults, unsupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group'])];
  }
}

function bindingFaults(binding: KubeObject, namespaced: boolean): StatusCause[] {
  const ref = isObject(binding.roleRef) ? binding.roleRef : {};
  const [kind, name, apiGroup] = [text(ref.kind), text(ref.name), text(ref.apiGroup)];
  const kinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  const faults: StatusCause[] = [];
  if (apiGroup !== GROUP) faults.push(unsupported('roleRef.apiGroup', apiGroup, [GROUP]));
  if (!kinds.includes(kind)) faults.push(unsupported('roleRef.kind', kind, kinds));
  if (name === '') faults.push(causes.required('roleRef.name'));
  for (const fault of pathSegment(name, false)) faults.push(causes.invalid('roleRef.name', name, fault));
  const subjects = list(binding.subjects).map((s) => (isObject(s) ? s : {}));
  return [...faults, ...subjects.flatMap((s, i) => subjectFaults(s, namespaced, `subjects[${i}]`))];
}

const role: Validator = { create: (object) => rulesFaults(object, true) };
const clusterRole: Validator = { create: (object) => [...rulesFaults(object, false), ...aggregationFaults(object)] };

const binding = (namespaced: boolean): Validator => ({
  create: (object) => bindingFaults(object, namespaced),
  update: (object, old) => {
    const faults = bindingFaults(object, namespaced);
    if (deepEqual(object.roleRef, old.roleRef)) return faults;
    const ref = isObject(object.roleRef) ? object.roleRef : {};
    const shown = { APIGroup: text(ref.apiGroup), Kind: text(ref.kind), Name: text(ref.name) };
    return [...faults, causes.invalid('roleRef', shown, 'cannot change roleRef')];
  },
});

/** Validators of rbac.authorization.k8s.io. */
export const rbacValidators: readonly [string, Validator][] = [
  [`${GROUP}/roles`, role],
  [`${GROUP}/clusterroles`, clusterRole],
  [`${GROUP}/rolebindings`, binding(true)],
  [`${GROUP}/clusterrolebindings`, binding(false)],
];
