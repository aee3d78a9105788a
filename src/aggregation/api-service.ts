import { condition, int, mapOf, text } from '../api/fields.ts';
import { isObject, type JsonObject, type KubeObject } from '../api/object.ts';

/** The Service that an APIService leads to. */
export interface ServiceReference {
  namespace: string;
  name: string;
  port: number;
}

/** A group version that another API server serves: an APIService that names a Service. */
export interface AggregatedVersion {
  /** Name of the APIService. */
  name: string;
  group: string;
  version: string;
  groupVersion: string;
  groupPriority: number;
  versionPriority: number;
  service: ServiceReference;
  /** PEM certificates that the server's must chain to; empty: the public ones. */
  authority: string;
  /** Whether any certificate of the server is taken. */
  insecure: boolean;
  /** Whether the last check of the server has passed. */
  available: boolean;
}

const DEFAULT_PORT = 443;
const AUTOMANAGED = 'kube-aggregator.kubernetes.io/automanaged';
const ALWAYS = 'true';

/** The label of an APIService that exists for as long as its group version has custom resources. */
export const AUTOMANAGED_LABEL = { [AUTOMANAGED]: ALWAYS };

/** Whether an APIService exists for as long as its group version has custom resources. */
export const isAutomanaged = ({ metadata }: KubeObject): boolean => metadata.labels?.[AUTOMANAGED] === ALWAYS;

/** Whether another server is asked for what an APIService is of. */
export const isAggregated = ({ spec }: JsonObject): boolean => isObject(mapOf(spec).service);

/** Reads a stored APIService; undefined for those of this server's own groups. */
export function aggregatedVersion(object: KubeObject): AggregatedVersion | undefined {
  if (!isAggregated(object)) return undefined;
  const spec = mapOf(object.spec);
  const service = mapOf(spec.service);
  const [group, version] = [text(spec.group), text(spec.version)];
  return {
    name: object.metadata.name ?? '',
    group,
    version,
    groupVersion: `${group}/${version}`,
    groupPriority: int(spec.groupPriorityMinimum),
    versionPriority: int(spec.versionPriority),
    service: { namespace: text(service.namespace), name: text(service.name), port: int(service.port) || DEFAULT_PORT },
    authority: text(spec.caBundle) === '' ? '' : atob(text(spec.caBundle)),
    insecure: spec.insecureSkipTLSVerify === true,
    available: condition(mapOf(object.status).conditions, 'Available')?.status === 'True',
  };
}

/** The index term under which an APIService is found by its Service. */
export const serviceTerm = ({ namespace, name }: Pick<ServiceReference, 'namespace' | 'name'>): string =>
  `apiservice:${namespace}/${name}`;
