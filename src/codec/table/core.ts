import { at, condition, int, mapOf, objects, present, quantity, size, text, textOr } from '../../api/fields.ts';
import type { JsonObject, JsonValue, KubeObject } from '../../api/object.ts';
import {
  age,
  classOf,
  containerCells,
  firstFew,
  formatLabels,
  loadBalancerAddresses,
  nameOf,
  optional,
  shortAccessModes,
  since,
} from './format.ts';
import type { Printers } from './printer.ts';

function replicationController(o: KubeObject, now: number): JsonValue[] {
  const { spec, status } = o;
  return [
    nameOf(o),
    int(at(spec, 'replicas')),
    int(at(status, 'replicas')),
    int(at(status, 'readyReplicas')),
    age(o, now),
    ...containerCells(at(spec, 'template', 'spec')),
    formatLabels(at(spec, 'selector')),
  ];
}

const joinHostPort = (host: string, port: number) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);

/** Three addresses at most; the limit counts per subset and port, as every name of a port repeats the addresses. */
function endpointsText(subsets: JsonObject[]): string {
  if (subsets.length === 0) return '<none>';
  const all = subsets.flatMap((subset) => {
    const addresses = objects(subset.addresses).map((a) => text(a.ip));
    const ports = objects(subset.ports);
    if (ports.length === 0) return addresses;
    return ports.flatMap((port) => addresses.map((ip) => joinHostPort(ip, int(port.port))));
  });
  return firstFew(all, 3, '');
}

function event(o: KubeObject, now: number): JsonValue[] {
  const regarding = o.involvedObject ?? o.regarding;
  const source = o.source ?? o.deprecatedSource;
  const first = o.firstTimestamp ?? o.deprecatedFirstTimestamp;
  const last = o.lastTimestamp ?? o.deprecatedLastTimestamp;
  const firstSeen = since(present(first) ? first : o.eventTime, now);
  const series = present(o.series);
  const lastSeen = series ? since(at(o.series, 'lastObservedTime'), now) : present(last) ? since(last, now) : firstSeen;
  const count = series ? int(at(o.series, 'count')) : int(o.count ?? o.deprecatedCount) || 1;
  const kind = text(at(regarding, 'kind')).toLowerCase();
  const name = text(at(regarding, 'name'));
  const component = textOr(at(source, 'component'), text(o.reportingComponent ?? o.reportingController));
  const host = textOr(at(source, 'host'), text(o.reportingInstance));
  return [
    lastSeen,
    text(o.type),
    text(o.reason),
    name === '' ? kind : `${kind}/${name}`,
    text(at(regarding, 'fieldPath')),
    host === '' ? component : `${component}, ${host}`,
    text(o.message ?? o.note).trim(),
    firstSeen,
    count,
    nameOf(o),
  ];
}

function nodeStatus(o: KubeObject): string {
  const ready = condition(at(o.status, 'conditions'), 'Ready');
  const status = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return at(o.spec, 'unschedulable') === true ? `${status},SchedulingDisabled` : status;
}

const rolePrefix = 'node-role.kubernetes.io/';

function nodeRoles(o: KubeObject): string {
  const roles = Object.entries(o.metadata.labels ?? {}).map(([key, value]) => {
    if (key.startsWith(rolePrefix)) return key.slice(rolePrefix.length);
    return key === 'kubernetes.io/role' ? value : '';
  });
  return [...new Set(roles.filter((r) => r !== ''))].sort().join(',') || '<none>';
}

function node(o: KubeObject, now: number): JsonValue[] {
  const info = at(o.status, 'nodeInfo');
  const address = (type: string) => text(condition(at(o.status, 'addresses'), type)?.address);
  const architecture = text(at(info, 'architecture'));
  const kernel = textOr(at(info, 'kernelVersion'), '<unknown>');
  return [
    nameOf(o),
    nodeStatus(o),
    nodeRoles(o),
    age(o, now),
    text(at(info, 'kubeletVersion')),
    address('InternalIP') || '<none>',
    address('ExternalIP') || '<none>',
    textOr(at(info, 'osImage'), '<unknown>'),
    architecture === '' ? kernel : `${kernel} (${architecture})`,
    textOr(at(info, 'containerRuntimeVersion'), '<unknown>'),
  ];
}

const storageClassAnnotation = 'volume.beta.kubernetes.io/storage-class';
const phase = (o: KubeObject) => (o.metadata.deletionTimestamp ? 'Terminating' : text(at(o.status, 'phase')));

