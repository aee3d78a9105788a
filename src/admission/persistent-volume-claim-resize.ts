import { mapOf, text } from '../api/fields.ts';
import type { KubeObject } from '../api/object.ts';
import { compareQuantities } from '../api/quantity.ts';
import { forbidden } from '../status/status.ts';
import { type Plugin, subjectOf } from './chain.ts';
import { builtinRow, lookUp } from './lookup.ts';
import { listOf } from './resource-lists.ts';

const classes = builtinRow('storage.k8s.io/v1', 'storageclasses');
const ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

const sizeOf = ({ spec }: KubeObject): string => listOf(mapOf(mapOf(spec).resources).requests).storage ?? '0';
const classOf = ({ metadata, spec }: KubeObject): string =>
  metadata.annotations?.[ANNOTATION] ?? text(mapOf(spec).storageClassName);

/** Lets only those claims grow that are bound, of a class that can grow its volumes. */
export const persistentVolumeClaimResize: Plugin = {
  name: 'PersistentVolumeClaimResize',
  resources: ['/persistentvolumeclaims'],
  operations: ['UPDATE'],
  validate: async (attributes) => {
    const { ctx, name } = attributes;
    const [object, old] = [attributes.object!, attributes.old!];
    if (compareQuantities(sizeOf(object), sizeOf(old)) <= 0) return;
    const refuse = (why: string) => forbidden(subjectOf(attributes), name, why);
    if (mapOf(old.status).phase !== 'Bound') throw refuse('Only bound persistent volume claims can be expanded');
    const own = classOf(object) === classOf(old) ? classOf(object) : '';
    const found = own === '' ? undefined : await lookUp(ctx, classes, '', own);
    if (found?.allowVolumeExpansion === true) return;
    const needed = 'the storageclass that provisions the pvc must support resize';
    throw refuse(`only dynamically provisioned pvc can be resized and ${needed}`);
  },
};
