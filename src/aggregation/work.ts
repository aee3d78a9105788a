import { mapOf, objects, text } from '../api/fields.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../api/object.ts';
import type { WorkItem } from '../keyspace/types.ts';
import { aggregatedVersion, isAggregated, isAutomanaged, serviceTerm } from './api-service.ts';
import { saysLocal } from './availability.ts';

const SERVICE_LABEL = 'kubernetes.io/service-name';

const isDefinition = ({ kind, apiVersion }: JsonObject) =>
  kind === 'CustomResourceDefinition' && apiVersion === 'apiextensions.k8s.io/v1';
const isService = ({ kind, apiVersion }: JsonObject) => kind === 'Service' && apiVersion === 'v1';
const isApiService = ({ kind, apiVersion }: JsonObject) =>
  kind === 'APIService' && text(apiVersion).startsWith('apiregistration.k8s.io/');

/** Names of the APIServices of a definition's group versions. */
const apiServicesOf = ({ spec }: JsonObject): string[] =>
  objects(mapOf(spec).versions).map(({ name }) => `${text(name)}.${text(mapOf(spec).group)}`);

const item = (name: string): WorkItem => ({ loop: 'apiservice', item: name });

/** The term of the Service that an object is, or has endpoints of. */
function termOf(object: KubeObject): string | undefined {
  const { namespace = '', name = '', labels } = object.metadata;
  if (isService(object)) return serviceTerm({ namespace, name });
  const service = object.kind === 'EndpointSlice' ? labels?.[SERVICE_LABEL] : undefined;
  return service === undefined ? undefined : serviceTerm({ namespace, name: service });
}

/** The index terms of a stored APIService: by its Service, that of the servers to be checked. */
export function apiServiceTerms(object: KubeObject): string[] {
  const aggregated = isApiService(object) ? aggregatedVersion(object) : undefined;
  return aggregated === undefined ? [] : [serviceTerm(aggregated.service)];
}

/** What the APIService loop has to look at once `object` is stored or gone. */
export function apiServiceWork(object: KubeObject, old: KubeObject | undefined, isGone = false): WorkItem[] {
  const term = termOf(object);
  if (term !== undefined) return [{ ...item(term), ifTerm: term }];
  if (isDefinition(object)) {
    const isSame =
      !isGone && old !== undefined && deepEqual(old.spec, object.spec) && deepEqual(old.status, object.status);
    return isSame ? [] : [...new Set([object, ...(old ? [old] : [])].flatMap(apiServicesOf))].map(item);
  }
  if (!isApiService(object) || (!isGone && old !== undefined && deepEqual(old.spec, object.spec))) return [];
  if (!isGone && !isAggregated(object) && !isAutomanaged(object) && saysLocal(object)) return [];
  const [own] = apiServiceTerms(object);
  return [item(object.metadata.name ?? ''), ...(own === undefined || isGone ? [] : [item(own)])];
}
