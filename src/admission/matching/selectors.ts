import { mapOf, objects, text, texts } from '../../api/fields.ts';
import { isObject, type JsonObject, type JsonValue } from '../../api/object.ts';

/** Labels of an object; what is no text counts as none. */
export type Labels = Readonly<Record<string, unknown>>;
/** Whether labels are selected. */
export type LabelTest = (labels: Labels) => boolean;

function requirement({ key, operator, values }: JsonObject): LabelTest {
  const name = text(key);
  const wanted = new Set(texts(values));
  const has = (labels: Labels) => Object.hasOwn(labels, name) && labels[name] !== undefined;
  switch (operator) {
    case 'In':
      return (labels) => has(labels) && wanted.has(String(labels[name]));
    case 'NotIn':
      return (labels) => !has(labels) || !wanted.has(String(labels[name]));
    case 'Exists':
      return has;
    default:
      return (labels) => !has(labels);
  }
}

/** A metav1.LabelSelector as a test; `undefined` where it selects everything. */
export function labelTest(selector: JsonValue | undefined): LabelTest | undefined {
  if (!isObject(selector)) return undefined;
  const equal = Object.entries(mapOf(selector.matchLabels)).map(([key, value]) =>
    requirement({ key, operator: 'In', values: [String(value)] }),
  );
  const tests = [...equal, ...objects(selector.matchExpressions).map(requirement)];
  return tests.length === 0 ? undefined : (labels) => tests.every((test) => test(labels));
}
