/**
 * Upstream's plugins in the order in which they run (`pkg/kubeapiserver/options/plugins.go` of 1.36.3), and whether they
 * are on when nobody says otherwise. NodeRestriction is, as in every cluster that kubeadm makes; upstream's binary alone
 * leaves it off. Data only: `npm start` checks its flags against it.
 */
export const order = [
  { name: 'AlwaysAdmit', on: false },
  { name: 'NamespaceAutoProvision', on: false },
  { name: 'NamespaceLifecycle', on: true },
  { name: 'NamespaceExists', on: false },
  { name: 'LimitPodHardAntiAffinityTopology', on: false },
  { name: 'LimitRanger', on: true },
  { name: 'ServiceAccount', on: true },
  { name: 'NodeRestriction', on: true },
  { name: 'TaintNodesByCondition', on: true },
  { name: 'AlwaysPullImages', on: false },
  { name: 'ImagePolicyWebhook', on: false },
  { name: 'PodSecurity', on: true },
  { name: 'PodNodeSelector', on: false },
  { name: 'Priority', on: true },
  { name: 'DefaultTolerationSeconds', on: true },
  { name: 'PodTolerationRestriction', on: false },
  { name: 'EventRateLimit', on: false },
  { name: 'ExtendedResourceToleration', on: false },
  { name: 'DefaultStorageClass', on: true },
  { name: 'StorageObjectInUseProtection', on: true },
  { name: 'PodGroupProtection', on: true },
  { name: 'OwnerReferencesPermissionEnforcement', on: false },
  { name: 'PersistentVolumeClaimResize', on: true },
  { name: 'RuntimeClass', on: true },
  { name: 'CertificateApproval', on: true },
  { name: 'CertificateSigning', on: true },
  { name: 'ClusterTrustBundleAttest', on: true },
  { name: 'CertificateSubjectRestriction', on: true },
  { name: 'DefaultIngressClass', on: true },
  { name: 'DenyServiceExternalIPs', on: false },
  { name: 'PodTopologyLabels', on: true },
  { name: 'PodGroupWorkloadExists', on: true },
  { name: 'NodeDeclaredFeatureValidator', on: true },
  { name: 'JobValidation', on: true },
  { name: 'PodResizeValidator', on: true },
  { name: 'MutatingAdmissionPolicy', on: true },
  { name: 'MutatingAdmissionWebhook', on: true },
  { name: 'ValidatingAdmissionPolicy', on: true },
  { name: 'ValidatingAdmissionWebhook', on: true },
  { name: 'ResourceQuota', on: true },
  { name: 'AlwaysDeny', on: false },
] as const satisfies readonly { name: string; on: boolean }[];

/** Plugins of the order that do nothing while a feature is off that is off upstream, or that nobody wrote yet. */
export const absent: Readonly<Partial<Record<PluginName, string>>> = {
  ImagePolicyWebhook: 'is not there yet',
  PodGroupProtection: 'needs the feature GenericWorkload, which is off',
  PodGroupWorkloadExists: 'needs the feature GenericWorkload, which is off',
  JobValidation: 'needs the feature WorkloadWithJob, which is off',
};

/** Name of a plugin of the order. */
export type PluginName = (typeof order)[number]['name'];

const known: ReadonlySet<string> = new Set(order.map(({ name }) => name));

/** What is asked of the order: plugins to turn on beside the usual ones, and plugins to turn off. */
export interface PluginChoice {
  enable: readonly string[];
  disable: readonly string[];
}

/**
 * The fault of a choice as one sentence, if it has one: a name that no plugin has, one that cannot be turned on, or one
 * that is both turned on and off.
 */
export function choiceFault({ enable, disable }: PluginChoice): string | undefined {
  for (const [flag, names] of Object.entries({ enable, disable })) {
    const unknown = names.find((name) => !known.has(name));
    if (unknown === undefined) continue;
    const all = order.map(({ name }) => name).join(', ');
    return `--${flag}-admission-plugins names the unknown plugin ${JSON.stringify(unknown)}; known are ${all}.`;
  }
  const asked = order.find(({ name }) => enable.includes(name) && absent[name] !== undefined)?.name;
  if (asked !== undefined) return `--enable-admission-plugins names ${asked}, which ${absent[asked]}.`;
  const both = enable.find((name) => disable.includes(name));
  if (both === undefined) return undefined;
  return `${both} is in both --enable-admission-plugins and --disable-admission-plugins.`;
}

/** Names of the plugins that run, in order. */
export const chosen = ({ enable, disable }: PluginChoice): PluginName[] =>
  order.filter(({ name, on }) => (on || enable.includes(name)) && !disable.includes(name)).map(({ name }) => name);
