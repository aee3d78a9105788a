import { canonicalAddressErrors } from './cidr.ts';

/** What is wrong with a name, one message each, in upstream's wording. `prefix`: a suffix will be appended to it. */
export type NameRule = (name: string, prefix: boolean) => string[];

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const LABEL_1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const labelPattern = new RegExp(`^${LABEL}$`);
const subdomainPattern = new RegExp(`^${SUBDOMAIN}$`);
const label1035Pattern = new RegExp(`^${LABEL_1035}$`);

const tooLong = (max: number) => `must be no more than ${max} characters`;

/** Whether a string is an RFC 1123 label of at most 63 characters. */
export function dnsLabelErrors(name: string): string[] {
  const errors = name.length > 63 ? [tooLong(63)] : [];
  if (labelPattern.test(name)) return errors;
  if (subdomainPattern.test(name)) return [...errors, 'must not contain dots'];
  return [
    ...errors,
    `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${LABEL}')`,
  ];
}

/** Whether a string is an RFC 1123 subdomain of at most 253 characters. */
export function dnsSubdomainErrors(name: string): string[] {
  const errors = name.length > 253 ? [tooLong(253)] : [];
  if (subdomainPattern.test(name)) return errors;
  return [
    ...errors,
    `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`,
  ];
}

/** Whether a string is an RFC 1035 label of at most 63 characters, which starts with a letter. */
export function dns1035LabelErrors(name: string): string[] {
  const errors = name.length > 63 ? [tooLong(63)] : [];
  if (label1035Pattern.test(name)) return errors;
  return [
    ...errors,
    `a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '${LABEL_1035}')`,
  ];
}

/** Whether a string can be one segment of a URL path. */
export const pathSegment: NameRule = (name, prefix) => {
  if (!prefix && (name === '.' || name === '..')) return [`may not be '${name}'`];
  return ['/', '%'].filter((c) => name.includes(c)).map((c) => `may not contain '${c}'`);
};

const withoutTrailingDash = (name: string) => (name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name);
const dnsLabel: NameRule = (name, prefix) => dnsLabelErrors(prefix ? withoutTrailingDash(name) : name);
const dnsSubdomain: NameRule = (name, prefix) => dnsSubdomainErrors(prefix ? withoutTrailingDash(name) : name);
const ipAddress: NameRule = (name) => canonicalAddressErrors(name);

/** Resources whose names follow another rule than DNS subdomains, by `group/resource`. */
const rules: ReadonlyMap<string, NameRule> = new Map([
  ['/namespaces', dnsLabel],
  ['/services', dnsLabel],
  ['apps/statefulsets', dnsLabel],
  ['rbac.authorization.k8s.io/roles', pathSegment],
  ['rbac.authorization.k8s.io/rolebindings', pathSegment],
  ['rbac.authorization.k8s.io/clusterroles', pathSegment],
  ['rbac.authorization.k8s.io/clusterrolebindings', pathSegment],
  ['networking.k8s.io/ipaddresses', ipAddress],
  ['apiregistration.k8s.io/apiservices', pathSegment],
  ['policy/poddisruptionbudgets', pathSegment],
  ['/events', pathSegment],
]);

/** The rule that names of a resource follow. */
export function nameRule(group: string, resource: string): NameRule {
  return rules.get(`${group}/${resource}`) ?? dnsSubdomain;
}
