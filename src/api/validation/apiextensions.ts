import { defaultFaults } from '../../extensions/default-rules.ts';
import { ruleFaults } from '../../extensions/rule-faults.ts';
import { schemaFaults } from '../../extensions/schema-rules.ts';
import { isUnreadable, type RawSchema, schemaAt, structuralFaults } from '../../extensions/structural-rules.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import { at } from '../fields.ts';
import { deepEqual, isObject, type JsonObject, type JsonValue, type KubeObject } from '../object.ts';
import { bundleFault } from './ca-bundle.ts';
import { oneOf, part, parts, text, unchanged } from './checks.ts';
import { columnFaults, conversionFaults, nameFaults, selectableFaults, subresourceFaults } from './definition-parts.ts';
import type { Validator } from './index.ts';
import { dns1035LabelErrors, dnsSubdomainErrors } from './names.ts';

const APPROVED = 'api-approved.kubernetes.io';
const APPROVAL_URL = 'https://github.com/kubernetes/enhancements/pull/1111';

/** Parts of a version that upstream keeps once for all versions where they are the same in each. */
type Shared = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';

const isSet = (value: JsonValue | undefined) => value !== undefined && !(Array.isArray(value) && value.length === 0);

function isShared(versions: readonly JsonObject[], key: Shared): boolean {
  const [first] = versions;
  return first !== undefined && versions.every((v) => isSet(v[key]) && deepEqual(v[key], first[key]));
}

const hasStatus = (subresources: JsonValue | undefined) => isObject(subresources) && isObject(subresources.status);

/** Words that a root schema may have beside a status subresource, by the names that upstream tells. */
const ROOT_WORDS: ReadonlyMap<string, string> = new Map(
  (
    'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern ' +
    'MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example'
  )
    .split(' ')
    .map((name): [string, string] => [name.charAt(0).toLowerCase() + name.slice(1), name])
    .concat([
      ['x-kubernetes-preserve-unknown-fields', 'XPreserveUnknownFields'],
      ['x-kubernetes-validations', 'XValidations'],
    ]),
);

