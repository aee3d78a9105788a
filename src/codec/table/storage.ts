import { at, bool, objects, present, size, text, texts } from '../../api/fields.ts';
import type { JsonValue, KubeObject } from '../../api/object.ts';
import { age, annotatedDefault, nameOf, optional } from './format.ts';
import type { Printers } from './printer.ts';

function csiDriver(o: KubeObject, now: number): JsonValue[] {
  const { spec } = o;
  const tokens = at(spec, 'tokenRequests');
  return [
    nameOf(o),
    bool(at(spec, 'attachRequired'), true),
    bool(at(spec, 'podInfoOnMount')),
    bool(at(spec, 'storageCapacity')),
    present(tokens)
      ? objects(tokens)
          .map((t) => text(t.audience))
          .join(',')
      : '<unset>',
    bool(at(spec, 'requiresRepublish')),
    texts(at(spec, 'volumeLifecycleModes')).join(',') || '<none>',
    age(o, now),
  ];
}

const defaultClass = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
] as const;

function storageClass(o: KubeObject, now: number): JsonValue[] {
  return [
    annotatedDefault(o, ...defaultClass) ? `${nameOf(o)} (default)` : nameOf(o),
    text(o.provisioner),
    optional(o.reclaimPolicy, 'Delete'),
    optional(o.volumeBindingMode, 'Immediate'),
    bool(o.allowVolumeExpansion),
    age(o, now),
  ];
}

function volumeAttachment(o: KubeObject, now: number): JsonValue[] {
  return [
    nameOf(o),
    text(at(o.spec, 'attacher')),
    text(at(o.spec, 'source', 'persistentVolumeName')),
    text(at(o.spec, 'nodeName')),
    bool(at(o.status, 'attached')),
    age(o, now),
  ];
}

/** storage.k8s.io, except what the default columns serve. */
export const storagePrinters: Printers = {
  'storage.k8s.io/csidrivers': csiDriver,
  'storage.k8s.io/csinodes': (o, now) => [nameOf(o), size(at(o.spec, 'drivers')), age(o, now)],
  'storage.k8s.io/storageclasses': storageClass,
  'storage.k8s.io/volumeattachments': volumeAttachment,
  'storage.k8s.io/volumeattributesclasses': (o, now) => [nameOf(o), text(o.driverName), age(o, now)],
};
