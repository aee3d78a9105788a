import { at, int, objects, present, text, texts } from '../../api/fields.ts';
import type { JsonValue, KubeObject } from '../../api/object.ts';
import { age, annotatedDefault, firstFew, formatSelector, loadBalancerAddresses, nameOf, optional } from './format.ts';
import type { Printers } from './printer.ts';

/** Hosts of the first rules; rules without one count among "more" only once three hosts are shown. */
function hosts(o: KubeObject): string {
  const rules = objects(at(o.spec, 'rules'));
  const shown: string[] = [];
  let more = false;
  for (const { host } of rules) {
    if (shown.length === 3) more = true;
    else if (text(host) !== '') shown.push(text(host));
  }
  if (shown.length === 0) return '*';
  return more ? `${shown.join(',')} + ${rules.length - 3} more...` : shown.join(',');
}

function ingress(o: KubeObject, now: number): JsonValue[] {
  return [
    nameOf(o),
    optional(at(o.spec, 'ingressClassName'), '<none>'),
    hosts(o),
    loadBalancerAddresses(o.status),
    objects(at(o.spec, 'tls')).length === 0 ? '80' : '80, 443',
    age(o, now),
  ];
}

function ingressClass(o: KubeObject, now: number): JsonValue[] {
  const isDefault = annotatedDefault(o, 'ingressclass.kubernetes.io/is-default-class');
  const parameters = at(o.spec, 'parameters');
  const group = at(parameters, 'apiGroup');
  const kind = present(group) ? `${text(at(parameters, 'kind'))}.${text(group)}` : text(at(parameters, 'kind'));
  return [
    isDefault ? `${nameOf(o)} (default)` : nameOf(o),
    text(at(o.spec, 'controller')),
    present(parameters) ? `${kind}/${text(at(parameters, 'name'))}` : '<none>',
    age(o, now),
  ];
}

/** One cell more than there are columns, as upstream has it. */
function ipAddress(o: KubeObject, now: number): JsonValue[] {
  const parent = at(o.spec, 'parentRef');
  const [group, resource, namespace, name] = ['group', 'resource', 'namespace', 'name'].map((k) => text(at(parent, k)));
  const qualified = group === '' ? resource : `${resource}.${group}`;
  const path = [`${qualified}`.toLowerCase(), ...(namespace === '' ? [] : [namespace]), name].join('/');
  return [nameOf(o), present(parent) ? path : '<none>', age(o, now)];
}

function endpointSlice(o: KubeObject, now: number): JsonValue[] {
  const ports = objects(o.ports).map((p) => (present(p.port) ? String(int(p.port)) : optional(p.name, '*')));
  const addresses = objects(o.endpoints).flatMap((e) => texts(e.addresses));
  return [
    nameOf(o),
    text(o.addressType),
    firstFew(ports, 3, '<unset>'),
    firstFew(addresses, 3, '<unset>'),
    age(o, now),
  ];
}

/** networking.k8s.io and discovery.k8s.io. */
export const networkingPrinters: Printers = {
  'discovery.k8s.io/endpointslices': endpointSlice,
  'networking.k8s.io/ingressclasses': ingressClass,
  'networking.k8s.io/ingresses': ingress,
  'networking.k8s.io/ipaddresses': ipAddress,
  'networking.k8s.io/networkpolicies': (o, now) => [nameOf(o), formatSelector(at(o.spec, 'podSelector')), age(o, now)],
  'networking.k8s.io/servicecidrs': (o, now) => [nameOf(o), texts(at(o.spec, 'cidrs')).join(','), age(o, now)],
};
