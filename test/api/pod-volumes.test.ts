import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/api/object.ts';
import { resourceClaimFaults } from '../../src/api/validation/pod-claims.ts';
import { podVolumes } from '../../src/api/validation/pod-volumes.ts';

const faultsOf = (source: JsonObject) => podVolumes({ volumes: [{ name: 'v', ...source }] }, 'spec', 'p')[1];

/** Fields and messages as kube-apiserver 1.36.3 gives them. */
const recorded: [JsonObject, [string, string][]][] = [
  [
    { iscsi: { targetPortal: 'x', iqn: 'bad', lun: 300 } },
    [
      ['iscsi.iqn', 'Invalid value: "bad": must be valid format starting with iqn, eui, or naa'],
      ['iscsi.lun', 'Invalid value: 300: must be between 0 and 255, inclusive'],
    ],
  ],
  [{ iscsi: { targetPortal: 'x', iqn: 'iqn.2001-04.com.example:storage', lun: 0 } }, []],
  [{ fc: {} }, [['fc.targetWWNs', 'Required value: must specify either targetWWNs or wwids, but not both']]],
  [{ fc: { targetWWNs: ['a'] } }, [['fc.lun', 'Required value: lun is required if targetWWNs is specified']]],
  [
    { quobyte: { registry: 'x', volume: 'v' } },
    [['quobyte.registry', 'Invalid value: "x": must be a host:port pair or multiple pairs separated by commas']],
  ],
  [{ quobyte: { registry: 'a:1,[::1]:2', volume: 'v' } }, []],
  [
    { azureDisk: { diskName: 'd', diskURI: 'bad', kind: 'Managed' } },
    [
      [
        'azureDisk.diskURI',
        'Unsupported value: "bad": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"',
      ],
    ],
  ],
  [
    { flocker: { datasetName: 'a/b', datasetUUID: 'u' } },
    [
      ['flocker', 'Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously'],
      ['flocker.datasetName', 'Invalid value: "a/b": must not contain \'/\''],
    ],
  ],
  [
    { gcePersistentDisk: { pdName: 'p', partition: -1 } },
    [['persistentDisk.partition', 'Invalid value: -1: must be between 1 and 255, inclusive']],
  ],
  [
    { flexVolume: { driver: 'a/b', options: { 'kubernetes.io/x': '1', 'other.io/x': '1' } } },
    [
      [
        'flexVolume.options[kubernetes.io/x]',
        'Invalid value: "kubernetes.io/x": kubernetes.io and k8s.io namespaces are reserved',
      ],
    ],
  ],
  [{ cinder: { volumeID: 'v', secretRef: {} } }, [['cinder.secretRef.name', 'Required value']]],
];

test.each(recorded)('volume %j', (source, expected) => {
  const found = faultsOf(source).map(({ field, message }) => [field?.replace('spec.volumes[0].', ''), message]);
  expect(found).toEqual(expected);
});

test('a resource claim of a pod names one source, and each claim its own name', () => {
  const claims = [{ name: 'a' }, { name: 'a', resourceClaimName: 'x' }, { name: 'b', resourceClaimTemplateName: 'T' }];
  const faults = resourceClaimFaults({ resourceClaims: claims }, 'spec');
  expect(faults.map(({ field, reason }) => [field, reason])).toEqual([
    ['spec.resourceClaims[0]', 'FieldValueInvalid'],
    ['spec.resourceClaims[1].name', 'FieldValueDuplicate'],
    ['spec.resourceClaims[2].resourceClaimTemplateName', 'FieldValueInvalid'],
  ]);
});
