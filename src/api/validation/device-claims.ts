import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject, KubeObject } from '../object.ts';
import { deepEqual } from '../object.ts';
import { each, has, integer, oneOf, part, parts, text, texts } from './checks.ts';
import {
  attributeNameFaults,
  deviceTolerationFaults,
  dnsLabelFaults,
  listFaults,
  rawObjectFaults,
  selectorFaults,
} from './device-checks.ts';
import type { Validator } from './index.ts';
import { validateAnnotations, validateLabels } from './metadata.ts';
import { dnsSubdomainErrors } from './names.ts';
import { isExtendedResource } from './resource-names.ts';
import { driverNameFaults } from './volumes.ts';

/** Claims of devices, their templates, and classes of devices (pkg/apis/resource/validation). */

const MAX_ITEMS = 32;
const MAX_ALTERNATIVES = 8;
const MAX_PARAMETERS = 10 * 1024;
const MODES = ['All', 'ExactCount'];
const NO_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

function allocationFaults(request: JsonObject, at: string): StatusCause[] {
  const [mode, count] = [text(request.allocationMode), integer(request.count)];
  switch (mode) {
    case 'All':
      if (count === 0) return [];
      return [causes.invalid(`${at}.count`, count, "must not be specified when allocationMode is 'All'")];
    case 'ExactCount':
      return count > 0 ? [] : [causes.invalid(`${at}.count`, count, 'must be greater than zero')];
    default:
      return oneOf(mode, `${at}.allocationMode`, MODES);
  }
}

function wishFaults(request: JsonObject, at: string): StatusCause[] {
  const name = text(request.deviceClassName);
  const here = `${at}.deviceClassName`;
  return [
    ...(name === '' ? [causes.required(here)] : each(here, name, dnsSubdomainErrors(name))),
    ...selectorFaults(request, at),
    ...allocationFaults(request, at),
    ...parts(request, 'tolerations').flatMap((one, i) => deviceTolerationFaults(one, `${at}.tolerations[${i}]`)),
  ];
}

const namedWishFaults = (request: JsonObject, at: string): StatusCause[] => [
  ...dnsLabelFaults(text(request.name), `${at}.name`),
  ...wishFaults(request, at),
];

const nameOf = ({ name }: JsonObject) => text(name);

function requestFaults(request: JsonObject, at: string): StatusCause[] {
  const out = dnsLabelFaults(text(request.name), `${at}.name`);
  const alternatives = parts(request, 'firstAvailable');
  const [first, exactly] = [alternatives.length > 0, has(request, 'exactly')];
  const why = 'exactly one of `exactly` or `firstAvailable` is required';
  if (first && exactly) return [...out, causes.invalid(at, null, `${why}, but multiple fields are set`)];
  if (exactly) return [...out, ...wishFaults(part(request, 'exactly'), `${at}.exactly`)];
  if (!first) return [...out, causes.required(at, why)];
  const rules = { max: MAX_ALTERNATIVES, key: nameOf };
  return [...out, ...listFaults(alternatives, `${at}.firstAvailable`, namedWishFaults, rules)];
}

/** The requests of a claim, with the names of their alternatives. */
export type Requests = ReadonlyMap<string, readonly string[]>;

/** What a claim's requests are called. */
export const requestNames = (claimSpec: JsonObject): Requests =>
  new Map(
    parts(part(claimSpec, 'devices'), 'requests').map((one) => [
      text(one.name),
      parts(one, 'firstAvailable').map(nameOf),
    ]),
  );

/** Causes in the name of a request, or of an alternative in one, that something refers to. */
export function requestReferenceFaults(name: string, at: string, requests: Requests): StatusCause[] {
  const segments = name.split('/');
  if (segments.length > 2) return [causes.invalid(at, name, NO_REQUEST)];
  const [request = '', alternative] = segments;
  const known = requests.get(request);
  const found = known !== undefined && (alternative === undefined || known.includes(alternative));
  const out = segments.flatMap((segment) => dnsLabelFaults(segment, at));
  return found ? out : [...out, causes.invalid(at, name, NO_REQUEST)];
}

