import { BOOL, type CelType, DYN, INT, listOf, mapOf, STRING, struct, TIMESTAMP } from './types.ts';

/** Types of the variables of admission expressions (k8s.io/apiserver, pkg/admission/plugin/cel/compile.go). */

const of = (name: string, fields: Readonly<Record<string, CelType>>): CelType =>
  struct(`kubernetes.${name}`, new Map(Object.entries(fields)));
const strings = (...names: string[]): Record<string, CelType> =>
  Object.fromEntries(names.map((name) => [name, STRING]));

const kind = of('GroupVersionKind', strings('group', 'version', 'kind'));
const resource = of('GroupVersionResource', strings('group', 'version', 'resource'));
const texts = listOf(STRING);
const textMap = mapOf(STRING, STRING);

export const requestType: CelType = of('AdmissionRequest', {
  ...strings('subResource', 'requestSubResource', 'name', 'namespace', 'operation'),
  kind,
  resource,
  requestKind: kind,
  requestResource: resource,
  userInfo: of('UserInfo', { ...strings('username', 'uid'), groups: texts, extra: mapOf(STRING, texts) }),
  dryRun: BOOL,
  options: DYN,
});

export const namespaceType: CelType = of('Namespace', {
  metadata: of('NamespaceMetadata', {
    ...strings('name', 'generateName', 'namespace', 'UID', 'resourceVersion'),
    labels: textMap,
    annotations: textMap,
    creationTimestamp: TIMESTAMP,
    deletionTimestamp: TIMESTAMP,
    deletionGracePeriodSeconds: INT,
    generation: INT,
    finalizers: texts,
  }),
  spec: of('NamespaceSpec', { finalizers: texts }),
  status: of('NamespaceStatus', {
    conditions: listOf(
      of('NamespaceCondition', { ...strings('status', 'type', 'message', 'reason'), lastTransitionTime: TIMESTAMP }),
    ),
    phase: STRING,
  }),
});
