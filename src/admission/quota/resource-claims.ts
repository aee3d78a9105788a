import { int, mapOf, objects, text } from '../../api/fields.ts';
import type { JsonObject } from '../../api/object.ts';
import { add, max, type ResourceList } from '../resource-lists.ts';
import type { Evaluator } from './evaluator.ts';

const COUNT = 'count/resourceclaims.resource.k8s.io';
const CLASS_SUFFIX = '.deviceclass.resource.k8s.io/devices';
/** Devices that one claim can get, which asking for all counts as. */
const MOST_DEVICES = 32;

function devicesOf({ deviceClassName, allocationMode, count }: JsonObject): ResourceList {
  const devices = allocationMode === 'ExactCount' ? int(count) : allocationMode === 'All' ? MOST_DEVICES : 0;
  return { [`${text(deviceClassName)}${CLASS_SUFFIX}`]: String(devices) };
}

/** Claims of devices count by themselves and by the devices that they ask for, for each device class. */
export const resourceClaims: Evaluator = {
  handles: ({ subresource, operation }) => subresource === '' && operation !== 'DELETE',
  counts: (name) => name === COUNT || name.endsWith(CLASS_SUFFIX),
  inScope: () => false,
  usage: ({ spec }) => {
    let total: ResourceList = { [COUNT]: '1' };
    for (const request of objects(mapOf(mapOf(spec).devices).requests)) {
      const alternatives = objects(request.firstAvailable);
      if (alternatives.length > 0) total = add(total, alternatives.map(devicesOf).reduce(max, {}));
      else if (request.exactly !== undefined) total = add(total, devicesOf(mapOf(request.exactly)));
    }
    return total;
  },
};
