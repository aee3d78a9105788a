import type { Plugin } from './chain.ts';
import { defaultIngressClass, defaultStorageClass } from './default-classes.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { priority } from './priority.ts';
import { runtimeClass } from './runtime-class.ts';
import { serviceAccount } from './service-account.ts';
import { storageObjectInUseProtection } from './storage-protection.ts';
import { taintNodesByCondition } from './taint-nodes.ts';

/** Built-in plugins in the order in which upstream runs those that are on by default. */
export const plugins: readonly Plugin[] = [
  namespaceLifecycle,
  serviceAccount,
  taintNodesByCondition,
  priority,
  defaultTolerationSeconds,
  defaultStorageClass,
  storageObjectInUseProtection,
  runtimeClass,
  defaultIngressClass,
];
