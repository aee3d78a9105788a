// The X.509 library needs the metadata API, and needs it first.
import 'reflect-metadata';
import { PemConverter, Pkcs10CertificateRequest, SubjectAlternativeNameExtension } from '@peculiar/x509';

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const NODES = 'system:nodes';
const NODE_PREFIX = 'system:node:';

export const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';
export const KUBELET_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
export const KUBELET_SERVING_SIGNER = 'kubernetes.io/kubelet-serving';
const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown';

/** Reads the base64 of a PEM request. Throws for what is none. */
export const parseRequest = (base64: string): Pkcs10CertificateRequest =>
  new Pkcs10CertificateRequest(PemConverter.decodeFirst(atob(base64)));

/** The alternative names that a request asks for. */
export function alternativeNames({ extensions }: Pkcs10CertificateRequest): SubjectAlternativeNameExtension['names'] {
  const found = extensions.find((extension) => extension instanceof SubjectAlternativeNameExtension);
  return (found ?? new SubjectAlternativeNameExtension([])).names;
}

/** The common name of a request's subject. */
export const commonName = ({ subjectName }: Pkcs10CertificateRequest): string =>
  subjectName.getField(COMMON_NAME)[0] ?? '';

type Fault = string | undefined;

const NOT_ALLOWED: readonly (readonly [type: string, word: string])[] = [
  ['dns', 'DNS'],
  ['email', 'Email'],
  ['ip', 'IP'],
  ['url', 'URI'],
];

function namesFault(request: Pkcs10CertificateRequest, allowed: readonly string[]): Fault {
  const asked = new Set(alternativeNames(request).items.map(({ type }): string => type));
  if (allowed.length > 0 && !allowed.some((type) => asked.has(type))) return 'DNS or IP subjectAltName is required';
  const bad = NOT_ALLOWED.find(([type]) => asked.has(type) && !allowed.includes(type));
  return bad && `${bad[1]} subjectAltNames are not allowed`;
}

/** Why a request is not one of a kubelet; `purpose`: what its certificate is used for beside signatures. */
function kubeletFault(
  request: Pkcs10CertificateRequest,
  usages: readonly string[],
  purpose: string,
  names: readonly string[],
): Fault {
  const organizations = request.subjectName.getField(ORGANIZATION);
  if (organizations.length !== 1 || organizations[0] !== NODES) return `subject organization is not ${NODES}`;
  const fault = namesFault(request, names);
  if (fault !== undefined) return fault;
  const wanted = ['digital signature', 'key encipherment', purpose].sort();
  const given = new Set(usages.filter((usage) => usage !== 'key encipherment'));
  if (given.size !== 2 || !given.has('digital signature') || !given.has(purpose))
    return `usages did not match [${wanted.join(' ')}]`;
  return commonName(request).startsWith(NODE_PREFIX)
    ? undefined
    : `subject common name does not begin with ${NODE_PREFIX}`;
}

const CLIENT_USAGES: readonly string[] = ['digital signature', 'key encipherment', 'client auth'];

function clientFault(usages: readonly string[]): Fault {
  const bad = usages.find((usage) => !CLIENT_USAGES.includes(usage));
  if (bad !== undefined) return `invalid usage for client certificate: ${bad}`;
  return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth';
}

type Signer = (request: Pkcs10CertificateRequest, usages: readonly string[]) => Fault;

/** Signers of the cluster's own authority: each tells why it refuses a request. Rules and texts are upstream's. */
export const signers: ReadonlyMap<string, Signer> = new Map<string, Signer>([
  [CLIENT_SIGNER, (_, usages) => clientFault(usages)],
  [KUBELET_CLIENT_SIGNER, (request, usages) => kubeletFault(request, usages, 'client auth', [])],
  [KUBELET_SERVING_SIGNER, (request, usages) => kubeletFault(request, usages, 'server auth', ['dns', 'ip'])],
  [LEGACY_SIGNER, () => undefined],
]);
