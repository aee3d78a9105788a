import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, type JsonObject, type JsonValue, type KubeObject } from '../object.ts';
import { each, has, integer, part, parts, text, unchanged } from './checks.ts';
import { capacityFaults } from './device-capacity.ts';
import {
  attributeNameFaults,
  bindingConditionFaults,
  deviceTaintFaults,
  dnsLabelFaults,
  listFaults,
  mapFaults,
  poolNameFaults,
} from './device-checks.ts';
import type { Validator } from './index.ts';
import { dnsSubdomainErrors } from './names.ts';
import { nodeSelectorFaults } from './node-selector.ts';
import { driverNameFaults } from './volumes.ts';

/** ResourceSlices: the devices that a driver offers (pkg/apis/resource/validation). */

const MAX_DEVICES = 128;
/** Devices of a slice some of which have taints or consume counters. */
const MAX_SPECIAL_DEVICES = 64;
const MAX_ATTRIBUTES = 32;
const MAX_KEY = 96;
const MAX_VALUE = 64;
const MAX_TAINTS = 16;
const MAX_COUNTER_SETS = 8;
const MAX_COUNTERS = 32;
const MAX_CONSUMPTIONS = 2;
const MAX_LABEL = 63;
const IDENTIFIER = '(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)';
const NUMBER = '(0|[1-9]\\d*)';
const BUILD = '[0-9a-zA-Z-]+';
const versionPattern = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(-${IDENTIFIER}(\\.${IDENTIFIER})*)?(\\+${BUILD}(\\.${BUILD})*)?$`,
);
const KINDS = [
  ['bool', 'BoolValue'],
  ['int', 'IntValue'],
  ['string', 'StringValue'],
  ['version', 'VersionValue'],
] as const;

/** An attribute as upstream shows it: its internal type, with Go's field names. */
const shownAttribute = (attribute: JsonObject): JsonObject => ({
  IntValue: attribute.int ?? null,
  ...Object.fromEntries(
    KINDS.filter(([key]) => key !== 'int').map(([key, shown]): [string, JsonValue] => [shown, attribute[key] ?? null]),
  ),
  BoolValues: null,
  IntValues: null,
  StringValues: null,
  VersionValues: null,
});

function attributeFaults(value: JsonValue, at: string): StatusCause[] {
  const attribute = part({ value }, 'value');
  const out: StatusCause[] = [];
  if (text(attribute.string).length > MAX_VALUE) out.push(causes.tooLong(`${at}.string`, MAX_VALUE));
  if (has(attribute, 'version')) {
    const version = text(attribute.version);
    const why = 'must be a string compatible with semver.org spec 2.0.0';
    if (!versionPattern.test(version)) out.push(causes.invalid(`${at}.version`, version, why));
    if (version.length > MAX_VALUE) out.push(causes.tooLong(`${at}.version`, MAX_VALUE));
  }
  const given = KINDS.filter(([key]) => has(attribute, key)).length;
  if (given === 1) return out;
  return [
    ...out,
    causes.invalid(at, given === 0 ? '' : shownAttribute(attribute), 'exactly one value must be specified'),
  ];
}

const noFaults = (): StatusCause[] => [];

function countersFaults(owner: JsonObject, path: string): StatusCause[] {
  const at = `${path}.counters`;
  const counters = part(owner, 'counters');
  if (Object.keys(counters).length === 0) return [causes.required(at)];
  return mapFaults(counters, at, { key: dnsLabelFaults, value: noFaults, shown: MAX_LABEL, max: MAX_COUNTERS });
}

/** Causes in counters under a name, which stands at a key. */
const namedCounters =
  (key: 'counterSet' | 'name') =>
  (owner: JsonObject, at: string): StatusCause[] => {
    const name = text(owner[key]);
    return [
      ...(name === '' ? [causes.required(`${at}.${key}`)] : dnsLabelFaults(name, `${at}.${key}`)),
      ...countersFaults(owner, at),
    ];
  };

interface Choice {
  /** Fields that say on which nodes, in upstream's order. */
  chosen: string[];
  faults: StatusCause[];
}

/** Which nodes a slice or device is for. `empty`: what is said of an empty name. */
function choice(owner: JsonObject, path: string, flags: readonly string[], empty: string, single: boolean): Choice {
  const chosen: string[] = [];
  const faults: StatusCause[] = [];
  if (has(owner, 'nodeName')) {
    const name = text(owner.nodeName);
    const at = `${path}.nodeName`;
    if (name === '') faults.push(causes.invalid(at, name, empty));
    else {
      chosen.push('`nodeName`');
      faults.push(...each(at, name, dnsSubdomainErrors(name)));
    }
  }
  if (has(owner, 'nodeSelector')) {
    const selector = part(owner, 'nodeSelector');
    chosen.push('`nodeSelector`');
    faults.push(...nodeSelectorFaults(selector, `${path}.nodeSelector`));
    const terms = parts(selector, 'nodeSelectorTerms');
    if (single && terms.length !== 1) {
      const why = 'must have exactly one node selector term';
      faults.push(causes.invalid(`${path}.nodeSelector.nodeSelectorTerms`, selector.nodeSelectorTerms ?? null, why));
    }
  }
  for (const flag of flags) {
    if (!has(owner, flag)) continue;
    if (owner[flag] === true) chosen.push(`\`${flag}\``);
    else faults.push(causes.invalid(`${path}.${flag}`, false, 'must be either unset or set to true'));
  }
  return { chosen, faults };
}

