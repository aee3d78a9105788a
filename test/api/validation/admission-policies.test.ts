import 'reflect-metadata';

import { describe, expect, test } from 'vitest';
import type { JsonObject, KubeObject } from '../../../src/api/object.ts';
import { validateCreate, validateUpdate } from '../../../src/api/validation/index.ts';
import { builtins } from '../../../src/registry/resource.ts';

const GROUP = 'admissionregistration.k8s.io/v1';
const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'], scope: '*' };
const match = {
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  resourceRules: [rule],
};

const object = (kind: string, fields: JsonObject): KubeObject => ({
  apiVersion: GROUP,
  kind,
  metadata: { name: 'n', resourceVersion: '1' },
  ...fields,
});
const row = (plural: string) => builtins.get(GROUP)!.get(plural)!;

const policy = (spec: JsonObject) =>
  object('ValidatingAdmissionPolicy', {
    spec: { failurePolicy: 'Fail', matchConstraints: match, validations: [{ expression: 'true' }], ...spec },
  });
const mutating = (spec: JsonObject) =>
  object('MutatingAdmissionPolicy', {
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: match,
      mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/a"}]' } }],
      ...spec,
    },
  });
const hook = {
  name: 'a.example.com',
  failurePolicy: 'Fail',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  clientConfig: { url: 'https://example.com/x' },
  rules: [rule],
};
const webhooks = (...more: JsonObject[]) =>
  object('ValidatingWebhookConfiguration', { webhooks: more.map((m) => ({ ...hook, ...m })) });

const fields = (plural: string, o: KubeObject, old?: KubeObject) =>
  (old === undefined ? validateCreate(row(plural), o) : validateUpdate(row(plural), '', o, old)).map(
    ({ field, message }) => `${field}: ${message}`,
  );

describe('policies', () => {
  const faults = (spec: JsonObject) => fields('validatingadmissionpolicies', policy(spec));

  test('one that is right', () => {
    const variables = [
      { name: 'a', expression: 'object.spec' },
      { name: 'b', expression: 'variables.a.size() > 1' },
    ];
    expect(
      faults({
        variables,
        validations: [{ expression: 'variables.b && authorizer.path("/x").check("get").allowed()' }],
      }),
    ).toEqual([]);
  });

  test.each<[JsonObject, string]>([
    [{ variables: [{ name: 'a', expression: 'variables.b' }] }, 'spec.variables[0].expression'],
    [
      { variables: [{ name: 'a', expression: '1' }], validations: [{ expression: 'variables.a' }] },
      'must evaluate to bool but got int',
    ],
    [{ variables: [{ name: 'in', expression: '1' }] }, 'must be a valid CEL identifier'],
    [{ validations: [{ expression: 'params.x' }] }, "undeclared reference to 'params'"],
    [
      { validations: [{ expression: 'true', messageExpression: 'string(authorizer)' }] },
      "undeclared reference to 'authorizer'",
    ],
    [{ validations: [{ expression: 'true', message: 'a\nb' }] }, 'must not contain line breaks'],
    [{ paramKind: { apiVersion: 'a/b/c', kind: 'K' } }, 'unexpected GroupVersion string: a/b/c'],
    [
      { matchConditions: Array.from({ length: 65 }, (_, i) => ({ name: `n${i}`, expression: 'true' })) },
      'Too many: 65',
    ],
    [{ matchConditions: [{ name: 'n', expression: 'variables.a' }] }, "undeclared reference to 'variables'"],
    [
      { auditAnnotations: [{ key: 'k', valueExpression: '1' }] },
      'must evaluate to one of [string null_type] but got int',
    ],
  ])('%j', (spec, fault) => {
    const all = faults(spec);
    expect(all).toHaveLength(1);
    expect(all[0]).toContain(fault);
  });

  test('match conditions that stay as they are are not looked at again', () => {
    const old = policy({ matchConditions: [{ name: 'n', expression: 'gone()' }] });
    expect(fields('validatingadmissionpolicies', old, old)).toEqual([]);
    const changed = policy({ matchConditions: [{ name: 'm', expression: 'gone()' }] });
    expect(fields('validatingadmissionpolicies', changed, old)).toHaveLength(1);
  });
});

