import { PemConverter, Pkcs10CertificateRequest, X509Certificate } from '@peculiar/x509';
import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../object.ts';
import { duplicates, integer, oneOf, part, parts, text, texts } from './checks.ts';
import type { Validator } from './index.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';

const USAGES: readonly string[] = [
  ...['any', 'cert sign', 'client auth', 'code signing', 'content commitment', 'crl sign', 'data encipherment'],
  ...['decipher only', 'digital signature', 'email protection', 'encipher only', 'ipsec end system', 'ipsec tunnel'],
  ...['ipsec user', 'key agreement', 'key encipherment', 'microsoft sgc', 'netscape sgc', 'ocsp signing', 's/mime'],
  ...['server auth', 'signing', 'timestamping'],
];
const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown';
/** Conditions that only ever are true, and stay. */
const VERDICTS: readonly string[] = ['Approved', 'Denied', 'Failed'];
const DECISIONS: readonly string[] = ['Approved', 'Denied'];
const CONDITIONS = 'status.conditions';
const MAX_DOMAIN = 253;
const MAX_PATH = 317;

interface Block {
  type: string;
  rawData: ArrayBuffer;
  headers: number;
}

/** PEM blocks of base64 text; none where it holds no PEM. */
function blocksOf(base64: string): Block[] {
  try {
    const blocks = PemConverter.decodeWithHeaders(atob(base64));
    return blocks.map(({ type, rawData, headers }) => ({ type, rawData, headers: headers.length }));
  } catch {
    return [];
  }
}

function parseFault(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch {
    return 'asn1: structure error: tags do not match';
  }
}

function requestFault(base64: string): string | undefined {
  const block = blocksOf(base64)[0];
  if (block?.type !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST';
  return parseFault(() => new Pkcs10CertificateRequest(block.rawData));
}

function certificateFault(base64: string): string | undefined {
  if (base64 === '') return undefined;
  const blocks = blocksOf(base64);
  for (const { type, rawData, headers } of blocks) {
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    if (headers > 0) return 'no PEM block headers are permitted';
    const fault = parseFault(() => new X509Certificate(rawData));
    if (fault !== undefined) return fault;
  }
  return blocks.length === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined;
}

/** Causes in one half of a signer's name: the first of its labels that is wrong. */
function labelFaults(half: string, at: string, rule: (label: string) => string[]): StatusCause[] {
  const bad = half.split('.').find((label) => rule(label).length > 0);
  if (bad === undefined) return [];
  return rule(bad).map((why) => causes.invalid(at, half, `validating label ${JSON.stringify(bad)}: ${why}`));
}

function signerFaults(signer: string): StatusCause[] {
  const at = 'spec.signerName';
  if (signer === '') return [causes.required(at)];
  const [domain = '', path = '', ...more] = signer.split('/');
  if (!signer.includes('/') || more.length > 0) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [causes.invalid(at, signer, why)];
  }
  const out = domain.length > MAX_DOMAIN ? [causes.tooLong(at, MAX_DOMAIN)] : [];
  out.push(...labelFaults(domain, at, dnsLabelErrors));
  if (!domain.includes('.')) {
    out.push(causes.invalid(at, domain, 'should be a domain with at least two segments separated by dots'));
  }
  out.push(...labelFaults(path, at, dnsSubdomainErrors));
  return path.length > MAX_PATH ? [...out, causes.tooLong(at, MAX_PATH)] : out;
}

const conditionsOf = (object: KubeObject) => parts(part(object, 'status'), 'conditions');
const certificateOf = (object: KubeObject) => text(part(object, 'status').certificate);
const typesOf = (object: KubeObject) => conditionsOf(object).map(({ type }) => text(type));
const decidesBoth = (types: readonly string[]) => DECISIONS.every((type) => types.includes(type));

/** Faults that an object had already are put up with. */
interface Leniency {
  both: boolean;
  untyped: boolean;
  repeated: boolean;
}

