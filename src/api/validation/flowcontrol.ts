import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, type JsonObject, type JsonValue, type KubeObject } from '../object.ts';
import table from '../tables/bootstrap.json';
import { duplicates, each, has, integer, oneOf, part, parts, requiredText, text, texts } from './checks.ts';
import { priorityLevelShape, schemaShape, shown } from './flowcontrol-shapes.ts';
import type { Validator } from './index.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';

const EXEMPT = 'exempt';
const MAX_PRECEDENCE = 10000;
const MAX_QUEUES = 10000000;
const MAX_HASH_BITS = 60;
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];
/** Objects whose spec belongs to the server. */
const MANDATORY: ReadonlySet<string> = new Set([EXEMPT, 'catch-all']);

const mandatorySpecs = (objects: readonly { metadata: { name: string }; spec: unknown }[]) =>
  new Map(
    objects
      .filter(({ metadata }) => MANDATORY.has(metadata.name))
      .map(({ metadata, spec }): [string, JsonObject] => [metadata.name, spec as JsonObject]),
  );
const mandatorySchemas = mandatorySpecs(table.flowschemas);
const mandatoryLevels = mandatorySpecs(table.prioritylevelconfigurations);

const subjectRules: Readonly<
  Record<string, { key: string; check: (subject: JsonObject, at: string) => StatusCause[] }>
> = {
  ServiceAccount: { key: 'serviceAccount', check: validateAccount },
  User: { key: 'user', check: validateNamed },
  Group: { key: 'group', check: validateNamed },
};

function validateNamed(subject: JsonObject, at: string): StatusCause[] {
  return text(subject.name) === '' ? [causes.required(`${at}.name`)] : [];
}

function validateAccount(subject: JsonObject, at: string): StatusCause[] {
  const namespace = text(subject.namespace);
  return [
    ...requiredText(subject.name, `${at}.name`, (name) => (name === '*' ? [] : dnsSubdomainErrors(name))),
    ...(namespace === ''
      ? [causes.required(`${at}.namespace`, 'must specify namespace for service account')]
      : each(`${at}.namespace`, namespace, dnsLabelErrors(namespace))),
  ];
}

function validateSubject(subject: JsonObject, at: string): StatusCause[] {
  const kind = text(subject.kind);
  const rule = Object.hasOwn(subjectRules, kind) ? subjectRules[kind] : undefined;
  if (rule === undefined) return oneOf(kind, `${at}.kind`, ['Group', 'ServiceAccount', 'User']);
  const here = `${at}.${rule.key}`;
  const out = has(subject, rule.key)
    ? rule.check(part(subject, rule.key), here)
    : [causes.required(here, `${rule.key} is required when subject kind is '${kind}'`)];
  for (const [other, { key }] of Object.entries(subjectRules)) {
    if (other === kind || !has(subject, key)) continue;
    out.push(causes.forbidden(`${at}.${key}`, `${key} is forbidden when subject kind is not '${other}'`));
  }
  return out;
}

/** A cause where a list is empty, or names others beside the wildcard. */
function wildcardFaults(rule: JsonObject, key: string, at: string, missing: string, others: string): StatusCause[] {
  const values = texts(rule, key);
  if (values.length === 0) return [causes.required(`${at}.${key}`, missing)];
  if (values.length === 1 || !values.includes('*')) return [];
  return [causes.invalid(`${at}.${key}`, values, `if '*' is present, must not specify other ${others}`)];
}

function verbFaults(rule: JsonObject, at: string): StatusCause[] {
  const verbs = texts(rule, 'verbs');
  const out = wildcardFaults(rule, 'verbs', at, 'verbs must contain at least one value', 'verbs');
  if (out.length > 0 || verbs.includes('*') || verbs.every((verb) => VERBS.includes(verb))) return out;
  return [causes.notSupported(`${at}.verbs`, verbs, VERBS)];
}

const supply = (what: string) => `resource rules must supply at least one ${what}`;

function validateResourceRule(rule: JsonObject, at: string): StatusCause[] {
  const out = [
    ...verbFaults(rule, at),
    ...wildcardFaults(rule, 'apiGroups', at, supply('api group'), 'api groups'),
    ...wildcardFaults(rule, 'resources', at, supply('resource'), 'resources'),
  ];
  const namespaces = texts(rule, 'namespaces');
  const why = 'resource rules that are not cluster scoped must supply at least one namespace';
  if (namespaces.length === 0) {
    return rule.clusterScope === true ? out : [...out, causes.required(`${at}.namespaces`, why)];
  }
  if (namespaces.includes('*')) return [...out, ...wildcardFaults(rule, 'namespaces', at, why, 'namespaces')];
  const intro = "each member of this list must be '*' or a DNS-1123 label; ";
  const faults = namespaces.flatMap((namespace, i) =>
    each(
      `${at}.namespaces[${i}]`,
      namespace,
      dnsLabelErrors(namespace).map((fault) => intro + fault),
    ),
  );
  return [...out, ...faults];
}

