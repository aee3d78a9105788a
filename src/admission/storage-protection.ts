import type { Plugin } from './chain.ts';

/** Finalizers that keep storage from going while it is used; a controller takes them off again. */
const finalizers: Readonly<Record<string, string>> = {
  persistentvolumes: 'kubernetes.io/pv-protection',
  persistentvolumeclaims: 'kubernetes.io/pvc-protection',
  volumeattributesclasses: 'kubernetes.io/vac-protection',
};

/** Protects volumes, claims and volume attributes classes from their moment of creation. */
export const storageObjectInUseProtection: Plugin = {
  name: 'StorageObjectInUseProtection',
  resources: ['/persistentvolumes', '/persistentvolumeclaims', 'storage.k8s.io/volumeattributesclasses'],
  operations: ['CREATE'],
  admit: ({ resource, object }) => {
    const finalizer = finalizers[resource.resource]!;
    const { metadata } = object!;
    if (!metadata.finalizers?.includes(finalizer)) metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
  },
};
