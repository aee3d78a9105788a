import type { JsonValue } from '../api/object.ts';
import bootstrap from '../api/tables/bootstrap.json';
import type { Keyspace } from '../keyspace/types.ts';
import { policyRules } from '../policy/rbac-index.ts';
import type { UserInfo } from '../request/context.ts';
import type { Attributes, Verdict } from './attributes.ts';
import { isRelated, type RelatedKind } from './node-relations.ts';
import { ruleAllows } from './rbac.ts';

const PREFIX = 'system:node:';
const LEASE_NAMESPACE = 'kube-node-lease';

const allow: Verdict = { decision: 'allow', reason: '' };
const noOpinion = (reason: string): Verdict => ({ decision: 'noOpinion', reason });

const roles = bootstrap.clusterroles as unknown as { metadata: { name: string }; rules: JsonValue }[];
/** What every node may do, whichever objects it is related to: the rules of the bootstrap role. */
const nodeRules = policyRules(roles.find((r) => r.metadata.name === 'system:node')?.rules);

/** The node that a user is, empty where its name says none; undefined for users who are no nodes. */
export function nodeOf(user: UserInfo): string | undefined {
  if (!user.name.startsWith(PREFIX) || !user.groups.includes('system:nodes')) return undefined;
  return user.name.slice(PREFIX.length);
}

/** One request of a node. */
interface NodeRequest {
  node: string;
  attributes: Attributes;
  keyspace: Keyspace;
}

type Rule = (request: NodeRequest) => Verdict | Promise<Verdict>;

const selects = ({ attributes, node }: NodeRequest, key: string) =>
  attributes.fieldSelector?.some((r) => r.key === key && r.operator === '=' && r.value === node) ?? false;

async function related(request: NodeRequest, kind: RelatedKind): Promise<Verdict> {
  const { node, attributes, keyspace } = request;
  if (attributes.name === '') return noOpinion('No Object name found');
  if (await isRelated(keyspace, node, kind, attributes.namespace, attributes.name)) return allow;
  return noOpinion(`no relationship found between node '${node}' and this object`);
}

/** Reads of single namespaced objects that the node's pods refer to. */
const reads =
  (kind: RelatedKind): Rule =>
  (request) => {
    const { verb, subresource, namespace } = request.attributes;
    if (!['get', 'list', 'watch'].includes(verb)) return noOpinion('can only read resources of this type');
    if (subresource !== '') return noOpinion('cannot read subresource');
    if (namespace === '') return noOpinion('can only read namespaced object of this type');
    return related(request, kind);
  };

const gets =
  (kind: RelatedKind): Rule =>
  (request) => {
    const { verb, subresource } = request.attributes;
    if (verb !== 'get') return noOpinion('can only get individual resources of this type');
    if (subresource !== '') return noOpinion('cannot get subresource');
    return related(request, kind);
  };

const claims: Rule = (request) => {
  const { verb, subresource } = request.attributes;
  if (subresource !== 'status') return gets('persistentvolumeclaims')(request);
  if (verb !== 'update' && verb !== 'patch') return noOpinion('can only get/update/patch this type');
  return related(request, 'persistentvolumeclaims');
};

const serviceAccounts: Rule = (request) => {
  const { verb, subresource, name } = request.attributes;
  if (verb === 'get' && subresource === '') return reads('serviceaccounts')(request);
  if (verb !== 'create' || name === '') return noOpinion('can only create tokens for individual service accounts');
  if (subresource !== 'token') return noOpinion('can only create token subresource of serviceaccount');
  return related(request, 'serviceaccounts');
};

const ownVerbs = ['get', 'create', 'update', 'patch', 'delete'];

const leases: Rule = ({ node, attributes: { verb, namespace, name } }) => {
  if (!ownVerbs.includes(verb)) return noOpinion('can only get, create, update, patch, or delete a node lease');
  if (namespace !== LEASE_NAMESPACE) {
    return noOpinion(`can only access leases in the ${JSON.stringify(LEASE_NAMESPACE)} system namespace`);
  }
  if (verb === 'create' || name === node) return allow;
  return noOpinion('can only access node lease with the same name as the requesting node');
};