function persistentVolume(o: KubeObject, now: number): JsonValue[] {
  const { spec } = o;
  const claim = at(spec, 'claimRef');
  return [
    nameOf(o),
    quantity(at(spec, 'capacity', 'storage')),
    shortAccessModes(at(spec, 'accessModes')),
    text(at(spec, 'persistentVolumeReclaimPolicy')),
    phase(o),
    present(claim) ? `${text(at(claim, 'namespace'))}/${text(at(claim, 'name'))}` : '',
    classOf(o, storageClassAnnotation, at(spec, 'storageClassName')),
    optional(at(spec, 'volumeAttributesClassName'), '<unset>'),
    text(at(o.status, 'reason')),
    age(o, now),
    optional(at(spec, 'volumeMode'), '<unset>'),
  ];
}

function persistentVolumeClaim(o: KubeObject, now: number): JsonValue[] {
  const { spec, status } = o;
  const volume = text(at(spec, 'volumeName'));
  return [
    nameOf(o),
    phase(o),
    volume,
    volume === '' ? '' : quantity(at(status, 'capacity', 'storage')),
    volume === '' ? '' : shortAccessModes(at(status, 'accessModes')),
    classOf(o, storageClassAnnotation, at(spec, 'storageClassName')),
    optional(at(spec, 'volumeAttributesClassName'), '<unset>'),
    age(o, now),
    optional(at(spec, 'volumeMode'), '<unset>'),
  ];
}

function resourceQuota(o: KubeObject, now: number): JsonValue[] {
  const hard = mapOf(at(o.status, 'hard'));
  const used = mapOf(at(o.status, 'used'));
  const columns: { requests: string[]; limits: string[] } = { requests: [], limits: [] };
  for (const name of Object.keys(hard).sort()) {
    const column = name.startsWith('limits.') ? columns.limits : columns.requests;
    column.push(`${name}: ${quantity(used[name])}/${quantity(hard[name])}`);
  }
  return [nameOf(o), columns.requests.join(', '), columns.limits.join(', '), age(o, now)];
}

function externalAddress(o: KubeObject): string {
  const { spec } = o;
  const own = at(spec, 'externalIPs');
  const external = Array.isArray(own) ? own.map(text) : [];
  switch (text(at(spec, 'type'))) {
    case 'ExternalName':
      return text(at(spec, 'externalName'));
    case 'LoadBalancer': {
      const balanced = loadBalancerAddresses(o.status);
      return [...(balanced === '' ? [] : [balanced]), ...external].join(',') || '<pending>';
    }
    case 'ClusterIP':
    case 'NodePort':
      return external.join(',') || '<none>';
    default:
      return '<unknown>';
  }
}

function servicePort({ port, nodePort, protocol }: JsonObject): string {
  const ports = int(nodePort) > 0 ? `${int(port)}:${int(nodePort)}` : `${int(port)}`;
  return `${ports}/${text(protocol)}`;
}

function service(o: KubeObject, now: number): JsonValue[] {
  const { spec } = o;
  const addresses = at(spec, 'clusterIPs');
  return [
    nameOf(o),
    text(at(spec, 'type')),
    Array.isArray(addresses) && addresses.length > 0 ? text(addresses[0]) : '<none>',
    externalAddress(o),
    objects(at(spec, 'ports')).map(servicePort).join(',') || '<none>',
    age(o, now),
    formatLabels(at(spec, 'selector')),
  ];
}

function componentStatus(o: KubeObject): JsonValue[] {
  const healthy = condition(o.conditions, 'Healthy');
  const status = healthy === undefined ? 'Unknown' : healthy.status === 'True' ? 'Healthy' : 'Unhealthy';
  return [nameOf(o), status, text(healthy?.message), text(healthy?.error)];
}

/** The core group, pods apart; events of events.k8s.io are printed from the core form as well. */
export const corePrinters: Printers = {
  '/componentstatuses': componentStatus,
  '/configmaps': (o, now) => [nameOf(o), size(o.data) + size(o.binaryData), age(o, now)],
  '/endpoints': (o, now) => [nameOf(o), endpointsText(objects(o.subsets)), age(o, now)],
  '/events': event,
  'events.k8s.io/events': event,
  '/namespaces': (o, now) => [nameOf(o), text(at(o.status, 'phase')), age(o, now)],
  '/nodes': node,
  '/persistentvolumeclaims': persistentVolumeClaim,
  '/persistentvolumes': persistentVolume,
  '/podtemplates': (o) => [
    nameOf(o),
    ...containerCells(at(o.template, 'spec')),
    formatLabels(at(o.template, 'metadata', 'labels')),
  ],
  '/replicationcontrollers': replicationController,
  '/resourcequotas': resourceQuota,
  '/secrets': (o, now) => [nameOf(o), text(o.type), size(o.data), age(o, now)],
  '/serviceaccounts': (o, now) => [nameOf(o), age(o, now)],
  '/services': service,
};
