import type { Resource } from '../registry/resource.ts';
import { autoscalerFromV2, autoscalerToV2 } from './conversions/autoscaler.ts';
import { eventFromCore, eventToCore } from './conversions/event.ts';
import type { KubeObject } from './object.ts';

type Conversion = (object: KubeObject) => KubeObject;

/** Conversions between served versions of one kind, by `KIND FROM TO`. */
const conversions: ReadonlyMap<string, Conversion> = new Map([
  ['Event v1 events.k8s.io/v1', eventFromCore],
  ['Event events.k8s.io/v1 v1', eventToCore],
  ['HorizontalPodAutoscaler autoscaling/v2 autoscaling/v1', autoscalerFromV2],
  ['HorizontalPodAutoscaler autoscaling/v1 autoscaling/v2', autoscalerToV2],
]);

/** Storage versions of upstream that are not served here: their records are kept in the served one. */
const served: ReadonlyMap<string, string> = new Map([
  ['admissionregistration.k8s.io/v1beta1', 'admissionregistration.k8s.io/v1'],
  ['apiextensions.k8s.io/v1beta1', 'apiextensions.k8s.io/v1'],
]);

/**
 * The version that records of a resource are stored in. Resources that share a key prefix share it: events of both
 * groups are kept as `v1`, autoscalers of both versions as `autoscaling/v2`.
 */
export function storageVersion(resource: Resource): string {
  const version = resource.storage?.apiVersion ?? resource.groupVersion;
  return served.get(version) ?? version;
}

/**
 * The object in another served version of its kind. An object that is in it already is returned as it is; a conversion
 * copies what it changes. Custom resources without a webhook only change their apiVersion.
 */
export function convertTo(object: KubeObject, groupVersion: string): KubeObject {
  if (object.apiVersion === groupVersion) return object;
  const conversion = conversions.get(`${object.kind} ${object.apiVersion} ${groupVersion}`);
  return conversion?.(object) ?? { ...object, apiVersion: groupVersion };
}

/** The object in the version of a row. */
export function convert(object: KubeObject, resource: Resource): KubeObject {
  return convertTo(object, resource.groupVersion);
}

/** The object in the version that its resource is stored in. */
export function toStorage(object: KubeObject, resource: Resource): KubeObject {
  return convertTo(object, storageVersion(resource));
}
