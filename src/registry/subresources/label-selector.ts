import { objectAt, objectsAt } from '../../api/fields.ts';
import { isObject, type JsonValue } from '../../api/object.ts';

/** Whether labels meet a metav1.LabelSelector: none selects nothing, an empty one everything. */
export function matchesLabelSelector(
  selector: JsonValue | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (!isObject(selector)) return false;
  for (const [key, value] of Object.entries(objectAt(selector, 'matchLabels'))) {
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  }
  return objectsAt(selector, 'matchExpressions').every(({ key, operator, values }) => {
    const value = typeof key === 'string' && Object.hasOwn(labels, key) ? labels[key] : undefined;
    const listed = value !== undefined && Array.isArray(values) && values.includes(value);
    if (operator === 'In') return listed;
    if (operator === 'NotIn') return !listed;
    return operator === 'Exists' ? value !== undefined : value === undefined;
  });
}