describe('mutations', () => {
  test.each<[JsonObject, string | undefined]>([
    [
      { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{spec: Object.spec{a: 1}}' } },
      undefined,
    ],
    [
      { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object.spec{a: 1}' } },
      'must evaluate to Object but got Object.spec',
    ],
    [
      {
        patchType: 'JSONPatch',
        jsonPatch: { expression: '[JSONPatch{op: "add", path: "/a/" + jsonpatch.escapeKey("b"), value: 1}]' },
      },
      undefined,
    ],
    [
      { patchType: 'JSONPatch', jsonPatch: { expression: '[1]' } },
      'must evaluate to list(JSONPatch) but got list(int)',
    ],
    [
      {
        patchType: 'JSONPatch',
        applyConfiguration: { expression: 'Object{}' },
        jsonPatch: { expression: '[JSONPatch{}]' },
      },
      'must not be specified when patchType is JSONPatch',
    ],
    [{ patchType: 'JSONPatch' }, 'must be specified when patchType is JSONPatch'],
    [{ patchType: 'Other' }, 'Unsupported value: "Other"'],
  ])('%j', (mutation, fault) => {
    const all = fields('mutatingadmissionpolicies', mutating({ mutations: [mutation] }));
    expect(all).toHaveLength(fault === undefined ? 0 : 1);
    if (fault !== undefined) expect(all[0]).toContain(fault);
  });

  test('are not made in deletions', () => {
    const spec = { matchConstraints: { ...match, resourceRules: [{ ...rule, operations: ['DELETE'] }] } };
    expect(fields('mutatingadmissionpolicies', mutating(spec))[0]).toMatch(
      /^spec\.matchConstraints\.resourceRules\.operations: /,
    );
  });

  test('do not construct objects outside of them', () => {
    const validations = [{ expression: 'Object{} != null' }];
    expect(fields('validatingadmissionpolicies', policy({ validations }))[0]).toContain(
      "undeclared reference to 'Object'",
    );
  });
});

describe('webhooks', () => {
  const faults = (...more: JsonObject[]) => fields('validatingwebhookconfigurations', webhooks(...more));
  const url = (text: string) => faults({ clientConfig: { url: text } });

  test.each([
    ['http://example.com', 'Invalid value: "http": \'https\' is the only allowed URL scheme'],
    ['https://', 'host must be specified'],
    ['https://a:b@example.com', 'Invalid value: "a:b": user information'],
    ['https://example.com/?q', 'Invalid value: "q": query parameters'],
    [
      'https://example.com:port/',
      'url must be a valid URL: parse "https://example.com:port/": invalid port ":port" after host',
    ],
  ])('%s', (text, fault) => {
    expect(url(text)).toHaveLength(1);
    expect(url(text)[0]).toContain(fault);
  });

  test.each<[string[], string]>([
    [['*/*', 'pods'], "if '*/*' is present, must not specify other resources"],
    [['pods/*', 'pods/log'], "if 'pods/*' is present, must not specify pods/log"],
    [['*/log', 'pods/log'], "if '*/log' is present, must not specify pods/log"],
    [['*', 'pods'], "if '*' is present, must not specify other resources without subresources"],
  ])('resources %j', (resources, fault) => {
    expect(faults({ rules: [{ ...rule, resources }] })[0]).toContain(fault);
  });

  test('what was stored already is not held against an update', () => {
    const old = webhooks({ sideEffects: 'Some', admissionReviewVersions: ['v7'] }, { sideEffects: 'Some' });
    expect(fields('validatingwebhookconfigurations', old, old)).toEqual([]);
    expect(faults({ sideEffects: 'Some' }, {})).toHaveLength(2);
  });
});
