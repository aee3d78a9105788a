import { objectAt } from '../api/fields.ts';
import type { KubeObject } from '../api/object.ts';
import type { Resource } from '../registry/resource.ts';
import type { Attributes, Plugin } from './chain.ts';
import { builtinRow, lookUpAll } from './lookup.ts';

const storageClasses = builtinRow('storage.k8s.io/v1', 'storageclasses');
const ingressClasses = builtinRow('networking.k8s.io/v1', 'ingressclasses');
const INGRESS_ANNOTATION = 'kubernetes.io/ingress.class';
const CLAIM_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

/** Classes with one of the marks, the newest first, then by name. */
async function marked({ ctx }: Attributes, classes: Resource, marks: readonly string[]): Promise<KubeObject[]> {
  const found = await lookUpAll(ctx, classes);
  const created = (c: KubeObject) => c.metadata.creationTimestamp ?? '';
  return found
    .filter((c) => marks.some((mark) => c.metadata.annotations?.[mark] === 'true'))
    .sort((a, b) =>
      created(a) === created(b)
        ? (a.metadata.name ?? '') < (b.metadata.name ?? '')
          ? -1
          : 1
        : created(a) < created(b)
          ? 1
          : -1,
    );
}

/** Gives claims that name no storage class the default one. */
export const defaultStorageClass: Plugin = {
  name: 'DefaultStorageClass',
  resources: ['/persistentvolumeclaims'],
  operations: ['CREATE'],
  admit: async (attributes) => {
    const claim = attributes.object!;
    const spec = objectAt(claim, 'spec');
    if (spec.storageClassName !== undefined || claim.metadata.annotations?.[CLAIM_ANNOTATION] !== undefined) return;
    const marks = ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'];
    const name = (await marked(attributes, storageClasses, marks))[0]?.metadata.name;
    if (name !== undefined) claim.spec = { ...spec, storageClassName: name };
  },
};

/** Gives ingresses that name no class the default one. */
export const defaultIngressClass: Plugin = {
  name: 'DefaultIngressClass',
  resources: ['networking.k8s.io/ingresses'],
  operations: ['CREATE'],
  admit: async (attributes) => {
    const ingress = attributes.object!;
    const spec = objectAt(ingress, 'spec');
    if (spec.ingressClassName !== undefined || ingress.metadata.annotations?.[INGRESS_ANNOTATION] !== undefined) return;
    const found = await marked(attributes, ingressClasses, ['ingressclass.kubernetes.io/is-default-class']);
    const name = found[0]?.metadata.name;
    if (name !== undefined) ingress.spec = { ...spec, ingressClassName: name };
  },
};
