import { objectAt, objectsAt, text, texts } from '../../api/fields.ts';
import type { JsonObject, KubeObject } from '../../api/object.ts';
import { addressWarnings, eachAddress, eachRange } from './addresses.ts';

const HINTS = 'service.kubernetes.io/topology-aware-hints';
const MODE = 'service.kubernetes.io/topology-mode';

/** What a service without an address of its own says in vain. */
function headlessWarnings(spec: JsonObject): string[] {
  return [
    ...(text(spec.loadBalancerIP) === '' ? [] : ['spec.loadBalancerIP is ignored for headless services']),
    ...(texts(spec.externalIPs).length === 0 ? [] : ['spec.externalIPs is ignored for headless services']),
    ...(text(spec.sessionAffinity) === 'None' ? [] : ['spec.SessionAffinity is ignored for headless services']),
  ];
}

/** Warnings about a service, in upstream's words and order (pkg/api/service/warnings.go). */
export function serviceWarnings(service: KubeObject): string[] {
  const spec = objectAt(service, 'spec');
  const external = texts(spec.externalIPs);
  const byName = spec.type === 'ExternalName';
  const headless = text(spec.clusterIP) === 'None' || texts(spec.clusterIPs)[0] === 'None';
  const hinted = service.metadata.annotations?.[HINTS] !== undefined;
  const close = spec.trafficDistribution === 'PreferClose';
  const loadBalancer = text(spec.loadBalancerIP);
  const given = external.length > 0;
  return [
    ...(hinted ? [`annotation ${HINTS} is deprecated, please use ${MODE} instead`] : []),
    ...(headless || byName ? [] : eachAddress('spec.clusterIPs', texts(spec.clusterIPs))),
    ...(headless ? headlessWarnings(spec) : []),
    ...eachAddress('spec.externalIPs', external),
    ...(given && !headless && !byName
      ? ['spec.externalIPs is deprecated and may no longer be implemented in some clusters']
      : []),
    ...(loadBalancer === '' ? [] : addressWarnings('spec.loadBalancerIP', loadBalancer)),
    ...eachRange('spec.loadBalancerSourceRanges', texts(spec.loadBalancerSourceRanges)),
    ...(byName && given ? ['spec.externalIPs is ignored when spec.type is "ExternalName"'] : []),
    ...(!byName && text(spec.externalName) !== ''
      ? ['spec.externalName is ignored when spec.type is not "ExternalName"']
      : []),
    ...(close ? ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'] : []),
  ];
}

/** Warnings about the addresses that a load balancer has reported. */
export function ingressAddressWarnings(object: KubeObject): string[] {
  const points = objectsAt(objectAt(objectAt(object, 'status'), 'loadBalancer'), 'ingress');
  return points.flatMap(({ ip }, i) => addressWarnings(`status.loadBalancer.ingress[${i}]`, text(ip)));
}
