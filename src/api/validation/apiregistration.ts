import { causes, type StatusCause } from '../../status/status.ts';
import type { KubeObject } from '../object.ts';
import { each, has, integer, oneOf, part, parts, text } from './checks.ts';
import type { Validator } from './index.ts';
import { dns1035LabelErrors, dnsSubdomainErrors } from './names.ts';

const PORT_RULE = 'port is not valid: must be between 1 and 65535, inclusive';

function validateName(name: string, group: string, version: string): StatusCause[] {
  const expected = `${version}.${group}`;
  if (name === expected || name === '' || /[/%]|^\.\.?$/.test(name)) return [];
  return [
    causes.invalid('metadata.name', name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(expected)}`),
  ];
}

function validatePriority(value: number, limit: number, at: string): StatusCause[] {
  return value > 0 && value <= limit ? [] : [causes.invalid(at, value, `must be positive and less than ${limit}`)];
}

const byteLength = (base64: string) => Math.floor((base64.replace(/=+$/, '').length * 3) / 4);

function validateService(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const bundle = text(spec.caBundle);
  const insecure = spec.insecureSkipTLSVerify === true;
  const out: StatusCause[] = [];
  if (!has(spec, 'service')) {
    if (bundle !== '') {
      const why = 'local APIServices may not have a caBundle';
      out.push(causes.invalid('spec.caBundle', `${byteLength(bundle)} bytes`, why));
    }
    const why = 'local APIServices may not have insecureSkipTLSVerify';
    return insecure ? [...out, causes.invalid('spec.insecureSkipTLSVerify', true, why)] : out;
  }
  const service = part(spec, 'service');
  for (const key of ['namespace', 'name']) {
    if (text(service[key]) === '') out.push(causes.required(`spec.service.${key}`));
  }
  const port = integer(service.port);
  if (port < 1 || port > 65535) out.push(causes.invalid('spec.service.port', port, PORT_RULE));
  if (!insecure || bundle === '') return out;
  return [...out, causes.invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present')];
}

function validateApiService(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const [group, version] = [text(spec.group), text(spec.version)];
  const out = validateName(object.metadata.name ?? '', group, version);
  if (group === '' && version !== 'v1') {
    out.push(causes.required('spec.group', 'only v1 may have an empty group and it better be legacy kube'));
  }
  if (group !== '') out.push(...each('spec.group', group, dnsSubdomainErrors(group)));
  return [
    ...out,
    ...each('spec.version', version, dns1035LabelErrors(version)),
    ...validatePriority(integer(spec.groupPriorityMinimum), 20000, 'spec.groupPriorityMinimum'),
    ...validatePriority(integer(spec.versionPriority), 1000, 'spec.versionPriority'),
    ...validateService(object),
  ];
}

const STATUSES = ['True', 'False', 'Unknown'];

/** Registrations of API groups. */
export const apiRegistrationValidators: readonly [string, Validator][] = [
  ['apiregistration.k8s.io/apiservices', { create: validateApiService }],
  [
    'apiregistration.k8s.io/apiservices/status',
    {
      update: (object) =>
        parts(part(object, 'status'), 'conditions').flatMap(({ status }, i) =>
          oneOf(status, `status.conditions[${i}].status`, STATUSES, false),
        ),
    },
  ],
];
