import type { Config } from '../config.ts';
import type { RequestContext } from '../request/context.ts';
import type { Plugin } from './chain.ts';
import { defaultIngressClass, defaultStorageClass } from './default-classes.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { limitRanger } from './limit-ranger.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { chosen, type PluginChoice } from './order.ts';
import { podSecurity } from './pod-security.ts';
import { priority } from './priority.ts';
import { resourceQuota } from './resource-quota.ts';
import { runtimeClass } from './runtime-class.ts';
import { serviceAccount } from './service-account.ts';
import { storageObjectInUseProtection } from './storage-protection.ts';
import { taintNodesByCondition } from './taint-nodes.ts';

/** The plugins that there are; `order.ts` says when each runs. */
export const plugins: readonly Plugin[] = [
  namespaceLifecycle,
  limitRanger,
  serviceAccount,
  taintNodesByCondition,
  podSecurity,
  priority,
  defaultTolerationSeconds,
  defaultStorageClass,
  storageObjectInUseProtection,
  runtimeClass,
  defaultIngressClass,
  resourceQuota,
];

const byName: ReadonlyMap<string, Plugin> = new Map(plugins.map((plugin) => [plugin.name, plugin]));

const run = (choice: PluginChoice): readonly Plugin[] => chosen(choice).flatMap((name) => byName.get(name) ?? []);

const usual = run({ enable: [], disable: [] });

/** The plugins that run in a cluster, in order. */
export const enabledPlugins = (config: Config): readonly Plugin[] => run(config.admissionPlugins);

/** The plugins that look at a request. */
export const pluginsOf = (ctx: RequestContext): readonly Plugin[] => ctx.plugins ?? usual;
