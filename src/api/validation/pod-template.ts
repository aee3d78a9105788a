import { matchesLabelSelector } from '../../registry/subresources/label-selector.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import { isObject, type JsonObject, type JsonValue } from '../object.ts';
import { part } from './checks.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { validateAnnotations, validateLabels } from './metadata.ts';
import { validatePodSpec } from './pod-spec.ts';

/** Causes in a pod template at a path. Labels and annotations are named without `metadata`, as upstream does. */
export function validatePodTemplate(template: JsonObject, at: string): StatusCause[] {
  const metadata = part(template, 'metadata');
  const spec = part(template, 'spec');
  const out = [
    ...validateLabels(metadata.labels, `${at}.labels`),
    ...validateAnnotations(metadata.annotations, `${at}.annotations`),
    ...validatePodSpec(spec, `${at}.spec`),
  ];
  if (Array.isArray(spec.ephemeralContainers) && spec.ephemeralContainers.length > 0) {
    out.push(causes.forbidden(`${at}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template'));
  }
  return out;
}

/** A cause where a selector does not select the pods of a template; none where the selector itself is at fault. */
export function validateSelection(selector: JsonValue | undefined, template: JsonObject, at: string): StatusCause[] {
  if (isObject(selector) && labelSelectorFaults(selector, '').length > 0) return [];
  const labels = part(part(template, 'metadata'), 'labels') as Record<string, string>;
  if (isObject(selector) && matchesLabelSelector(selector, labels)) return [];
  const sorted = Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
  const shown = Object.keys(labels).length === 0 ? null : sorted;
  return [causes.invalid(`${at}.metadata.labels`, shown, '`selector` does not match template `labels`')];
}
