import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, type JsonObject, type JsonValue, type KubeObject } from '../object.ts';
import { compareQuantities } from '../quantity.ts';
import { duplicates, each, has, integer, nonNegative, oneOf, part, parts, text, texts, unchanged } from './checks.ts';
import type { Validator } from './index.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { qualifiedNameErrors } from './labels.ts';
import { dnsSubdomainErrors } from './names.ts';
import { driverNameFaults, inlineVolumeFaults } from './volumes.ts';

const MAX_PARAMETERS = 512;
const MAX_PARAMETER_BYTES = 262144;
const MAX_MESSAGE = 1024;
const MAX_NODE_ID = 256;
const MIN_TOKEN_SECONDS = 600;
const MAX_TOKEN_SECONDS = 2 ** 32;
const MAX_INT32 = 2147483647;
const utf8 = new TextEncoder();

const sizeOf = (map: JsonObject) =>
  Object.entries(map).reduce(
    (sum, [key, value]) => sum + utf8.encode(key).byteLength + utf8.encode(text(value)).byteLength,
    0,
  );

function provisionerFaults(name: string, at: string): StatusCause[] {
  if (name === '') return [causes.required(at)];
  return each(at, name.toLowerCase(), qualifiedNameErrors(name.toLowerCase()));
}

function parameterFaults(object: KubeObject, mayBeEmpty: boolean): StatusCause[] {
  const parameters = part(object, 'parameters');
  const keys = Object.keys(parameters);
  if (keys.length > MAX_PARAMETERS) return [causes.tooLong('parameters', MAX_PARAMETERS)];
  const out = keys.includes('') ? [causes.invalid('parameters', '', 'field can not be empty.')] : [];
  if (sizeOf(parameters) > MAX_PARAMETER_BYTES) out.push(causes.tooLong('parameters', MAX_PARAMETER_BYTES));
  if (keys.length > 0 || mayBeEmpty) return out;
  return [...out, causes.required('parameters', 'must contain at least one key/value pair')];
}

function termFaults(term: JsonObject, at: string): StatusCause[] {
  const seen = new Set<string>();
  return parts(term, 'matchLabelExpressions').flatMap((expression, i) => {
    const here = `${at}.matchLabelExpressions[${i}]`;
    const [key, values] = [text(expression.key), texts(expression, 'values')];
    const out = values.length === 0 ? [causes.required(`${here}.values`)] : [];
    out.push(...duplicates(values, (j) => `${here}.values[${j}]`));
    out.push(...each(`${here}.key`, key, qualifiedNameErrors(key)));
    if (seen.has(key)) out.push(causes.duplicate(`${here}.key`, key));
    seen.add(key);
    return out;
  });
}

/** A term without the order of its values, for comparison. */
const bagOf = (term: JsonObject): JsonObject =>
  Object.fromEntries(
    parts(term, 'matchLabelExpressions').map((one) => [text(one.key), [...new Set(texts(one, 'values'))].sort()]),
  );

function topologyFaults(object: KubeObject): StatusCause[] {
  const bags: JsonObject[] = [];
  return parts(object, 'allowedTopologies').flatMap((term, i) => {
    const at = `allowedTopologies[${i}]`;
    const bag = bagOf(term);
    const twins = bags.filter((other) => deepEqual(other, bag));
    bags.push(bag);
    return [...termFaults(term, at), ...twins.map(() => causes.duplicate(`${at}.matchLabelExpressions`, ''))];
  });
}

function validateClass(object: KubeObject): StatusCause[] {
  const out = [...provisionerFaults(text(object.provisioner), 'provisioner'), ...parameterFaults(object, true)];
  if (text(object.reclaimPolicy) !== '') {
    out.push(...oneOf(object.reclaimPolicy, 'reclaimPolicy', ['Delete', 'Retain']));
  }
  const modes = ['Immediate', 'WaitForFirstConsumer'];
  if (has(object, 'volumeBindingMode')) out.push(...oneOf(object.volumeBindingMode, 'volumeBindingMode', modes));
  else out.push(causes.required('volumeBindingMode'));
  return [...out, ...topologyFaults(object)];
}

/** Fields of a class that decide how its volumes are made. */
const FIXED = ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'];

function attachmentSourceFaults(source: JsonObject): StatusCause[] {
  const at = 'spec.source';
  const why = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  const [inline, named] = [has(source, 'inlineVolumeSpec'), has(source, 'persistentVolumeName')];
  if (!inline && !named) return [causes.required(at, why)];
  if (inline && named) return [causes.forbidden(at, why)];
  if (inline) return inlineVolumeFaults(part(source, 'inlineVolumeSpec'), `${at}.inlineVolumeSpec`);
  if (text(source.persistentVolumeName) !== '') return [];
  return [causes.required(`${at}.persistentVolumeName`, 'must specify non empty persistentVolumeName')];
}