const csiNodes: Rule = ({ node, attributes: { verb, subresource, name } }) => {
  if (!ownVerbs.includes(verb)) return noOpinion('can only get, create, update, patch, or delete a CSINode');
  if (subresource !== '') return noOpinion('cannot authorize CSINode subresources');
  if (verb === 'create' || name === node) return allow;
  return noOpinion('can only access CSINode with the same name as the requesting node');
};

const resourceSlices: Rule = (request) => {
  const { verb, subresource } = request.attributes;
  if (subresource !== '') return noOpinion('cannot authorize ResourceSlice subresources');
  if (verb === 'create') return allow;
  if (['get', 'update', 'patch', 'delete'].includes(verb)) return related(request, 'resourceslices');
  if (['watch', 'list', 'deletecollection'].includes(verb)) {
    if (selects(request, 'spec.nodeName')) return allow;
    return noOpinion('can only list/watch/deletecollection resourceslices with nodeName field selector');
  }
  return noOpinion(
    'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
  );
};

const nodes: Rule = ({ node, attributes: { verb, subresource, name } }) => {
  if (subresource === 'status') return verb === 'update' || verb === 'patch' ? allow : noOpinion('');
  if (subresource !== '') return noOpinion('');
  if (['create', 'update', 'patch'].includes(verb)) return allow;
  if (!['get', 'list', 'watch'].includes(verb)) return noOpinion('');
  if (name === node) return allow;
  if (name === '') return noOpinion(`node '${node}' cannot read all nodes, only its own Node object`);
  return noOpinion(`node '${node}' cannot read '${name}', only its own Node object`);
};

const pods: Rule = (request) => {
  const { verb, subresource, name } = request.attributes;
  if (subresource === 'status') return verb === 'update' || verb === 'patch' ? allow : noOpinion('');
  if (subresource === 'eviction') return verb === 'create' ? allow : noOpinion('');
  if (subresource !== '') return noOpinion('');
  if (verb === 'get') return related(request, 'pods');
  if (verb === 'create' || verb === 'delete') return allow;
  if (verb !== 'list' && verb !== 'watch') return noOpinion('');
  if (selects(request, 'spec.nodeName')) return allow;
  if (name !== '') return related(request, 'pods');
  return noOpinion('can only list/watch pods with spec.nodeName field selector');
};

/** Resources of which a node sees a part only. */
const rules: ReadonlyMap<string, Rule> = new Map([
  ['/secrets', reads('secrets')],
  ['/configmaps', reads('configmaps')],
  ['/persistentvolumeclaims', claims],
  ['/persistentvolumes', gets('persistentvolumes')],
  ['resource.k8s.io/resourceclaims', gets('resourceclaims')],
  ['storage.k8s.io/volumeattachments', gets('volumeattachments')],
  ['/serviceaccounts', serviceAccounts],
  ['coordination.k8s.io/leases', leases],
  ['storage.k8s.io/csinodes', csiNodes],
  ['resource.k8s.io/resourceslices', resourceSlices],
  ['/nodes', nodes],
  ['/pods', pods],
]);

/**
 * The Node authorizer: users `system:node:NAME` in `system:nodes` reach their own Node and what the pods bound to it
 * refer to, and the rest by the rules of the bootstrap role. No opinion on anyone else.
 */
export async function authorizeByNode(attributes: Attributes, keyspace: Keyspace): Promise<Verdict> {
  const node = nodeOf(attributes.user);
  if (node === undefined) return noOpinion('');
  if (node === '') return noOpinion(`unknown node for user ${JSON.stringify(attributes.user.name)}`);
  const rule = attributes.isResourceRequest ? rules.get(`${attributes.group}/${attributes.resource}`) : undefined;
  if (rule !== undefined) return rule({ node, attributes, keyspace });
  return nodeRules.some((r) => ruleAllows(r, attributes)) ? allow : noOpinion('');
}
