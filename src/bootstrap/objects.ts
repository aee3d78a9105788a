import { objects } from '../api/fields.ts';
import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../api/object.ts';
import table from '../api/tables/bootstrap.json';
import type { Config } from '../config.ts';

/** What bootstrap objects depend on besides the table. */
export interface BootstrapInput {
  config: Config;
  now: Date;
  /** Name of the server's identity lease. */
  identity: string;
}

/** An object with the resource that serves it. */
export interface BootstrapObject {
  groupVersion: string;
  resource: string;
  object: KubeObject;
  /** The manager in its managedFields. */
  manager: string;
  /** The object as its creator sent it, where the server has filled in more; managedFields are made from it. */
  sent?: KubeObject;
}

type Table = Record<string, JsonValue>;
const facts = table as unknown as Table;

const SERVER = 'kube-apiserver';
const FLOW_CONTROL = 'api-priority-and-fairness-config-producer-v1';

/** Resources of the table in the order that their objects are made. */
const resources: readonly { groupVersion: string; resource: string; manager: string }[] = [
  { groupVersion: 'v1', resource: 'namespaces', manager: SERVER },
  { groupVersion: 'networking.k8s.io/v1', resource: 'servicecidrs', manager: SERVER },
  { groupVersion: 'apiregistration.k8s.io/v1', resource: 'apiservices', manager: SERVER },
  { groupVersion: 'flowcontrol.apiserver.k8s.io/v1', resource: 'prioritylevelconfigurations', manager: FLOW_CONTROL },
  { groupVersion: 'flowcontrol.apiserver.k8s.io/v1', resource: 'flowschemas', manager: FLOW_CONTROL },
  { groupVersion: 'scheduling.k8s.io/v1', resource: 'priorityclasses', manager: SERVER },
  { groupVersion: 'rbac.authorization.k8s.io/v1', resource: 'clusterroles', manager: SERVER },
  { groupVersion: 'rbac.authorization.k8s.io/v1', resource: 'clusterrolebindings', manager: SERVER },
  { groupVersion: 'rbac.authorization.k8s.io/v1', resource: 'roles', manager: SERVER },
  { groupVersion: 'rbac.authorization.k8s.io/v1', resource: 'rolebindings', manager: SERVER },
  { groupVersion: 'v1', resource: 'configmaps', manager: SERVER },
  { groupVersion: 'networking.k8s.io/v1', resource: 'ipaddresses', manager: SERVER },
  { groupVersion: 'v1', resource: 'services', manager: SERVER },
];

const descriptions: Record<string, string> = {
  'system-node-critical': 'Used for system critical pods that must not be moved from their current node.',
  'system-cluster-critical':
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
};

/** RFC 3339 in whole seconds. */
export const timeOf = (now: Date): string => `${now.toISOString().slice(0, 19)}Z`;