function urlFault(url: string): string | undefined {
  if (url === '') return 'must not be empty';
  if (url === '/') return undefined;
  if (!url.startsWith('/')) return 'must start with slash';
  if (url.includes(' ')) return 'must not contain white-space';
  if (url.includes('//')) return 'must not contain double slash';
  const star = url.indexOf('*');
  return star >= 0 && (star < url.length - 1 || !url.endsWith('/*'))
    ? 'wildcard can only do suffix matching'
    : undefined;
}

function validateUrlRule(rule: JsonObject, at: string): StatusCause[] {
  const missing = 'nonResourceURLs must contain at least one value';
  const out = [...verbFaults(rule, at), ...wildcardFaults(rule, 'nonResourceURLs', at, missing, 'non-resource URLs')];
  const urls = texts(rule, 'nonResourceURLs');
  if (urls.includes('*')) return out;
  for (const [i, url] of urls.entries()) {
    const fault = urlFault(url);
    if (fault !== undefined) out.push(causes.invalid(`${at}.nonResourceURLs[${i}]`, url, fault));
  }
  return out;
}

function validateRule(rule: JsonObject, at: string): StatusCause[] {
  const [subjects, resources, urls] = ['subjects', 'resourceRules', 'nonResourceRules'].map((key) => parts(rule, key));
  const out = subjects!.flatMap((subject, i) => validateSubject(subject, `${at}.subjects[${i}]`));
  if (out.length === 0 && subjects!.length === 0) {
    out.push(causes.required(`${at}.subjects`, 'subjects must contain at least one value'));
  }
  if (resources!.length === 0 && urls!.length === 0) {
    out.push(causes.required(at, 'at least one of resourceRules and nonResourceRules has to be non-empty'));
  }
  return [
    ...out,
    ...resources!.flatMap((resource, i) => validateResourceRule(resource, `${at}.resourceRules[${i}]`)),
    ...urls!.flatMap((url, i) => validateUrlRule(url, `${at}.nonResourceRules[${i}]`)),
  ];
}

function precedenceFaults(precedence: number, name: string): StatusCause[] {
  const faults: string[] = [];
  if (precedence <= 0) faults.push('must be a positive value');
  if (precedence > MAX_PRECEDENCE) faults.push(`must not be greater than ${MAX_PRECEDENCE}`);
  if (precedence === 1 && name !== EXEMPT) faults.push("only the schema named 'exempt' may have matchingPrecedence 1");
  return each('spec.matchingPrecedence', precedence, faults);
}

function conditionFaults(object: KubeObject): StatusCause[] {
  const types = parts(part(object, 'status'), 'conditions').map(({ type }) => text(type));
  const at = (i: number) => `status.conditions[${i}].type`;
  const missing = types.flatMap((type, i) => (type === '' ? [causes.required(at(i))] : []));
  return [...duplicates(types, at), ...missing];
}

function validateFlowSchema(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const name = object.metadata.name ?? '';
  const out = precedenceFaults(integer(spec.matchingPrecedence), name);
  if (has(spec, 'distinguisherMethod')) {
    const type = text(part(spec, 'distinguisherMethod').type);
    const known = ['ByNamespace', 'ByUser'];
    if (!known.includes(type)) out.push(causes.notSupported('spec.distinguisherMethod.type', { Type: type }, known));
  }
  const level = text(part(spec, 'priorityLevelConfiguration').name);
  const at = 'spec.priorityLevelConfiguration.name';
  if (level === '') out.push(causes.required(at, 'must reference a priority level'));
  else out.push(...each(at, level, dnsSubdomainErrors(level)));
  out.push(...parts(spec, 'rules').flatMap((rule, i) => validateRule(rule, `spec.rules[${i}]`)));
  const fixed = mandatorySchemas.get(name);
  if (fixed !== undefined && !deepEqual(shown(spec, schemaShape), shown(fixed, schemaShape))) {
    const why = `spec of '${name}' must equal the fixed value`;
    out.push(causes.invalid('spec', shown(spec, schemaShape), why));
  }
  return [...out, ...conditionFaults(object)];
}

function shareFaults(level: JsonObject, at: string): StatusCause[] {
  const { nominalConcurrencyShares: shares } = level;
  if (typeof shares !== 'number' || shares >= 0) return [];
  return [causes.invalid(`${at}.nominalConcurrencyShares`, shares, 'must be a non-negative integer')];
}

function lendFaults(level: JsonObject, at: string): StatusCause[] {
  const { lendablePercent: percent } = level;
  if (typeof percent !== 'number' || (percent >= 0 && percent <= 100)) return [];
  return [causes.invalid(`${at}.lendablePercent`, percent, 'must be between 0 and 100, inclusive')];
}

/** Bits that dealing a hand of so many cards from a deck takes. */
const entropyBits = (deck: number, hand: number) => Math.ceil(Math.log2(deck) * hand);