function rootFaults(schema: RawSchema, at: string): StatusCause[] {
  const foreign = Object.keys(schema).find((key) => schema[key] !== undefined && !ROOT_WORDS.has(key));
  if (schema.type !== undefined && schema.type !== 'object') {
    const why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [causes.invalid(`${at}.type`, schema.type, why)];
  }
  if (foreign === undefined || foreign === 'nullable') return [];
  const names = [...ROOT_WORDS.values()].join(' ');
  const why = `only [${names}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [causes.invalid(at, schema, why)];
}

/** Causes in the schema of one version, or of all; `at` is its path without `openAPIV3Schema`. */
function validationFaults(validation: JsonValue | undefined, withStatus: boolean, at: string): StatusCause[] {
  const schema = isObject(validation) ? schemaAt(validation.openAPIV3Schema) : undefined;
  if (schema === undefined) return [];
  const path = `${at}.openAPIV3Schema`;
  const out = withStatus ? rootFaults(schema, path) : [];
  if (schema.nullable === true) out.push(causes.forbidden(`${path}.nullable`, 'nullable cannot be true at the root'));
  let isSound = false;
  if (!isUnreadable(schema)) {
    const structural = structuralFaults(schema, path);
    const shape = structural.length > 0 ? structural : defaultFaults(schema, path);
    out.push(...shape);
    isSound = shape.length === 0;
  }
  const own = schemaFaults(schema, path);
  return [...out, ...own, ...ruleFaults(schema, path, isSound && own.length === 0)];
}

function versionFaults(
  version: JsonObject,
  shared: ReadonlySet<Shared>,
  withStatus: boolean,
  at: string,
): StatusCause[] {
  const out: StatusCause[] = [];
  const warning = version.deprecationWarning;
  if (typeof warning === 'string') {
    for (const why of deprecationFaults(version.deprecated === true, warning)) {
      out.push(causes.invalid(`${at}.deprecationWarning`, warning, why));
    }
  }
  if (!shared.has('schema')) out.push(...validationFaults(version.schema, withStatus, `${at}.schema`));
  if (!shared.has('subresources')) out.push(...subresourceFaults(part(version, 'subresources'), `${at}.subresources`));
  if (!shared.has('additionalPrinterColumns')) {
    out.push(...columnFaults(version, `${at}.additionalPrinterColumns`));
  }
  if (!shared.has('selectableFields')) {
    const schema = schemaAt(part(version, 'schema').openAPIV3Schema);
    out.push(...selectableFaults(version, schema, `${at}.selectableFields`));
  }
  return out;
}

function deprecationFaults(deprecated: boolean, warning: string): string[] {
  if (!deprecated) return ['can only be set for deprecated versions'];
  const out: string[] = [];
  if (new TextEncoder().encode(warning).length > 256) out.push('must be <= 256 characters long');
  if (warning === '') out.push('must not be an empty string');
  const bad = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.exec(warning);
  if (bad !== null) {
    const index = new TextEncoder().encode(warning.slice(0, bad.index)).length;
    out.push(`must only contain printable UTF-8 characters; non-printable character found at index ${index}`);
  }
  return out;
}

function groupFaults(group: string): StatusCause[] {
  if (group === '') return [causes.required('spec.group')];
  const errors = dnsSubdomainErrors(group);
  if (errors.length > 0) return [causes.invalid('spec.group', group, errors.join(','))];
  if (group.includes('.')) return [];
  return [causes.invalid('spec.group', group, 'should be a domain with at least one dot')];
}

const enumFaults = (value: JsonValue | undefined, at: string, known: readonly string[]) =>
  text(value) === '' ? [causes.required(at)] : oneOf(value, at, known, false);

function versionsFaults(spec: JsonObject, versions: JsonObject[], shared: ReadonlySet<Shared>): StatusCause[] {
  const out: StatusCause[] = [];
  const names = versions.map((v) => text(v.name));
  for (const [i, version] of versions.entries()) {
    const at = `spec.versions[${i}]`;
    const errors = dns1035LabelErrors(names[i]!);
    if (errors.length > 0) out.push(causes.invalid(`${at}.name`, names[i], errors.join(',')));
    out.push(...versionFaults(version, shared, hasStatus(version.subresources), at));
  }
  const all = spec.versions ?? [];
  if (new Set(names).size < names.length) {
    out.push(causes.invalid('spec.versions', all, 'must contain unique version names'));
  }
  if (versions.filter((v) => v.storage === true).length !== 1) {
    out.push(causes.invalid('spec.versions', all, 'must have exactly one version marked as storage version'));
  }
  const [first = ''] = names;
  const errors = first === '' ? [] : dns1035LabelErrors(first);
  if (errors.length > 0) out.push(causes.invalid('spec.version', first, errors.join(',')));
  return out;
}

/** Parts that are the same in all versions: upstream tells of their faults once, at the top of the spec. */
function sharedFaults(versions: readonly JsonObject[], shared: ReadonlySet<Shared>): StatusCause[] {
  const [first] = versions;
  if (first === undefined) return [];
  const out: StatusCause[] = [];
  if (shared.has('schema')) {
    const withStatus = versions.some((v) => hasStatus(v.subresources));
    out.push(...validationFaults(first.schema, withStatus, 'spec.validation'));
  }
  if (shared.has('subresources')) out.push(...subresourceFaults(part(first, 'subresources'), 'spec.subresources'));
  if (shared.has('additionalPrinterColumns')) out.push(...columnFaults(first, 'spec.additionalPrinterColumns'));
  if (shared.has('selectableFields')) {
    const schema = schemaAt(part(first, 'schema').openAPIV3Schema);
    out.push(...selectableFaults(first, schema, 'spec.selectableFields'));
  }
  return out;
}

function schemaPresence(versions: readonly JsonObject[]): StatusCause[] {
  return versions.flatMap((version, i) =>
    isObject(part(version, 'schema').openAPIV3Schema)
      ? []
      : [causes.required(`spec.versions[${i}].schema.openAPIV3Schema`)],
  );
}

const SHARED: readonly Shared[] = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'];
const NAMES = ['plural', 'singular', 'kind', 'listKind'];

/** `old`: the spec before an update; versions that had no schema then may go on without. */
function specFaults(spec: JsonObject, old?: JsonObject): StatusCause[] {
  const versions = parts(spec, 'versions');
  const shared = new Set(SHARED.filter((key) => isShared(versions, key)));
  const names = part(spec, 'names');
  const hadSchemas = old === undefined || schemaPresence(parts(old, 'versions')).length === 0;
  return [
    ...groupFaults(text(spec.group)),
    ...enumFaults(spec.scope, 'spec.scope', ['Cluster', 'Namespaced']),
    ...(hadSchemas ? schemaPresence(versions) : []),
    ...versionsFaults(spec, versions, shared),
    ...NAMES.filter((key) => text(names[key]) === '').map((key) => causes.required(`spec.names.${key}`)),
    ...nameFaults(names, 'spec.names'),
    ...sharedFaults(versions, shared),
    ...conversionFaults(spec),
  ];
}

function storedFaults(status: JsonObject, versions: readonly JsonObject[]): StatusCause[] {
  const at = 'status.storedVersions';
  const stored = (Array.isArray(status.storedVersions) ? status.storedVersions : []).map(text);
  if (stored.length === 0) return [causes.invalid(at, null, 'must have at least one stored version')];
  const names = versions.map((v) => text(v.name));
  const missing = versions.filter((v) => v.storage === true && !stored.includes(text(v.name)));
  const out = missing.map((v) => causes.invalid(at, stored, `must have the storage version ${text(v.name)}`));
  for (const [i, name] of stored.entries()) {
    if (names.includes(name)) continue;
    const why =
      `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a ` +
      `storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    out.push(causes.invalid(`${at}[${i}]`, name, why));
  }
  return out;
}