/** The first usable address of an IPv4 range: the cluster IP of the `kubernetes` service. */
export function firstAddress(range: string): string {
  const parts = (range.split('/')[0] ?? '').split('.').map(Number);
  if (parts.length !== 4 || parts.some((p) => !Number.isInteger(p) || p < 0 || p > 255)) {
    throw new TypeError(`not an IPv4 range: ${range}`);
  }
  const value = parts.reduce((sum, p) => sum * 256 + p, 0) + 1;
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

/** Gives each condition its time, and its message where the table leaves that out. */
function withConditions(object: KubeObject, now: Date, message: string): KubeObject {
  const status = isObject(object.status) ? object.status : {};
  const conditions = objects(status.conditions);
  const lastTransitionTime = timeOf(now);
  const filled = conditions.map(({ type, status: state, reason }) => ({
    ...(type === undefined ? {} : { type }),
    ...(state === undefined ? {} : { status: state }),
    lastTransitionTime,
    ...(reason === undefined ? {} : { reason }),
    message,
  }));
  return { ...object, status: { ...status, conditions: filled } };
}

/** What extension API servers are told of authentication; without a front proxy, of one that nobody is. */
function authenticationData({ config }: BootstrapInput): JsonObject {
  const proxy = config.authentication.requestHeader;
  const list = (given: readonly string[] | undefined, usual: string) => JSON.stringify(given ?? [usual]);
  return {
    'client-ca-file': config.clientCA,
    'requestheader-allowed-names': list(proxy?.allowedNames, 'front-proxy-client'),
    'requestheader-client-ca-file': proxy?.clientCA ?? (config.frontProxyCA || config.clientCA),
    'requestheader-extra-headers-prefix': list(proxy?.extraHeaderPrefixes, 'X-Remote-Extra-'),
    'requestheader-group-headers': list(proxy?.groupHeaders, 'X-Remote-Group'),
    'requestheader-username-headers': list(proxy?.usernameHeaders, 'X-Remote-User'),
    ...(proxy !== undefined && proxy.uidHeaders.length > 0
      ? { 'requestheader-uid-headers': JSON.stringify(proxy.uidHeaders) }
      : {}),
  };
}

type Fill = (object: KubeObject, input: BootstrapInput) => KubeObject;

const flowSchemaMessage = (object: KubeObject): string => {
  const spec = isObject(object.spec) ? object.spec : {};
  const level = isObject(spec.priorityLevelConfiguration) ? String(spec.priorityLevelConfiguration.name) : '';
  return `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)} and it exists`;
};

/** What the table cannot say of a resource's objects: texts, times and addresses. */
const fills: Record<string, Fill> = {
  servicecidrs: (object, { config, now }) =>
    withConditions(
      { ...object, spec: { cidrs: [config.serviceClusterIPRange] } },
      now,
      'Kubernetes default Service CIDR is ready',
    ),
  apiservices: (object, { now }) => withConditions(object, now, 'Local APIServices are always available'),
  flowschemas: (object, { now }) => withConditions(object, now, flowSchemaMessage(object)),
  priorityclasses: (object) => ({ ...object, description: descriptions[object.metadata.name ?? ''] ?? '' }),
  configmaps: (object, input) => ({
    ...object,
    data:
      object.metadata.name === 'extension-apiserver-authentication'
        ? authenticationData(input)
        : { since: timeOf(input.now).slice(0, 10) },
  }),
  ipaddresses: (object, { config }) => ({
    ...object,
    metadata: { ...object.metadata, name: firstAddress(config.serviceClusterIPRange) },
  }),
  services: (object, { config }) => {
    const address = firstAddress(config.serviceClusterIPRange);
    const port = { name: 'https', protocol: 'TCP', port: 443, targetPort: config.securePort };
    const spec = isObject(object.spec) ? object.spec : {};
    return { ...object, spec: { ...spec, ports: [port], clusterIP: address, clusterIPs: [address] } };
  },
};

/** What the server fills into a spec itself, and its creator has not sent. */
const allocated: Record<string, readonly string[]> = {
  services: ['clusterIPs', 'ipFamilies'],
  namespaces: ['finalizers'],
};

function asSent(resource: string, object: KubeObject): { sent?: KubeObject } {
  const fields = allocated[resource];
  if (fields === undefined || !isObject(object.spec)) return {};
  const spec = Object.fromEntries(Object.entries(object.spec).filter(([key]) => !fields.includes(key)));
  return { sent: { ...object, spec } };
}

function fromTable(input: BootstrapInput): BootstrapObject[] {
  return resources.flatMap(({ groupVersion, resource, manager }) => {
    const rows = (facts[resource] ?? []) as unknown as KubeObject[];
    return rows.map((row) => {
      const object = fills[resource]?.(row, input) ?? row;
      return {
        groupVersion,
        resource,
        manager,
        object,
        ...asSent(resource, object),
      };
    });
  });
}

/** The address of the server as endpoints of the `kubernetes` service. */
function endpoints({ config }: BootstrapInput): BootstrapObject[] {
  const port = { name: 'https', port: config.securePort, protocol: 'TCP' };
  const place = { name: 'kubernetes', namespace: 'default' };
  return [
    {
      groupVersion: 'v1',
      resource: 'endpoints',
      manager: SERVER,
      object: {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { ...place, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
        subsets: [{ addresses: [{ ip: config.advertiseAddress }], ports: [port] }],
      },
    },
    {
      groupVersion: 'discovery.k8s.io/v1',
      resource: 'endpointslices',
      manager: SERVER,
      object: {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { ...place, generation: 1, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: [config.advertiseAddress], conditions: { ready: true } }],
        ports: [port],
      },
    },
  ];
}

/** The server's identity lease (KEP-1965). */
function identityLease({ config, now, identity }: BootstrapInput): BootstrapObject {
  return {
    groupVersion: 'coordination.k8s.io/v1',
    resource: 'leases',
    manager: SERVER,
    object: {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: identity,
        namespace: 'kube-system',
        labels: { 'apiserver.kubernetes.io/identity': SERVER, 'kubernetes.io/hostname': 'gunwale' },
        annotations: { 'kubernetes.io/peer-advertise-address': `${config.advertiseAddress}:${config.securePort}` },
      },
      spec: {
        holderIdentity: `${identity}_${crypto.randomUUID()}`,
        leaseDurationSeconds: 3600,
        renewTime: `${now.toISOString().slice(0, 23)}000Z`,
      },
    },
  };
}

/** Everything that a fresh cluster has by itself, without server-made metadata. */
export function bootstrapObjects(input: BootstrapInput): BootstrapObject[] {
  return [...fromTable(input), ...endpoints(input), identityLease(input)];
}
