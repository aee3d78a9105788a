import { at, bool, condition, int, objects, present, size, text, textOr } from '../../api/fields.ts';
import type { JsonValue, KubeObject } from '../../api/object.ts';
import { age, humanDuration, nameOf } from './format.ts';
import type { Printer, Printers } from './printer.ts';

const binding: Printer = (o, now) => {
  const subjects = objects(o.subjects);
  const named = (kind: string) => subjects.filter((s) => s.kind === kind);
  const names = (kind: string) => named(kind).map((s) => text(s.name));
  const accounts = named('ServiceAccount').map((s) => `${text(s.namespace)}/${text(s.name)}`);
  return [
    nameOf(o),
    `${text(at(o.roleRef, 'kind'))}/${text(at(o.roleRef, 'name'))}`,
    age(o, now),
    names('User').join(', '),
    names('Group').join(', '),
    accounts.join(', '),
  ];
};

function signingStatus(o: KubeObject): string {
  const conditions = at(o.status, 'conditions');
  const has = (type: string) => condition(conditions, type) !== undefined;
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  const failed = has('Failed') ? ',Failed' : '';
  return `${decision}${failed}${text(at(o.status, 'certificate')) === '' ? '' : ',Issued'}`;
}

function signingRequest(o: KubeObject, now: number): JsonValue[] {
  const { spec } = o;
  const seconds = at(spec, 'expirationSeconds');
  return [
    nameOf(o),
    age(o, now),
    textOr(at(spec, 'signerName'), '<none>'),
    text(at(spec, 'username')),
    present(seconds) ? humanDuration(int(seconds) * 1000) : '<none>',
    signingStatus(o),
  ];
}

function priorityClass(o: KubeObject, now: number): JsonValue[] {
  return [nameOf(o), int(o.value), bool(o.globalDefault), age(o, now), text(o.preemptionPolicy)];
}

function claimState(o: KubeObject): string {
  const deleted = Boolean(o.metadata.deletionTimestamp);
  const states = deleted ? ['deleted'] : [];
  if (present(at(o.status, 'allocation'))) {
    states.push('allocated');
    if (size(at(o.status, 'reservedFor')) > 0) states.push('reserved');
  } else if (!deleted) {
    states.push('pending');
  }
  return states.join(',');
}

function resourceSlice(o: KubeObject, now: number): JsonValue[] {
  const { spec } = o;
  return [nameOf(o), text(at(spec, 'nodeName')), text(at(spec, 'driver')), text(at(spec, 'pool', 'name')), age(o, now)];
}

const nameAndAge: Printer = (o, now) => [nameOf(o), age(o, now)];

/** The remaining groups: RBAC, certificates, coordination, node, resource and scheduling. */
export const accessPrinters: Printers = {
  'certificates.k8s.io/certificatesigningrequests': signingRequest,
  'coordination.k8s.io/leases': (o, now) => [nameOf(o), text(at(o.spec, 'holderIdentity')), age(o, now)],
  'node.k8s.io/runtimeclasses': (o, now) => [nameOf(o), text(o.handler), age(o, now)],
  'rbac.authorization.k8s.io/clusterrolebindings': binding,
  'rbac.authorization.k8s.io/rolebindings': binding,
  'resource.k8s.io/deviceclasses': nameAndAge,
  'resource.k8s.io/resourceclaims': (o, now) => [nameOf(o), claimState(o), age(o, now)],
  'resource.k8s.io/resourceclaimtemplates': nameAndAge,
  'resource.k8s.io/resourceslices': resourceSlice,
  'scheduling.k8s.io/priorityclasses': priorityClass,
};
