import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject, KubeObject } from '../object.ts';
import { each, has, integer, oneOf, part, parts, requiredText, text, texts, unchanged } from './checks.ts';
import { addressErrors } from './cidr.ts';
import type { Validator } from './index.ts';
import { isIP } from './ip.ts';
import { dnsLabelErrors, dnsSubdomainErrors, pathSegment } from './names.ts';
import { portFaults, portNameErrors } from './ports.ts';

const CLASS_ANNOTATION = 'kubernetes.io/ingress.class';
const MAX_CONTROLLER = 250;
const WILDCARD = '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
const wildcardPattern = new RegExp(`^${WILDCARD}$`);
const WILDCARD_RULE = `a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '${WILDCARD}')`;
const HTTP_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const httpPathPattern = new RegExp(`^${HTTP_PATH}$`);
const NO_ADDRESS = 'must be a DNS name, not an IP address';
const segment = (name: string) => pathSegment(name, false);

function hostErrors(host: string): string[] {
  if (!host.includes('*')) return dnsSubdomainErrors(host);
  const out = host.length > 253 ? ['must be no more than 253 characters'] : [];
  return wildcardPattern.test(host) ? out : [...out, WILDCARD_RULE];
}

function validateReference(ref: JsonObject, at: string): StatusCause[] {
  const group = ref.apiGroup;
  return [
    ...(typeof group === 'string' ? each(`${at}.apiGroup`, group, dnsSubdomainErrors(group)) : []),
    ...requiredText(ref.kind, `${at}.kind`, segment),
    ...requiredText(ref.name, `${at}.name`, segment),
  ];
}

function validateBackend(backend: JsonObject, at: string): StatusCause[] {
  const [resource, service] = [has(backend, 'resource'), has(backend, 'service')];
  if (resource && service) return [causes.invalid(at, '', 'cannot set both resource and service backends')];
  if (resource) return validateReference(part(backend, 'resource'), `${at}.resource`);
  if (!service) return [causes.invalid(at, '', 'resource or service backend is required')];
  const target = part(backend, 'service');
  const out = requiredText(target.name, `${at}.service.name`, dnsLabelErrors);
  const port = part(target, 'port');
  const [name, number] = [text(port.name), integer(port.number)];
  if (name !== '' && number !== 0) return [...out, causes.invalid(at, '', 'cannot set both port name & port number')];
  if (name !== '') return [...out, ...each(`${at}.service.port.name`, name, portNameErrors(name))];
  if (number !== 0) return [...out, ...portFaults(number, `${at}.service.port.number`)];
  return [...out, causes.required(at, 'port name or number is required')];
}

const BAD_SEQUENCES = ['//', '/./', '/../', '%2f', '%2F'];
const BAD_SUFFIXES = ['/..', '/.'];

function validatePath(rule: JsonObject, at: string): StatusCause[] {
  if (!has(rule, 'pathType')) return [causes.required(`${at}.pathType`, 'pathType must be specified')];
  const out = oneOf(rule.pathType, `${at}.pathType`, ['Exact', 'ImplementationSpecific', 'Prefix']);
  const path = text(rule.path);
  const literal = rule.pathType === 'Exact' || rule.pathType === 'Prefix';
  const faults: string[] = [];
  if (out.length === 0 && !path.startsWith('/') && (literal || path !== '')) faults.push('must be an absolute path');
  if (literal) {
    faults.push(...BAD_SEQUENCES.filter((bad) => path.includes(bad)).map((bad) => `must not contain '${bad}'`));
    faults.push(...BAD_SUFFIXES.filter((bad) => path.endsWith(bad)).map((bad) => `cannot end with '${bad}'`));
  }
  return [...out, ...each(`${at}.path`, path, faults), ...validateBackend(part(rule, 'backend'), `${at}.backend`)];
}

function validateRule(rule: JsonObject, at: string, lenient: boolean): StatusCause[] {
  const host = text(rule.host);
  const out: StatusCause[] = [];
  if (host !== '') {
    if (isIP(host)) out.push(causes.invalid(`${at}.host`, host, NO_ADDRESS));
    out.push(...each(`${at}.host`, host, hostErrors(host)));
  }
  return lenient && host.includes('*') ? out : [...out, ...validateHttp(rule, at)];
}

function validateHttp(rule: JsonObject, at: string): StatusCause[] {
  if (!has(rule, 'http')) return [];
  const paths = parts(part(rule, 'http'), 'paths');
  if (paths.length === 0) return [causes.required(`${at}.http.paths`)];
  return paths.flatMap((path, i) => validatePath(path, `${at}.http.paths[${i}]`));
}

const secretErrors = (tls: JsonObject) => (text(tls.secretName) === '' ? [] : dnsSubdomainErrors(text(tls.secretName)));

function validateTls(tls: JsonObject, at: string, lenient: boolean): StatusCause[] {
  const out = texts(tls, 'hosts').flatMap((host, i) => each(`${at}.hosts[${i}]`, host, hostErrors(host)));
  return lenient ? out : [...out, ...each(`${at}.secretName`, text(tls.secretName), secretErrors(tls))];
}

