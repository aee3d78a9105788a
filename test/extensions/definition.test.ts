import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/api/object.ts';
import { definitionValidators } from '../../src/api/validation/apiextensions.ts';

const { create, update } = definitionValidators.get('apiextensions.k8s.io/customresourcedefinitions')!;
const version = (more: object = {}) => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: 'object' } },
  ...more,
});
const definition = (spec: object = {}, status: object = { storedVersions: ['v1'] }): KubeObject =>
  ({
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [version()],
      conversion: { strategy: 'None' },
      ...spec,
    },
    status,
  }) as unknown as KubeObject;
const fields = (faults: { field?: string }[]) => faults.map((f) => f.field);
/** Faults of a schema of one property, without the path to it. */
const inSchema = (spec: object) => {
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  const at = 'spec.validation.openAPIV3Schema.properties[spec].';
  return create!(definition({ versions: [version({ schema })] })).map(
    ({ field, message }) => `${field?.replace(at, '')}: ${message}`,
  );
};

describe('a custom resource definition', () => {
  it('is valid', () => {
    expect(create!(definition())).toEqual([]);
    expect(update!(definition(), definition())).toEqual([]);
  });

  it('tells faults once for parts that all versions share, else for each version', () => {
    const bad = version({ additionalPrinterColumns: [{ name: 'a', type: 'x', jsonPath: '.a' }] });
    expect(fields(create!(definition({ versions: [bad] })))).toEqual(['spec.additionalPrinterColumns[0].type']);
    const two = [bad, version({ name: 'v2', storage: false })];
    expect(fields(create!(definition({ versions: two })))).toEqual([
      'spec.versions[0].additionalPrinterColumns[0].type',
    ]);
  });

  it('keeps scope and kind once established, group and plural always', () => {
    const status = { storedVersions: ['v1'], conditions: [{ type: 'Established', status: 'True' }] };
    const names = { plural: 'gadgets', singular: 'widget', kind: 'Gadget', listKind: 'WidgetList' };
    const changed = definition({ scope: 'Cluster', names }, status);
    expect(fields(update!(changed, definition({}, status)))).toEqual([
      'spec.scope',
      'spec.names.kind',
      'spec.names.plural',
    ]);
    expect(fields(update!(changed, definition()))).toEqual(['spec.names.plural']);
  });

  it('keeps versions that objects may be stored in', () => {
    const faults = create!(definition({}, { storedVersions: ['v0', 'v1'] }));
    expect(fields(faults)).toEqual(['status.storedVersions[0]']);
  });

  it('selects by scalar fields of the schema only', () => {
    const schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', properties: { a: { type: 'string' }, o: { type: 'object' } } } },
      },
    };
    const select = (...paths: string[]) =>
      fields(
        create!(
          definition({ versions: [version({ schema, selectableFields: paths.map((jsonPath) => ({ jsonPath })) })] }),
        ),
      );
    expect(select('.spec.a')).toEqual([]);
    expect(select('.spec.a', '.spec.a', '.spec.o', '.spec.none', '.metadata.name')).toEqual([
      'spec.selectableFields[1].jsonPath',
      'spec.selectableFields[2].jsonPath',
      'spec.selectableFields[3].jsonPath',
      'spec.selectableFields[4].jsonPath',
    ]);
  });
});

describe('a schema', () => {
  it('has types outside of value validations and none inside', () => {
    expect(inSchema({ type: 'object', properties: { a: {} } })).toEqual([
      'properties[a].type: Required value: must not be empty for specified object fields',
    ]);
    expect(inSchema({ type: 'object', not: { description: 'x' } })).toEqual([
      'not.description: Forbidden: must be empty to be structural',
    ]);
  });

  it('knows what the value validations at its root speak of', () => {
    const openAPIV3Schema = { type: 'object', anyOf: [{ properties: { a: { minLength: 1 } } }] };
    const faults = create!(definition({ versions: [version({ schema: { openAPIV3Schema } })] }));
    expect(fields(faults)).toEqual(['spec.validation.openAPIV3Schema.properties[a]']);
  });

  it('may spell int-or-string out', () => {
    const either = [{ type: 'integer' }, { type: 'string' }];
    expect(inSchema({ 'x-kubernetes-int-or-string': true, anyOf: either })).toEqual([]);
    expect(inSchema({ 'x-kubernetes-int-or-string': true, allOf: [{ anyOf: either }] })).toEqual([]);
  });

  it('has defaults that are its own values', () => {
    expect(inSchema({ type: 'array', items: { type: 'string' }, default: ['a', 1] })).toEqual([
      'default.[1]: Invalid value: "integer": [1] in body must be of type string: "integer"',
    ]);
    expect(inSchema({ type: 'object', properties: { a: { type: 'string' } }, default: { b: 1 } })[0]).toMatch(
      /must not have unknown fields$/,
    );
  });

  it('has no patterns that RE2 cannot read', () => {
    const why = (pattern: string) => inSchema({ type: 'string', pattern })[0]?.split('regexp: ')[1];
    expect(why('^[a-z]+(\\.[a-z]{2})?$')).toBeUndefined();
    for (const good of ['(?i)^a?$', '(?P<n>a)+', '(?:x)*', '[*+?]', '\\(', 'a{1,1000}'])
      expect(why(good)).toBeUndefined();
    expect(why('(')).toBe('missing closing ): `(`');
    expect(why('a)')).toBe('unexpected ): `a)`');
    expect(why('[a')).toBe('missing closing ]: `[a`');
    expect(why('a(?=b)')).toBe('invalid or unsupported Perl syntax: `(?=`');
    expect(why('a{2,1}')).toBe('invalid repeat count: `{2,1}`');
    expect(why('*')).toBe('missing argument to repetition operator: `*`');
  });
});
