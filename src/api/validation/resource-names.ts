import { causes, type StatusCause } from '../../status/status.ts';
import { compareQuantities, parseQuantity } from '../quantity.ts';
import { each } from './checks.ts';
import { qualifiedNameErrors } from './labels.ts';

const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
const COUNTED: ReadonlySet<string> = new Set([
  ...['pods', 'resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps'],
  ...['persistentvolumeclaims', 'services.nodeports', 'services.loadbalancers'],
]);
const QUOTAS: ReadonlySet<string> = new Set([
  ...COMPUTE.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
  ...['requests.storage', ...COUNTED],
]);
const HUGE_PAGES = 'hugepages-';

const isQuotaHugePage = (name: string) => name.startsWith(HUGE_PAGES) || name.startsWith(`requests.${HUGE_PAGES}`);
const isNative = (name: string) => !name.includes('/') || name.includes('kubernetes.io/');
/** Whether a name is one of a resource that nodes offer beyond those that Kubernetes knows. */
export const isExtendedResource = (name: string): boolean =>
  !isNative(name) && !name.startsWith('requests.') && qualifiedNameErrors(`requests.${name}`).length === 0;

/** Whether a quota can bound a resource of this name without a domain. */
export const isQuotaName = (name: string): boolean => QUOTAS.has(name) || isQuotaHugePage(name);

/** Whether more of a resource may be allowed than is asked for. */
export const allowsOvercommit = (name: string): boolean => isNative(name) && !name.startsWith(HUGE_PAGES);

/** What a name without a domain has to be, and what is said where it is not. */
type Standard = readonly [test: (name: string) => boolean, why: string];
const anyStandard: Standard = [
  (name) => name === 'storage' || isQuotaName(name),
  'must be a standard resource type or fully qualified',
];
const containerStandard: Standard = [
  (name) => COMPUTE.includes(name) || name.startsWith(HUGE_PAGES),
  'must be a standard resource for containers',
];
const quotaStandard: Standard = [isQuotaName, 'must be a standard resource for quota'];

const standardFaults = (name: string, at: string, [test, why]: Standard): StatusCause[] =>
  name.includes('/') || test(name) ? [] : [causes.invalid(at, name, why)];

/** Causes in the name of any resource. */
export function resourceNameFaults(name: string, at: string): StatusCause[] {
  const faults = each(at, name, qualifiedNameErrors(name));
  return faults.length > 0 ? faults : standardFaults(name, at, anyStandard);
}

/** Causes in the name of a resource that containers use. */
export function containerResourceNameFaults(name: string, at: string): StatusCause[] {
  const faults = resourceNameFaults(name, at);
  if (name.includes('/')) {
    const why = "doesn't follow extended resource name standard";
    return isNative(name) || isExtendedResource(name) ? faults : [...faults, causes.invalid(at, name, why)];
  }
  return [...faults, ...standardFaults(name, at, containerStandard)];
}

/** Causes in the name of a resource that a quota bounds. */
export function quotaNameFaults(name: string, at: string): StatusCause[] {
  return [...resourceNameFaults(name, at), ...standardFaults(name, at, quotaStandard)];
}

const isWhole = (value: string) => {
  const { unscaled, exponent } = parseQuantity(value);
  return exponent >= 0 || unscaled % 10n ** BigInt(-exponent) === 0n;
};

/** Causes in an amount of a resource: none is negative, and things are counted in whole numbers. */
export function amountFaults(name: string, value: string, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  if (compareQuantities(value, '0') < 0) {
    out.push(causes.invalid(at, value, 'must be greater than or equal to 0'));
  }
  if ((COUNTED.has(name) || isExtendedResource(name)) && !isWhole(value)) {
    out.push(causes.invalid(at, value, 'must be an integer'));
  }
  return out;
}
