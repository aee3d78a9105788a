// The X.509 library needs the metadata API, and needs it first.
import 'reflect-metadata';
import { PemConverter, Pkcs10CertificateRequest } from '@peculiar/x509';
import { mapOf, text } from '../api/fields.ts';
import { deepEqual, type JsonValue } from '../api/object.ts';
import { forbidden } from '../status/status.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { requireSigner } from './permission.ts';

const REQUESTS = 'certificates.k8s.io/certificatesigningrequests';
const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';

const refuse = (attributes: Attributes, why: string) => forbidden(subjectOf(attributes), attributes.name, why);
const signerOf = (spec: JsonValue | undefined): string => text(mapOf(spec).signerName);

/** The subject that base64 text of a PEM certificate request asks for. Throws where it is none. */
export function subjectOfRequest(request: JsonValue | undefined): { names: string[]; organizations: string[] } {
  const [der] = PemConverter.decode(atob(text(request)));
  if (der === undefined) throw new TypeError('PEM block type must be CERTIFICATE REQUEST');
  const { subjectName } = new Pkcs10CertificateRequest(der);
  return { names: subjectName.getField('CN'), organizations: subjectName.getField('O') };
}

/** Who may approve requests for a signer. */
export const certificateApproval: Plugin = {
  name: 'CertificateApproval',
  resources: [`${REQUESTS}/approval`],
  operations: ['UPDATE'],
  validate: async (attributes) => {
    const signer = signerOf(attributes.old?.spec);
    await requireSigner(attributes.ctx, 'approve', signer, () =>
      refuse(attributes, `user not permitted to approve requests with signerName ${JSON.stringify(signer)}`),
    );
  },
};

/** Who may sign for a signer, and tell how that went. */
export const certificateSigning: Plugin = {
  name: 'CertificateSigning',
  resources: [`${REQUESTS}/status`],
  operations: ['UPDATE'],
  validate: async (attributes) => {
    const [now, before] = [mapOf(attributes.object?.status), mapOf(attributes.old?.status)];
    const same = (key: string) => deepEqual(now[key] ?? null, before[key] ?? null);
    if (same('certificate') && same('conditions')) return;
    const signer = signerOf(attributes.old?.spec);
    await requireSigner(attributes.ctx, 'sign', signer, () =>
      refuse(attributes, `user not permitted to sign requests with signerName ${JSON.stringify(signer)}`),
    );
  },
};

/** Keeps client certificates from making superusers. */
export const certificateSubjectRestriction: Plugin = {
  name: 'CertificateSubjectRestriction',
  resources: [REQUESTS],
  operations: ['CREATE'],
  validate: (attributes) => {
    const { signerName, request } = mapOf(attributes.object?.spec);
    if (signerName !== CLIENT_SIGNER) return;
    if (!subjectOfRequest(request).organizations.includes('system:masters')) return;
    throw refuse(attributes, `use of ${CLIENT_SIGNER} signer with system:masters group is not allowed`);
  },
};

/** Who may publish trust anchors of a signer. */
export const clusterTrustBundleAttest: Plugin = {
  name: 'ClusterTrustBundleAttest',
  resources: ['certificates.k8s.io/clustertrustbundles'],
  operations: ['CREATE', 'UPDATE'],
  validate: async (attributes) => {
    const { object, old } = attributes;
    const signer = signerOf(object?.spec);
    if (signer === '' || (old !== undefined && deepEqual(object?.spec ?? null, old.spec ?? null))) return;
    await requireSigner(attributes.ctx, 'attest', signer, () =>
      refuse(attributes, `user not permitted to attest for signerName ${JSON.stringify(signer)}`),
    );
  },
};