function errorFaults(status: JsonObject, key: string): StatusCause[] {
  const error = part(status, key);
  const code = error.errorCode;
  const out: StatusCause[] = [];
  if (text(error.message).length > MAX_MESSAGE) out.push(causes.tooLong(`status.${key}.message`, MAX_PARAMETER_BYTES));
  if (typeof code !== 'number' || code >= 0) return out;
  return [...out, causes.invalid(`status.${key}.errorCode`, code, `must be between 0 and ${MAX_INT32}, inclusive`)];
}

function attachmentStatusFaults(object: KubeObject): StatusCause[] {
  const status = part(object, 'status');
  const tooBig = sizeOf(part(status, 'attachmentMetadata')) > MAX_PARAMETER_BYTES;
  return [
    ...(tooBig ? [causes.tooLong('status.attachmentMetadata', MAX_PARAMETER_BYTES)] : []),
    ...errorFaults(status, 'attachError'),
    ...errorFaults(status, 'detachError'),
  ];
}

function validateAttachment(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const source = part(spec, 'source');
  const [node, volume] = [text(spec.nodeName), source.persistentVolumeName];
  const out = [
    ...driverNameFaults(text(spec.attacher), 'spec.attacher'),
    ...attachmentSourceFaults(source),
    ...each('spec.nodeName', node, dnsSubdomainErrors(node)),
    ...attachmentStatusFaults(object),
  ];
  if (typeof volume !== 'string') return out;
  return [...out, ...each('spec.source.persistentVolumeName', volume, dnsSubdomainErrors(volume))];
}

function driverFaults(driver: JsonObject, at: string): StatusCause[] {
  const id = text(driver.nodeID);
  const out = driverNameFaults(text(driver.name), `${at}.name`);
  if (id === '') out.push(causes.required(`${at}.nodeID`));
  if (id.length > MAX_NODE_ID) {
    out.push(causes.invalid(`${at}.nodeID`, id, `must be ${MAX_NODE_ID} characters or less`));
  }
  out.push(...nonNegative(part(driver, 'allocatable'), `${at}.allocatable`, ['count']));
  const keys = texts(driver, 'topologyKeys');
  return [
    ...out,
    ...keys.flatMap((key, i) => [
      ...(key === '' ? [causes.required(at)] : []),
      ...(keys.indexOf(key) < i ? [causes.duplicate(at, key)] : []),
      ...each(at, key, qualifiedNameErrors(key)),
    ]),
  ];
}

function validateNode(object: KubeObject): StatusCause[] {
  const drivers = parts(part(object, 'spec'), 'drivers');
  const at = (i: number) => `spec.drivers[${i}]`;
  const names = drivers.map(({ name }) => text(name));
  return [...drivers.flatMap((driver, i) => driverFaults(driver, at(i))), ...duplicates(names, (i) => `${at(i)}.name`)];
}

function validateNodeChange(object: KubeObject, old: KubeObject): StatusCause[] {
  const out = validateNode(object);
  const known = new Map(parts(part(old, 'spec'), 'drivers').map((driver) => [text(driver.name), driver]));
  for (const driver of parts(part(object, 'spec'), 'drivers')) {
    const before = known.get(text(driver.name));
    if (before === undefined) continue;
    const fixed = ({ allocatable: _, ...rest }: JsonObject): JsonObject => rest;
    out.push(...unchanged(fixed(driver), fixed(before), 'spec.drivers'));
  }
  return out;
}

function tokenFaults(spec: JsonObject): StatusCause[] {
  const seen = new Set<string>();
  return parts(spec, 'tokenRequests').flatMap((request, i) => {
    const at = `spec.tokenRequests[${i}]`;
    const audience = text(request.audience);
    if (seen.has(audience)) return [causes.duplicate(`${at}.audience`, audience)];
    seen.add(audience);
    const { expirationSeconds: seconds } = request;
    if (typeof seconds !== 'number') return [];
    const here = `${at}.expirationSeconds`;
    if (seconds < MIN_TOKEN_SECONDS) {
      return [causes.invalid(here, seconds, 'may not specify a duration less than 10 minutes')];
    }
    if (seconds <= MAX_TOKEN_SECONDS) return [];
    return [causes.invalid(here, seconds, 'may not specify a duration larger than 2^32 seconds')];
  });
}

