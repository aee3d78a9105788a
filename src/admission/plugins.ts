import type { Config } from '../config.ts';
import type { RequestContext } from '../request/context.ts';
import { alwaysAdmit, alwaysDeny } from './always.ts';
import { alwaysPullImages } from './always-pull-images.ts';
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
} from './certificates.ts';
import type { Plugin } from './chain.ts';
import { type Settings, settingsOf } from './configuration.ts';
import { defaultIngressClass, defaultStorageClass } from './default-classes.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { denyServiceExternalIPs } from './deny-service-external-ips.ts';
import { eventRateLimit } from './event-rate-limit.ts';
import { extendedResourceToleration } from './extended-resource-toleration.ts';
import { limitPodHardAntiAffinityTopology } from './limit-pod-hard-anti-affinity-topology.ts';
import { limitRanger } from './limit-ranger.ts';
import { mutatingAdmissionPolicy } from './mutating-policy.ts';
import { namespaceAutoProvision } from './namespace-auto-provision.ts';
import { namespaceExists } from './namespace-exists.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { nodeRestriction } from './node-restriction.ts';
import { chosen, type PluginChoice } from './order.ts';
import { ownerReferencesPermissionEnforcement } from './owner-references-permission-enforcement.ts';
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts';
import { podNodeSelector } from './pod-node-selector.ts';
import { nodeDeclaredFeatureValidator, podResizeValidator } from './pod-resize.ts';
import { podSecurity } from './pod-security.ts';
import { podTolerationRestriction } from './pod-toleration-restriction.ts';
import { podTopologyLabels } from './pod-topology-labels.ts';
import { priority } from './priority.ts';
import { resourceQuota } from './resource-quota.ts';
import { runtimeClass } from './runtime-class.ts';
import { serviceAccount } from './service-account.ts';
import { storageObjectInUseProtection } from './storage-protection.ts';
import { taintNodesByCondition } from './taint-nodes.ts';
import { validatingAdmissionPolicy } from './validating-policy.ts';
import { mutatingAdmissionWebhook } from './webhooks/mutating.ts';
import { validatingAdmissionWebhook } from './webhooks/validating.ts';

/** The plugins that there are, with what the cluster's settings say to them; `order.ts` says when each runs. */
export const pluginsWith = (settings: Settings): readonly Plugin[] => [
  alwaysAdmit,
  namespaceAutoProvision,
  namespaceLifecycle,
  namespaceExists,
  limitPodHardAntiAffinityTopology,
  limitRanger,
  serviceAccount,
  nodeRestriction,
  taintNodesByCondition,
  alwaysPullImages,
  podSecurity,
  podNodeSelector,
  priority,
  defaultTolerationSeconds,
  podTolerationRestriction,
  eventRateLimit(settings),
  extendedResourceToleration,
  defaultStorageClass,
  storageObjectInUseProtection,
  ownerReferencesPermissionEnforcement,
  persistentVolumeClaimResize,
  runtimeClass,
  certificateApproval,
  certificateSigning,
  clusterTrustBundleAttest,
  certificateSubjectRestriction,
  defaultIngressClass,
  denyServiceExternalIPs,
  podTopologyLabels,
  nodeDeclaredFeatureValidator,
  podResizeValidator,
  mutatingAdmissionPolicy,
  mutatingAdmissionWebhook,
  validatingAdmissionPolicy,
  validatingAdmissionWebhook,
  resourceQuota,
  alwaysDeny,
];

function run(choice: PluginChoice, settings: Settings): readonly Plugin[] {
  const byName = new Map(pluginsWith(settings).map((plugin) => [plugin.name, plugin]));
  return chosen(choice).flatMap((name) => byName.get(name) ?? []);
}

/** The plugins that run in a cluster, in order. To be asked for once: they may keep count of what they saw. */
export const enabledPlugins = (config: Config): readonly Plugin[] => run(config.admissionPlugins, settingsOf(config));

/** The plugins that look at a request. */
export const pluginsOf = (ctx: RequestContext): readonly Plugin[] =>
  ctx.plugins ?? run({ enable: [], disable: [] }, settingsOf(ctx.config));