/** Causes in the list of requests that something is meant for. */
export const requestListFaults = (owner: JsonObject, path: string, requests: Requests): StatusCause[] =>
  listFaults(texts(owner, 'requests'), `${path}.requests`, (name, at) => requestReferenceFaults(name, at, requests), {
    max: MAX_ITEMS,
    key: (name) => name,
  });

function fullNameFaults(name: string, at: string): StatusCause[] {
  const out = attributeNameFaults(name, at);
  if (name.includes('/')) return out;
  return [...out, causes.invalid(at, name, 'a fully qualified name must be a domain and a name separated by a slash')];
}

function constraintFaults(constraint: JsonObject, at: string, requests: Requests): StatusCause[] {
  const out = requestListFaults(constraint, at, requests);
  for (const key of ['matchAttribute', 'distinctAttribute']) {
    if (has(constraint, key)) return [...out, ...fullNameFaults(text(constraint[key]), `${at}.${key}`)];
  }
  const why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
  return [...out, causes.required(at, why)];
}

/** Causes in the configuration that a driver gets; what is stored may be longer than what is new. */
export function deviceConfigurationFaults(config: JsonObject, at: string, stored: boolean): StatusCause[] {
  if (!has(config, 'opaque')) return [causes.required(`${at}.opaque`)];
  const opaque = part(config, 'opaque');
  return [
    ...driverNameFaults(text(opaque.driver), `${at}.opaque.driver`),
    ...rawObjectFaults(opaque.parameters, `${at}.opaque.parameters`, MAX_PARAMETERS, stored),
  ];
}

function claimFaults(spec: JsonObject, path: string): StatusCause[] {
  const at = `${path}.devices`;
  const devices = part(spec, 'devices');
  const requests = requestNames(spec);
  return [
    ...listFaults(parts(devices, 'requests'), `${at}.requests`, requestFaults, { max: MAX_ITEMS, key: nameOf }),
    ...listFaults(
      parts(devices, 'constraints'),
      `${at}.constraints`,
      (one, here) => constraintFaults(one, here, requests),
      { max: MAX_ITEMS },
    ),
    ...listFaults(
      parts(devices, 'config'),
      `${at}.config`,
      (one, here) => [...requestListFaults(one, here, requests), ...deviceConfigurationFaults(one, here, false)],
      { max: MAX_ITEMS },
    ),
  ];
}

function templateFaults({ spec: own }: KubeObject): StatusCause[] {
  const spec = part({ own }, 'own');
  const metadata = part(spec, 'metadata');
  return [
    ...validateLabels(metadata.labels, 'spec.metadata.labels'),
    ...validateAnnotations(metadata.annotations, 'spec.metadata.annotations'),
    ...claimFaults(part(spec, 'spec'), 'spec.spec'),
  ];
}

/** The spec stays; upstream shows it as its internal type. */
function specStays(object: KubeObject, old: KubeObject): StatusCause[] {
  if (deepEqual(object.spec ?? null, old.spec ?? null)) return [];
  return [causes.invalid('spec', object.spec ?? null, 'field is immutable')];
}

/** Causes in a class; selectors and configuration that an update leaves alone count as stored. */
function classFaults(object: KubeObject, old?: KubeObject): StatusCause[] {
  const [spec, before] = [part(object, 'spec'), part(old ?? {}, 'spec')];
  const stored = old !== undefined && deepEqual(spec.config ?? null, before.config ?? null);
  const out = [
    ...selectorFaults(spec, 'spec'),
    ...listFaults(parts(spec, 'config'), 'spec.config', (config, at) => deviceConfigurationFaults(config, at, stored), {
      max: MAX_ITEMS,
    }),
  ];
  const name = spec.extendedResourceName;
  if (typeof name !== 'string' || isExtendedResource(name)) return out;
  return [...out, causes.invalid('spec.extendedResourceName', name, 'must be a valid extended resource name')];
}

/** ResourceClaims without their status, ResourceClaimTemplates and DeviceClasses. */
export const deviceClaimValidators: readonly [string, Validator][] = [
  [
    'resource.k8s.io/resourceclaims',
    { create: (object) => claimFaults(part(object, 'spec'), 'spec'), update: specStays },
  ],
  ['resource.k8s.io/resourceclaimtemplates', { create: templateFaults, update: specStays }],
  ['resource.k8s.io/deviceclasses', { create: classFaults, update: classFaults }],
];
