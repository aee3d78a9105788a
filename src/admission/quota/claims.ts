import { at, mapOf, text } from '../../api/fields.ts';
import type { KubeObject } from '../../api/object.ts';
import { compareQuantities, wholeUp } from '../../api/quantity.ts';
import { listOf, type ResourceList } from '../resource-lists.ts';
import { type Evaluator, requirementHolds } from './evaluator.ts';

const CLASS_SUFFIX = '.storageclass.storage.k8s.io/';
const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
const PER_CLASS: readonly string[] = ['persistentvolumeclaims', 'requests.storage'];

const classOf = ({ metadata, spec }: KubeObject): string =>
  metadata.annotations?.[CLASS_ANNOTATION] ?? text(mapOf(spec).storageClassName);

/** Volume attributes classes that a claim has, had, or is to have. */
function attributeClasses({ spec, status }: KubeObject): string[] {
  const names = [
    at(spec, 'volumeAttributesClassName'),
    at(status, 'currentVolumeAttributesClassName'),
    at(status, 'modifyVolumeStatus', 'targetVolumeAttributesClassName'),
  ];
  return [...new Set(names.map(text).filter((name) => name !== ''))].sort();
}

const allocated = ({ status }: KubeObject): string | undefined => listOf(mapOf(status).allocatedResources).storage;

/** Bytes that a claim asks for, or was given where that is more. */
function storageOf(claim: KubeObject): string | undefined {
  const asked = listOf(mapOf(mapOf(claim.spec).resources).requests).storage;
  if (asked === undefined) return undefined;
  const given = allocated(claim);
  return wholeUp(given !== undefined && compareQuantities(given, asked) > 0 ? given : asked);
}

/** Whether a write of a claim's status changes what it counts for. */
function changesStatus(object: KubeObject, old: KubeObject | undefined): boolean {
  if (old === undefined) return false;
  const names = (claim: KubeObject) => attributeClasses(claim).join(' ');
  return allocated(object) !== allocated(old) || names(object) !== names(old);
}

/** Claims count by themselves and by the storage that they ask for, both also for each storage class. */
export const claims: Evaluator = {
  handles: ({ subresource, operation, object, old }) =>
    operation !== 'DELETE' && (subresource === '' || (subresource === 'status' && changesStatus(object, old))),
  counts: (name) =>
    name === 'count/persistentvolumeclaims' ||
    PER_CLASS.includes(name) ||
    PER_CLASS.some((part) => name.endsWith(`${CLASS_SUFFIX}${part}`)),
  inScope: (requirement, claim) => {
    if (requirement.scopeName !== 'VolumeAttributesClass') return false;
    const names = attributeClasses(claim);
    if (names.length === 0) return requirementHolds(requirement, '');
    return names.some((name) => requirementHolds(requirement, name));
  },
  usage: (claim) => {
    const own: ResourceList = { persistentvolumeclaims: '1' };
    const storage = storageOf(claim);
    if (storage !== undefined) own['requests.storage'] = storage;
    const name = classOf(claim);
    const byClass = Object.entries(own).map(([part, amount]) => [`${name}${CLASS_SUFFIX}${part}`, amount]);
    return { 'count/persistentvolumeclaims': '1', ...own, ...(name === '' ? {} : Object.fromEntries(byClass)) };
  },
};