function validateIngress(object: KubeObject, old?: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const before = part(old ?? {}, 'spec');
  const badSecret = parts(before, 'tls').some((tls) => secretErrors(tls).length > 0);
  const badWildcard = parts(before, 'rules').some(
    (rule) => text(rule.host).includes('*') && validateHttp(rule, '').length > 0,
  );
  const rules = parts(spec, 'rules');
  const out: StatusCause[] = [];
  if (rules.length === 0 && !has(spec, 'defaultBackend')) {
    const why = 'either `defaultBackend` or `rules` must be specified';
    out.push(causes.invalid('spec', spec.rules ?? null, why));
  }
  if (has(spec, 'defaultBackend')) out.push(...validateBackend(part(spec, 'defaultBackend'), 'spec.defaultBackend'));
  out.push(
    ...rules.flatMap((rule, i) => validateRule(rule, `spec.rules[${i}]`, badWildcard)),
    ...parts(spec, 'tls').flatMap((tls, i) => validateTls(tls, `spec.tls[${i}]`, badSecret)),
  );
  const name = spec.ingressClassName;
  return typeof name === 'string' ? [...out, ...each('spec.ingressClassName', name, dnsSubdomainErrors(name))] : out;
}

function annotationFaults(object: KubeObject): StatusCause[] {
  const name = part(object, 'spec').ingressClassName;
  const annotation = object.metadata.annotations?.[CLASS_ANNOTATION];
  if (annotation === undefined || typeof name !== 'string' || annotation === name) return [];
  const why = 'must match `ingressClassName` when both are specified';
  return [causes.invalid(`annotations.${CLASS_ANNOTATION}`, annotation, why)];
}

const pointsOf = (object: KubeObject) => parts(part(part(object, 'status'), 'loadBalancer'), 'ingress');

function validatePoints(object: KubeObject, old: KubeObject): StatusCause[] {
  const known = new Set(pointsOf(old).map(({ ip }) => text(ip)));
  return pointsOf(object).flatMap((point, i) => {
    const at = `status.loadBalancer.ingress[${i}]`;
    const [ip, host] = [text(point.ip), text(point.hostname)];
    const out: StatusCause[] = [];
    if (ip !== '' && !known.has(ip)) out.push(...each(`${at}.ip`, ip, addressErrors(ip)));
    if (host === '') return out;
    out.push(...each(`${at}.hostname`, host, dnsSubdomainErrors(host)));
    return isIP(host) ? [...out, causes.invalid(`${at}.hostname`, host, NO_ADDRESS)] : out;
  });
}

function controllerFaults(controller: string): StatusCause[] {
  const at = 'spec.controller';
  const out = controller.length > MAX_CONTROLLER ? [causes.tooLong(at, MAX_CONTROLLER)] : [];
  if (controller === '') return [...out, causes.required(at)];
  const slash = controller.indexOf('/');
  const [host, path] = [controller.slice(0, Math.max(slash, 0)), controller.slice(slash + 1)];
  if (host === '' || path === '') {
    return [...out, causes.invalid(at, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  out.push(...each(at, host, dnsSubdomainErrors(host)));
  if (httpPathPattern.test(path)) return out;
  return [...out, causes.invalid(at, path, `Invalid path (regex used for validation is '${HTTP_PATH}')`)];
}

function parametersFaults(spec: JsonObject): StatusCause[] {
  if (!has(spec, 'parameters')) return [];
  const at = 'spec.parameters';
  const parameters = part(spec, 'parameters');
  const out = validateReference(parameters, at);
  if (!has(parameters, 'scope')) return [...out, causes.required(`${at}.scope`)];
  const { scope, namespace } = parameters;
  out.push(...oneOf(scope, `${at}.scope`, ['Cluster', 'Namespace']));
  if (scope === 'Namespace') {
    if (typeof namespace === 'string') out.push(...each(`${at}.namespace`, namespace, dnsLabelErrors(namespace)));
    else out.push(causes.required(`${at}.namespace`, "`parameters.scope` is set to 'Namespace'"));
  }
  if (scope === 'Cluster' && has(parameters, 'namespace')) {
    out.push(causes.forbidden(`${at}.namespace`, "`parameters.scope` is set to 'Cluster'"));
  }
  return out;
}

function validateClass(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  return [...controllerFaults(text(spec.controller)), ...parametersFaults(spec)];
}

const controllerOf = (object: KubeObject) => text(part(object, 'spec').controller);

/** Ingresses and their classes. */
export const ingressValidators: readonly [string, Validator][] = [
  [
    'networking.k8s.io/ingresses',
    {
      create: (object) => [...validateIngress(object), ...annotationFaults(object)],
      update: (object, old) => validateIngress(object, old),
    },
  ],
  ['networking.k8s.io/ingresses/status', { update: validatePoints }],
  [
    'networking.k8s.io/ingressclasses',
    {
      create: validateClass,
      update: (object, old) => [
        ...unchanged(controllerOf(object), controllerOf(old), 'spec.controller'),
        ...validateClass(object),
      ],
    },
  ],
];
