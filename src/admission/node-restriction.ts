import { mapOf, text } from '../api/fields.ts';
import { deepCopy, deepEqual, type KubeObject } from '../api/object.ts';
import { nodeOf } from '../authz/node.ts';
import { forbidden } from '../status/status.ts';
import { subjectOfRequest } from './certificates.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { restrictNode } from './node-restriction/nodes.ts';
import { restrictPod } from './node-restriction/pods.ts';
import { restrictToken } from './node-restriction/tokens.ts';

/** Decides what the kubelet of a node asks for. */
export type Restriction = (attributes: Attributes, node: string) => Promise<void> | void;

const refuse = (attributes: Attributes, why: string) => forbidden(subjectOf(attributes), attributes.name, why);
const LEASE_NAMESPACE = 'kube-node-lease';

/** What a node may change in the status of a claim. */
const CLAIM_STATUS: readonly string[] = ['capacity', 'conditions', 'allocatedResourceStatuses', 'allocatedResources'];

function withoutClaimStatus(claim: KubeObject): KubeObject {
  const copy = deepCopy(claim);
  delete copy.metadata.resourceVersion;
  delete copy.metadata.managedFields;
  copy.status = mapOf(copy.status);
  for (const key of CLAIM_STATUS) delete copy.status[key];
  return copy;
}

const restrictClaim: Restriction = (attributes, node) => {
  const { subresource, operation, object, old } = attributes;
  if (subresource !== 'status') throw refuse(attributes, 'may only update PVC status');
  if (operation !== 'UPDATE') throw refuse(attributes, `unexpected operation ${JSON.stringify(operation)}`);
  if (deepEqual(withoutClaimStatus(object!), withoutClaimStatus(old!))) return;
  const why = 'is not allowed to update fields other than status.quantity and status.conditions';
  throw refuse(attributes, `node ${JSON.stringify(node)} ${why}`);
};

const named = ({ operation, object, name }: Attributes) => (operation === 'CREATE' ? object?.metadata.name : name);

const restrictLease: Restriction = (attributes, node) => {
  if (attributes.namespace !== LEASE_NAMESPACE) {
    throw refuse(attributes, `can only access leases in the ${JSON.stringify(LEASE_NAMESPACE)} system namespace`);
  }
  if (named(attributes) === node) return;
  throw refuse(attributes, 'can only access node lease with the same name as the requesting node');
};

const restrictCSINode: Restriction = (attributes, node) => {
  if (named(attributes) === node) return;
  throw refuse(attributes, 'can only access CSINode with the same name as the requesting node');
};

const restrictResourceSlice: Restriction = (attributes, node) => {
  const { operation, object, old } = attributes;
  if (operation === 'UPDATE') return;
  const slice = operation === 'CREATE' ? object : old;
  if (text(mapOf(slice?.spec).nodeName) === node) return;
  const verb = operation.toLowerCase();
  throw refuse(attributes, `can only ${verb} ResourceSlice with the same NodeName as the requesting node`);
};

const KUBELET_SIGNERS: readonly string[] = [
  'kubernetes.io/kubelet-serving',
  'kubernetes.io/kube-apiserver-client-kubelet',
];

const restrictRequest: Restriction = (attributes, node) => {
  if (attributes.operation !== 'CREATE') return;
  const { signerName, request } = mapOf(attributes.object?.spec);
  if (!KUBELET_SIGNERS.includes(text(signerName))) return;
  const expected = `system:node:${node}`;
  if (commonName(attributes, request) !== expected)
    throw refuse(attributes, `can only create a node CSR with CN=${expected}`);
};

function commonName(attributes: Attributes, request: Parameters<typeof subjectOfRequest>[0]): string {
  try {
    return subjectOfRequest(request).names.at(-1) ?? '';
  } catch (error) {
    throw refuse(attributes, `unable to parse csr: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The feature that nodes would use them for is off, as it is upstream. */
const restrictPodCertificate: Restriction = (attributes) => {
  throw refuse(attributes, 'PodCertificateRequest feature gate is disabled');
};

const restrictions: ReadonlyMap<string, Restriction> = new Map<string, Restriction>([
  ['/pods', restrictPod],
  ['/nodes', restrictNode],
  ['/persistentvolumeclaims', restrictClaim],
  ['/serviceaccounts', restrictToken],
  ['certificates.k8s.io/podcertificaterequests', restrictPodCertificate],
  ['coordination.k8s.io/leases', restrictLease],
  ['storage.k8s.io/csinodes', restrictCSINode],
  ['resource.k8s.io/resourceslices', restrictResourceSlice],
  ['certificates.k8s.io/certificatesigningrequests', restrictRequest],
]);

/** Keeps nodes to themselves: their own Node, and the pods that are bound to them. */
export const nodeRestriction: Plugin = {
  name: 'NodeRestriction',
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  admit: async (attributes) => {
    const { user } = attributes.ctx;
    const node = nodeOf(user);
    if (node === undefined) return;
    if (node === '') throw refuse(attributes, `could not determine node from user ${JSON.stringify(user.name)}`);
    const { group, resource } = attributes.resource;
    await restrictions.get(`${group}/${resource}`)?.(attributes, node);
  },
};