function sliceNodeFaults(spec: JsonObject): StatusCause[] {
  const empty = 'must be either unset or set to a non-empty string';
  const { chosen, faults } = choice(spec, 'spec', ['allNodes', 'perDeviceNodeSelection'], empty, true);
  const why = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  if (chosen.length === 0) return [...faults, causes.required('spec', why)];
  if (chosen.length === 1) return faults;
  return [...faults, causes.invalid('spec', `{${chosen.join(', ')}}`, `${why}, but multiple fields are set`)];
}

function deviceNodeFaults(device: JsonObject, at: string, perDevice: boolean): StatusCause[] {
  if (!perDevice) {
    if (!['nodeName', 'nodeSelector', 'allNodes'].some((key) => has(device, key))) return [];
    const why =
      '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
    return [causes.invalid(at, null, why)];
  }
  const { chosen, faults } = choice(device, at, ['allNodes'], 'must not be empty', false);
  const why =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
  if (chosen.length === 0) return [...faults, causes.required(at, why)];
  return chosen.length === 1 ? faults : [...faults, causes.invalid(at, `{${chosen.join(', ')}}`, why)];
}

function deviceFaults(device: JsonObject, at: string, old: JsonObject | undefined, perDevice: boolean): StatusCause[] {
  const out = dnsLabelFaults(text(device.name), `${at}.name`);
  const [attributes, capacity] = [part(device, 'attributes'), part(device, 'capacity')];
  const count = Object.keys(attributes).length + Object.keys(capacity).length;
  if (count > MAX_ATTRIBUTES) {
    const why = `the total number of attributes and capacities must not exceed ${MAX_ATTRIBUTES}`;
    out.push(causes.invalid(at, count, why));
  }
  const multiple = device.allowMultipleAllocations === true;
  const kept = old !== undefined && deepEqual(old.taints ?? [], device.taints ?? []);
  return [
    ...out,
    ...mapFaults(attributes, `${at}.attributes`, { key: attributeNameFaults, value: attributeFaults, shown: MAX_KEY }),
    ...mapFaults(capacity, `${at}.capacity`, {
      key: attributeNameFaults,
      value: (value, here) => capacityFaults(part({ value }, 'value'), here, multiple),
      shown: MAX_KEY,
    }),
    ...(kept ? [] : listFaults(parts(device, 'taints'), `${at}.taints`, deviceTaintFaults, { max: MAX_TAINTS })),
    ...listFaults(parts(device, 'consumesCounters'), `${at}.consumesCounters`, namedCounters('counterSet'), {
      max: MAX_CONSUMPTIONS,
      key: ({ counterSet }) => text(counterSet),
    }),
    ...deviceNodeFaults(device, at, perDevice),
    ...bindingConditionFaults(device, at),
  ];
}

function poolFaults(spec: JsonObject): StatusCause[] {
  const pool = part(spec, 'pool');
  const out = poolNameFaults(text(pool.name), 'spec.pool.name');
  const [count, generation] = [integer(pool.resourceSliceCount), integer(pool.generation)];
  if (count <= 0) out.push(causes.invalid('spec.pool.resourceSliceCount', count, 'must be greater than zero'));
  if (generation < 0) {
    out.push(causes.invalid('spec.pool.generation', generation, 'must be greater than or equal to zero'));
  }
  return out;
}

const isSpecial = (device: JsonObject) => ['taints', 'consumesCounters'].some((key) => parts(device, key).length > 0);

function sliceFaults(object: KubeObject, old?: KubeObject): StatusCause[] {
  const [spec, before] = [part(object, 'spec'), part(old ?? {}, 'spec')];
  const [devices, devicesBefore] = [parts(spec, 'devices'), parts(before, 'devices')];
  const out = [...driverNameFaults(text(spec.driver), 'spec.driver'), ...poolFaults(spec)];
  if (old !== undefined) {
    out.push(
      ...unchanged(part(spec, 'pool').name, part(before, 'pool').name, 'spec.pool.name'),
      ...unchanged(spec.driver, before.driver, 'spec.driver'),
      ...unchanged(spec.nodeName, before.nodeName, 'spec.nodeName'),
    );
  }
  out.push(...sliceNodeFaults(spec));
  if (has(spec, 'sharedCounters') && has(spec, 'devices')) {
    out.push(causes.invalid('spec', '', 'only one of `sharedCounters` or `devices` is allowed'));
  }
  const perDevice = spec.perDeviceNodeSelection === true;
  const known = (device: JsonObject) => devicesBefore.find(({ name }) => name === device.name);
  const keyed = ({ name }: JsonObject) => text(name);
  return [
    ...out,
    ...listFaults(devices, 'spec.devices', (one, at) => deviceFaults(one, at, known(one), perDevice), {
      max: devices.some(isSpecial) ? MAX_SPECIAL_DEVICES : MAX_DEVICES,
      key: keyed,
    }),
    ...listFaults(parts(spec, 'sharedCounters'), 'spec.sharedCounters', namedCounters('name'), {
      max: MAX_COUNTER_SETS,
      key: keyed,
    }),
  ];
}

/** ResourceSlices. */
export const deviceSliceValidators: readonly [string, Validator][] = [
  ['resource.k8s.io/resourceslices', { create: sliceFaults, update: sliceFaults }],
];
