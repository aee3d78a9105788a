import * as v from 'valibot';
import type { Config } from '../config.ts';
import { isLevel, type Level, parseVersion, type Version } from './pod-security/policy.ts';

/** Configuration of the plugins that take one, in upstream's formats, by the plugin's name. */

const names = v.optional(v.array(v.string()), []);

const level = v.optional(
  v.pipe(
    v.string(),
    v.check(isLevel, 'must be one of privileged, baseline, restricted'),
    v.transform((text) => text as Level),
  ),
  'privileged',
);
const version = v.optional(
  v.pipe(
    v.string(),
    v.check((text) => parseVersion(text) !== undefined, 'must be "latest" or "v1.x"'),
    v.transform((text): Version => parseVersion(text) ?? 'latest'),
  ),
  'latest',
);

const demands = v.pipe(
  v.object({
    enforce: level,
    'enforce-version': version,
    audit: level,
    'audit-version': version,
    warn: level,
    'warn-version': version,
  }),
  v.transform((given) => ({
    enforce: { level: given.enforce, version: given['enforce-version'] },
    audit: { level: given.audit, version: given['audit-version'] },
    warn: { level: given.warn, version: given['warn-version'] },
  })),
);

/** pod-security.admission.config.k8s.io/v1 PodSecurityConfiguration. */
const podSecurity = v.object({
  defaults: v.optional(demands, {}),
  exemptions: v.optional(v.object({ usernames: names, namespaces: names, runtimeClasses: names }), {}),
});

/** eventratelimit.admission.k8s.io/v1alpha1 Configuration. */
const eventRateLimit = v.object({
  limits: v.optional(
    v.array(
      v.object({
        type: v.picklist(['Server', 'Namespace', 'User', 'SourceAndObject']),
        qps: v.pipe(v.number(), v.minValue(1)),
        burst: v.pipe(v.number(), v.minValue(1)),
        cacheSize: v.optional(v.pipe(v.number(), v.minValue(1)), 4096),
      }),
    ),
    [],
  ),
});

/** Selectors of nodes, by namespace; `clusterDefaultNodeSelector` is for those that say nothing. */
const podNodeSelector = v.record(v.string(), v.string());

const toleration = v.object({
  key: v.optional(v.string(), ''),
  operator: v.optional(v.string(), 'Equal'),
  value: v.optional(v.string(), ''),
  effect: v.optional(v.string(), ''),
  tolerationSeconds: v.exactOptional(v.number()),
});

/** podtolerationrestriction.admission.k8s.io/v1alpha1 Configuration. */
const podTolerationRestriction = v.object({
  default: v.optional(v.array(toleration), []),
  whitelist: v.optional(v.array(toleration), []),
});

export const settingsSchema = v.object({
  EventRateLimit: v.optional(eventRateLimit, {}),
  PodNodeSelector: v.optional(podNodeSelector, {}),
  PodSecurity: v.optional(podSecurity, {}),
  PodTolerationRestriction: v.optional(podTolerationRestriction, {}),
});

/** The settings of a cluster. */
export type Settings = v.InferOutput<typeof settingsSchema>;

const usual: Settings = v.parse(settingsSchema, {});

/** The settings of a cluster; those that nobody gave are upstream's. */
export const settingsOf = (config: Config | undefined): Settings => config?.admission ?? usual;
