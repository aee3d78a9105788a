import { beforeAll, describe, expect, it } from 'vitest';
import { type TestApp, testApp } from '../support/app.ts';

const GROUP = '/apis/admissionregistration.k8s.io/v1';
let app: TestApp;

beforeAll(async () => {
  app = await testApp();
});

const policy = (spec: object) => ({
  metadata: { name: 'p' },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
    },
    ...spec,
  },
});
/** The causes by which a policy is refused. */
async function causes(spec: object): Promise<[string, string, string][]> {
  const { body } = await app.call('POST', `${GROUP}/validatingadmissionpolicies?dryRun=All`, policy(spec));
  const found = (body.details?.causes ?? []) as { field: string; reason: string; message: string }[];
  return found.map(({ field, reason, message }) => [field, reason, message.split('\n')[0]!]);
}

describe('expressions that no data can make right', () => {
  it.each([
    [
      `"%d".format(["x"]) == ""`,
      'error during formatting: decimal clause can only be used on integers, was given string',
    ],
    [`"%s".format([]) == ""`, 'index 0 out of range'],
    [`"%s".format(["a", "b"]) == ""`, 'too many arguments supplied to string.format (expected 1, got 2)'],
    [`"%.f".format([1.0]) == ""`, 'could not parse formatting clause: error while parsing precision'],
    [`"100%".format([]) == ""`, 'unexpected end of string'],
    [`"%s".format([[quantity("1")]]) == ""`, 'error during formatting: string clause can only be used on strings'],
    [`duration("1 day") > duration("1s")`, 'invalid duration argument'],
    [`timestamp(253402300800) > timestamp(0)`, 'invalid timestamp argument'],
    [`object.metadata.name.matches("[")`, 'invalid matches argument'],
    [`[1, "a"].size() == 2`, "expected type 'int' but found 'string'"],
  ])('%s is refused with the place', async (expression, why) => {
    const [[field, reason, message] = []] = await causes({ validations: [{ expression }] });
    expect([field, reason]).toEqual(['spec.validations[0].expression', 'FieldValueInvalid']);
    expect(message).toContain(`ERROR: <input>:1:`);
    expect(message).toContain(`: ${why}`);
  });

  it('a conversion that fails is an internal error, wherever it stands', async () => {
    const why = "program instantiation failed: type conversion error from 'string' to 'int'";
    expect(await causes({ validations: [{ expression: 'object.metadata.name == "a" || int("x") == 1' }] })).toEqual([
      ['spec.validations[0].expression', 'InternalError', `Internal error: ${why}`],
    ]);
    expect(await causes({ auditAnnotations: [{ key: 'a', valueExpression: 'string(int("x"))' }] })).toEqual([
      ['spec.auditAnnotations[0].valueExpression', 'InternalError', `Internal error: ${why}`],
    ]);
  });

  it('what depends on data is left to it', async () => {
    const expression = `"%d of %s".format([object.spec.priority, object.spec.x]).matches(object.metadata.name)`;
    expect(await causes({ validations: [{ expression }] })).toEqual([]);
  });
});