function conditionFaults(object: KubeObject, lenient: Leniency): StatusCause[] {
  const seen = new Set<string>();
  return conditionsOf(object).flatMap((condition, i) => {
    const at = `${CONDITIONS}[${i}]`;
    const type = text(condition.type);
    const out = type === '' && !lenient.untyped ? [causes.required(`${at}.type`)] : [];
    const known = VERDICTS.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
    if (text(condition.status) === '') out.push(causes.required(`${at}.status`));
    else out.push(...oneOf(condition.status, `${at}.status`, known));
    const other = DECISIONS.find((decision) => decision !== type);
    if (!lenient.both && DECISIONS.includes(type) && other !== undefined && seen.has(other)) {
      out.push(causes.invalid(CONDITIONS, type, 'Approved and Denied conditions are mutually exclusive'));
    }
    if (!lenient.repeated && seen.has(type)) out.push(causes.duplicate(`${at}.type`, type));
    seen.add(type);
    return out;
  });
}

function usageFaults(spec: JsonObject, before: readonly string[] | undefined): StatusCause[] {
  const usages = texts(spec, 'usages');
  const at = (i: number) => `spec.usages[${i}]`;
  const out = usages.length === 0 ? [causes.required('spec.usages')] : [];
  const hadUnknown = before?.some((usage) => !USAGES.includes(usage)) ?? false;
  if (!hadUnknown) out.push(...usages.flatMap((usage, i) => oneOf(usage, at(i), USAGES)));
  const hadTwice = before !== undefined && new Set(before).size < before.length;
  return hadTwice ? out : [...out, ...duplicates(usages, at)];
}

function validateRequest(object: KubeObject, old?: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const before = old === undefined ? undefined : part(old, 'spec');
  const types = old === undefined ? [] : typesOf(old);
  const out: StatusCause[] = [];
  const fault = requestFault(text(spec.request));
  if (fault !== undefined) out.push(causes.invalid('spec.request', text(spec.request), fault));
  out.push(...usageFaults(spec, before && texts(before, 'usages')));
  if (spec.signerName === LEGACY_SIGNER && before?.signerName !== LEGACY_SIGNER) {
    const why = 'the legacy signerName is not allowed via this API version';
    out.push(causes.invalid('spec.signerName', LEGACY_SIGNER, why));
  } else out.push(...signerFaults(text(spec.signerName)));
  if (typeof spec.expirationSeconds === 'number' && spec.expirationSeconds < 600) {
    const why = 'may not specify a duration less than 600 seconds (10 minutes)';
    out.push(causes.invalid('spec.expirationSeconds', integer(spec.expirationSeconds), why));
  }
  const repeated = new Set(types).size < types.length;
  out.push(...conditionFaults(object, { both: decidesBoth(types), untyped: types.includes(''), repeated }));
  const certificate = certificateOf(object);
  const wrong = old !== undefined && certificate === certificateOf(old) ? undefined : certificateFault(certificate);
  return wrong === undefined ? out : [...out, causes.invalid('status.certificate', '<certificate data>', wrong)];
}

const ofType = (object: KubeObject, type: string) => conditionsOf(object).filter((each) => each.type === type);

/** Causes where a change does what only its subresource may: `approval` decides, `status` issues. */
function validateChange(object: KubeObject, old: KubeObject, subresource: string): StatusCause[] {
  const out = validateRequest(object, old);
  const forbid = (why: string) => out.push(causes.forbidden(CONDITIONS, why));
  for (const type of VERDICTS) {
    if (ofType(object, type).length < ofType(old, type).length)
      forbid(`updates may not remove a condition of type "${type}"`);
  }
  for (const type of subresource === 'approval' ? [] : DECISIONS) {
    const [now, before] = [ofType(object, type), ofType(old, type)];
    if (now.length > before.length) forbid(`updates may not add a condition of type "${type}"`);
    else if (now.length === before.length && !deepEqual(now, before)) {
      forbid(`updates may not modify a condition of type "${type}"`);
    }
  }
  if (certificateOf(object) === certificateOf(old)) return out;
  if (subresource !== 'status') {
    out.push(causes.forbidden('status.certificate', 'updates may not set certificate content'));
  } else if (certificateOf(old) !== '') {
    out.push(causes.forbidden('status.certificate', 'updates may not modify existing certificate content'));
  }
  return out;
}

const KEY = 'certificates.k8s.io/certificatesigningrequests';

/** Certificate signing requests. The signature of a request is not looked at. */
export const certificateValidators: readonly [string, Validator][] = [
  [KEY, { create: (object) => validateRequest(object), update: (object, old) => validateChange(object, old, '') }],
  ...['approval', 'status'].map((name): [string, Validator] => [
    `${KEY}/${name}`,
    { update: (object, old) => validateChange(object, old, name) },
  ]),
];
