import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { compareQuantities } from '../quantity.ts';
import { each, text } from './checks.ts';
import { qualifiedNameErrors } from './labels.ts';

/** Fields that a pod's environment can show. */
export const ENVIRONMENT_FIELDS: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
/** Fields that a volume can show. */
export const VOLUME_FIELDS: readonly string[] = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];
/** Fields that have names in the API, whether or not they can be shown. */
const KNOWN: ReadonlySet<string> = new Set([
  ...ENVIRONMENT_FIELDS,
  ...VOLUME_FIELDS,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
]);
const SUBSCRIPT = /^(.+)\['([^']*)'\]$/;

const RESOURCES = ['limits', 'requests'].flatMap((use) =>
  ['cpu', 'ephemeral-storage', 'memory'].map((name) => `${use}.${name}`),
);
const HUGE_PAGES = /^(limits|requests)\.hugepages-/;
const SIZES = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

interface Divisors {
  resource: RegExp;
  known: readonly string[];
  name: string;
}
const DIVISORS: readonly Divisors[] = [
  { resource: /^(limits|requests)\.cpu$/, known: ['1m', '1'], name: 'cpu resource' },
  { resource: /^(limits|requests)\.memory$/, known: SIZES, name: 'memory resource' },
  { resource: /^(limits|requests)\.ephemeral-storage$/, known: SIZES, name: 'local ephemeral storage resource' },
  { resource: HUGE_PAGES, known: SIZES, name: 'hugepages resource' },
];

/** Causes in a reference to a field of the pod; `known` are the fields that can be shown there, sorted. */
export function fieldReferenceFaults(ref: JsonObject, known: readonly string[], at: string): StatusCause[] {
  const [version, path] = [text(ref.apiVersion), text(ref.fieldPath)];
  const here = `${at}.fieldPath`;
  if (version === '') return [causes.required(`${at}.apiVersion`)];
  if (path === '') return [causes.required(here)];
  const unconverted = (why: string) => [causes.invalid(here, path, `error converting fieldPath: ${why}`)];
  if (version !== 'v1') return unconverted(`unsupported pod version: ${version}`);
  const [, base, key = ''] = SUBSCRIPT.exec(path) ?? [];
  if (base === 'metadata.annotations') return each(at, key.toLowerCase(), qualifiedNameErrors(key.toLowerCase()));
  if (base === 'metadata.labels') return each(at, key, qualifiedNameErrors(key));
  if (base !== undefined) return unconverted(`field label does not support subscript: ${path}`);
  const field = path === 'spec.host' ? 'spec.nodeName' : path;
  if (!KNOWN.has(field)) return unconverted(`field label not supported: ${path}`);
  return known.includes(field) ? [] : [causes.notSupported(here, field, known)];
}

/** Causes in a reference to a resource of a container, which volumes have to name. */
export function resourceReferenceFaults(ref: JsonObject, at: string, inVolume: boolean): StatusCause[] {
  const resource = text(ref.resource);
  const out: StatusCause[] = [];
  if (inVolume && text(ref.containerName) === '') out.push(causes.required(`${at}.containerName`));
  else if (resource === '') out.push(causes.required(`${at}.resource`));
  else if (!RESOURCES.includes(resource) && !HUGE_PAGES.test(resource)) {
    out.push(causes.notSupported(`${at}.resource`, resource, RESOURCES));
  }
  const divisor = text(ref.divisor);
  if (divisor === '' || compareQuantities(divisor, '0') === 0) return out;
  const rule = DIVISORS.find((each) => each.resource.test(resource));
  if (rule === undefined || rule.known.includes(divisor)) return out;
  const values = rule.known.length === 2 ? rule.known.join(' and ') : rule.known.join(', ');
  const why = `only divisor's values ${values} are supported with the ${rule.name}`;
  return [...out, causes.invalid(`${at}.divisor`, resource, why)];
}