const LIFECYCLES = ['Persistent', 'Ephemeral'];
const POLICIES = ['File', 'None', 'ReadWriteOnceWithFSType'];

function validateDriver(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const required = [
    ['attachRequired', 'attachedRequired'],
    ['podInfoOnMount', 'podInfoOnMount'],
    ['storageCapacity', 'storageCapacity'],
  ] as const;
  const out = required.filter(([key]) => !has(spec, key)).map(([, shown]) => causes.required(`spec.${shown}`));
  if (has(spec, 'fsGroupPolicy')) out.push(...oneOf(spec.fsGroupPolicy, 'spec.fsGroupPolicy', POLICIES));
  out.push(...tokenFaults(spec));
  out.push(
    ...texts(spec, 'volumeLifecycleModes').flatMap((mode) =>
      oneOf(mode, 'spec.volumeLifecycleModes', LIFECYCLES, false),
    ),
  );
  if (!has(spec, 'seLinuxMount')) out.push(causes.required('spec.seLinuxMount'));
  const { nodeAllocatableUpdatePeriodSeconds: period, serviceAccountTokenInSecrets: inSecrets } = spec;
  if (typeof period === 'number' && period < 10) {
    const why = 'must be greater than or equal to 10 seconds';
    out.push(causes.invalid('spec.nodeAllocatableUpdatePeriodSeconds', integer(period), why));
  }
  if (typeof inSecrets !== 'boolean' || parts(spec, 'tokenRequests').length > 0) return out;
  const why = 'serviceAccountTokenInSecrets is set but no tokenRequests are specified';
  return [...out, causes.invalid('spec.serviceAccountTokenInSecrets', inSecrets, why)];
}

function validateCapacity(object: KubeObject): StatusCause[] {
  const name = text(object.storageClassName);
  const out = [
    ...labelSelectorFaults(object.nodeTopology, 'nodeTopology'),
    ...each('storageClassName', name, dnsSubdomainErrors(name)),
  ];
  const { capacity } = object;
  if (typeof capacity !== 'string' || compareQuantities(capacity, '0') >= 0) return out;
  return [...out, causes.invalid('capacity', capacity, 'must be greater than or equal to 0')];
}

function validateAttributes(object: KubeObject): StatusCause[] {
  return [...provisionerFaults(text(object.driverName), 'driverName'), ...parameterFaults(object, false)];
}

const fixedAttributes = (object: KubeObject, old: KubeObject) =>
  ['driverName', 'parameters']
    .filter((key) => !deepEqual(object[key] ?? null, old[key] ?? null))
    .map((key) => causes.forbidden(key, `updates to ${key} are forbidden.`));

const specOf = (object: KubeObject, key: string): JsonValue | undefined => part(object, 'spec')[key];

/** Storage classes, attachments, and what CSI drivers say of themselves. */
export const storageValidators: readonly [string, Validator][] = [
  [
    'storage.k8s.io/storageclasses',
    {
      create: validateClass,
      update: (object, old) => [
        ...validateClass(object),
        ...FIXED.flatMap((key) => unchanged(object[key], old[key], key)),
      ],
    },
  ],
  [
    'storage.k8s.io/volumeattachments',
    {
      create: validateAttachment,
      update: (object, old) => [...validateAttachment(object), ...unchanged(object.spec, old.spec, 'spec')],
    },
  ],
  ['storage.k8s.io/volumeattachments/status', { update: attachmentStatusFaults }],
  ['storage.k8s.io/csinodes', { create: validateNode, update: validateNodeChange }],
  [
    'storage.k8s.io/csidrivers',
    {
      create: validateDriver,
      update: (object, old) => [
        ...validateDriver(object),
        ...unchanged(specOf(object, 'attachRequired'), specOf(old, 'attachRequired'), 'spec.attachedRequired'),
        ...unchanged(
          specOf(object, 'volumeLifecycleModes'),
          specOf(old, 'volumeLifecycleModes'),
          'spec.volumeLifecycleModes',
        ),
      ],
    },
  ],
  [
    'storage.k8s.io/csistoragecapacities',
    {
      create: validateCapacity,
      update: (object, old) => [
        ...validateCapacity(object),
        ...['nodeTopology', 'storageClassName'].flatMap((key) => unchanged(object[key], old[key], key)),
      ],
    },
  ],
  [
    'storage.k8s.io/volumeattributesclasses',
    {
      create: validateAttributes,
      update: (object, old) => [...fixedAttributes(object, old), ...validateAttributes(object)],
    },
  ],
];