type Approval = 'missing' | 'invalid' | 'given';

function approvalOf(definition: KubeObject): Approval {
  const annotation = definition.metadata.annotations?.[APPROVED] ?? '';
  if (annotation === '') return 'missing';
  return annotation.startsWith('unapproved') || URL.canParse(annotation) ? 'given' : 'invalid';
}

/** Groups of the Kubernetes project need an annotation that says where they were approved. */
function approvalFaults(definition: KubeObject, old?: KubeObject): StatusCause[] {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(text(part(definition, 'spec').group))) return [];
  const approval = approvalOf(definition);
  if (approval === 'given' || (old !== undefined && approvalOf(old) === approval)) return [];
  const at = `metadata.annotations[${APPROVED}]`;
  const must = `protected groups must have approval annotation "${APPROVED}"`;
  if (approval === 'missing') return [causes.required(at, `${must}, see ${APPROVAL_URL}`)];
  const value = definition.metadata.annotations?.[APPROVED];
  const why = `${must} with either a URL or a reason starting with "unapproved", see ${APPROVAL_URL}`;
  return [causes.invalid(at, value, why)];
}

function preserveFaults(definition: KubeObject, old?: KubeObject): StatusCause[] {
  const preserves = (d: KubeObject | undefined) => d !== undefined && part(d, 'spec').preserveUnknownFields === true;
  if (!preserves(definition) || preserves(old)) return [];
  const why = 'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
  return [causes.invalid('spec.preserveUnknownFields', true, why)];
}

function statusFaults(definition: KubeObject): StatusCause[] {
  return nameFaults(part(part(definition, 'status'), 'acceptedNames'), 'status.acceptedNames');
}

const common = (definition: KubeObject, old?: KubeObject): StatusCause[] => [
  ...statusFaults(definition),
  ...storedFaults(part(definition, 'status'), parts(part(definition, 'spec'), 'versions')),
  ...approvalFaults(definition, old),
  ...preserveFaults(definition, old),
];

function validateNew(definition: KubeObject): StatusCause[] {
  const spec = part(definition, 'spec');
  const { name = '' } = definition.metadata;
  const wanted = `${text(part(spec, 'names').plural)}.${text(spec.group)}`;
  const misnamed = name === '' || name === wanted ? [] : ['must be spec.names.plural+"."+spec.group'];
  return [
    ...misnamed.map((why) => causes.invalid('metadata.name', name, why)),
    ...specFaults(spec),
    ...common(definition),
  ];
}

const isEstablished = (definition: KubeObject) =>
  parts(part(definition, 'status'), 'conditions').some((c) => c.type === 'Established' && c.status === 'True');

/** A definition in force takes no broken certificates for its conversion, unless it has such. */
function bundleFaults(definition: KubeObject, old: KubeObject): StatusCause[] {
  const bundleOf = (one: KubeObject) => at(one, 'spec', 'conversion', 'webhook', 'clientConfig', 'caBundle');
  if (!isEstablished(old) || bundleFault(bundleOf(old)) !== undefined) return [];
  const fault = bundleFault(bundleOf(definition));
  const path = 'spec.conversion.webhookClientConfig.caBundle';
  return fault === undefined ? [] : [causes.invalid(path, bundleOf(definition), fault)];
}

function validateChanged(definition: KubeObject, old: KubeObject): StatusCause[] {
  const spec = part(definition, 'spec');
  const before = part(old, 'spec');
  const names = part(spec, 'names');
  const oldNames = part(before, 'names');
  const established = isEstablished(old)
    ? [...unchanged(spec.scope, before.scope, 'spec.scope'), ...unchanged(names.kind, oldNames.kind, 'spec.names.kind')]
    : [];
  return [
    ...specFaults(spec, before),
    ...bundleFaults(definition, old),
    ...established,
    ...unchanged(spec.group, before.group, 'spec.group'),
    ...unchanged(names.plural, oldNames.plural, 'spec.names.plural'),
    ...common(definition, old),
  ];
}

/** Validators of custom resource definitions. */
export const definitionValidators: ReadonlyMap<string, Validator> = new Map<string, Validator>([
  ['apiextensions.k8s.io/customresourcedefinitions', { create: validateNew, update: validateChanged }],
  ['apiextensions.k8s.io/customresourcedefinitions/status', { update: statusFaults }],
]);