function validateQueuing(queuing: JsonObject, at: string): StatusCause[] {
  const [limit, queues, hand] = ['queueLengthLimit', 'queues', 'handSize'].map((key) => integer(queuing[key]));
  const faults: [string, number, string][] = [];
  if (limit! <= 0) faults.push(['queueLengthLimit', limit!, 'must be positive']);
  if (queues! <= 0) faults.push(['queues', queues!, 'must be positive']);
  else if (queues! > MAX_QUEUES) faults.push(['queues', queues!, `must not be greater than ${MAX_QUEUES}`]);
  if (hand! <= 0) faults.push(['handSize', hand!, 'must be positive']);
  else if (hand! > queues!) faults.push(['handSize', hand!, `should not be greater than queues (${queues})`]);
  else if (entropyBits(queues!, hand!) > MAX_HASH_BITS) {
    const why = `required entropy bits of deckSize ${queues} and handSize ${hand} should not be greater than ${MAX_HASH_BITS}`;
    faults.push(['handSize', hand!, why]);
  }
  return faults.map(([key, value, why]) => causes.invalid(`${at}.${key}`, value, why));
}

function validateResponse(response: JsonObject, at: string): StatusCause[] {
  const type = text(response.type);
  const queuing = `${at}.queuing`;
  if (type === '') return [causes.required(`${at}.type`)];
  if (type === 'Reject') {
    if (!has(response, 'queuing')) return [];
    return [causes.forbidden(queuing, 'must be nil if limited.limitResponse.type is not Limited')];
  }
  if (type !== 'Queue') return oneOf(type, `${at}.type`, ['Queue', 'Reject']);
  if (has(response, 'queuing')) return validateQueuing(part(response, 'queuing'), queuing);
  return [causes.required(queuing, 'must not be empty if limited.limitResponse.type is Limited')];
}

function validateLimited(limited: JsonObject, at: string): StatusCause[] {
  const { borrowingLimitPercent: borrow } = limited;
  const out = [
    ...shareFaults(limited, at),
    ...validateResponse(part(limited, 'limitResponse'), `${at}.limitResponse`),
    ...lendFaults(limited, at),
  ];
  if (typeof borrow !== 'number' || borrow >= 0) return out;
  return [
    ...out,
    causes.invalid(`${at}.borrowingLimitPercent`, borrow, 'if specified, must be a non-negative integer'),
  ];
}

function levelTypeFaults(spec: JsonObject): StatusCause[] {
  const type = text(spec.type);
  if (type === 'Exempt') {
    const out = has(spec, 'limited')
      ? [causes.forbidden('spec.limited', 'must be nil if the type is not Limited')]
      : [];
    const exempt = part(spec, 'exempt');
    return [...out, ...shareFaults(exempt, 'spec.exempt'), ...lendFaults(exempt, 'spec.exempt')];
  }
  if (type === '') return [causes.required('spec.type')];
  if (type !== 'Limited') return oneOf(type, 'spec.type', ['Exempt', 'Limited']);
  const out = has(spec, 'exempt') ? [causes.forbidden('spec.exempt', 'must be nil if the type is Limited')] : [];
  if (has(spec, 'limited')) return [...out, ...validateLimited(part(spec, 'limited'), 'spec.limited')];
  return [...out, causes.required('spec.limited', 'must not be empty when type is Limited')];
}

function mandatoryFaults(spec: JsonObject, name: string): StatusCause[] {
  const fixed = mandatoryLevels.get(name);
  if (fixed === undefined) return [];
  const exempt: JsonValue = name === EXEMPT ? (fixed.exempt ?? null) : (spec.exempt ?? null);
  if (deepEqual(shown({ ...spec, exempt }, priorityLevelShape), shown(fixed, priorityLevelShape))) return [];
  const except = name === EXEMPT ? " except the 'spec.exempt' field" : '';
  const why = `spec of '${name}'${except} must equal the fixed value`;
  return [causes.invalid('spec', shown(spec, priorityLevelShape), why)];
}

function validatePriorityLevel(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const name = object.metadata.name ?? '';
  const out: StatusCause[] = [];
  if ((name === EXEMPT) !== (spec.type === 'Exempt')) {
    out.push(causes.invalid('spec.type', text(spec.type), "must be 'Exempt' if and only if `name` is 'exempt'"));
  }
  return [...out, ...levelTypeFaults(spec), ...mandatoryFaults(spec, name), ...conditionFaults(object)];
}

/** Flow schemas and priority levels. */
export const flowControlValidators: readonly [string, Validator][] = [
  ['flowcontrol.apiserver.k8s.io/flowschemas', { create: validateFlowSchema }],
  ['flowcontrol.apiserver.k8s.io/flowschemas/status', { update: conditionFaults }],
  ['flowcontrol.apiserver.k8s.io/prioritylevelconfigurations', { create: validatePriorityLevel }],
  ['flowcontrol.apiserver.k8s.io/prioritylevelconfigurations/status', { update: conditionFaults }],
];
