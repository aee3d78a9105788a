import { causes, type StatusCause } from '../../status/status.ts';

export type Level = 'privileged' | 'baseline' | 'restricted';
const LEVELS: readonly Level[] = ['privileged', 'baseline', 'restricted'];

/** A minor version of policy, or the newest. */
export type Version = number | 'latest';

/** How much is asked of pods, and as of which version. */
export interface Demand {
  level: Level;
  version: Version;
}

/** What a namespace asks of its pods. */
export interface Policy {
  enforce: Demand;
  audit: Demand;
  warn: Demand;
}

const PREFIX = 'pod-security.kubernetes.io/';
export const LABELS = {
  enforce: [`${PREFIX}enforce`, `${PREFIX}enforce-version`],
  audit: [`${PREFIX}audit`, `${PREFIX}audit-version`],
  warn: [`${PREFIX}warn`, `${PREFIX}warn-version`],
} as const;

/** A demand as messages show it. */
export const show = ({ level, version }: Demand): string =>
  `${level}:${version === 'latest' ? version : `v1.${version}`}`;

export const sameDemand = (a: Demand, b: Demand): boolean => a.level === b.level && a.version === b.version;

/** Negative, 0 or positive as `a` asks less than, as much as or more than `b`. */
export const compareLevels = (a: Level, b: Level): number => LEVELS.indexOf(a) - LEVELS.indexOf(b);

export const isLevel = (text: string): text is Level => LEVELS.some((level) => level === text);

/** Reads `latest` or `v1.N`. */
export function parseVersion(text: string): Version | undefined {
  if (text === 'latest') return text;
  const minor = /^v1\.([0-9]|[1-9][0-9]*)$/.exec(text)?.[1];
  return minor === undefined ? undefined : Number(minor);
}

export interface PolicyReading {
  policy: Policy;
  /** Labels that cannot be read; what they stand for is then the strictest (enforced) or nothing (told only). */
  faults: StatusCause[];
}

/** What a namespace's labels ask for over the defaults. */
export function readPolicy(labels: Readonly<Record<string, string>>, defaults: Policy): PolicyReading {
  const policy = { enforce: { ...defaults.enforce }, audit: { ...defaults.audit }, warn: { ...defaults.warn } };
  const faults: StatusCause[] = [];
  const labelOf = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  const fault = (key: string, value: string, why: string) =>
    faults.push(causes.invalid(`metadata.labels[${key}]`, value, why));
  for (const mode of ['enforce', 'audit', 'warn'] as const) {
    const [levelKey, versionKey] = LABELS[mode];
    const level = labelOf(levelKey);
    if (level !== undefined) {
      if (isLevel(level)) policy[mode].level = level;
      else {
        policy[mode].level = mode === 'enforce' ? 'restricted' : 'privileged';
        fault(levelKey, level, `must be one of ${LEVELS.join(', ')}`);
      }
    }
    const version = labelOf(versionKey);
    if (version === undefined) continue;
    const parsed = parseVersion(version);
    policy[mode].version = parsed ?? 'latest';
    if (parsed === undefined) fault(versionKey, version, 'must be "latest" or "v1.x"');
  }
  warnOfEnforced(policy, labelOf);
  return { policy, faults };
}

/** Where a namespace enforces more than it warns of and says nothing of warnings, it warns of what it enforces. */
function warnOfEnforced(policy: Policy, labelOf: (key: string) => string | undefined): void {
  const enforced = labelOf(LABELS.enforce[0]);
  if (labelOf(LABELS.warn[0]) !== undefined || enforced === undefined || !isLevel(enforced)) return;
  if (compareLevels(policy.enforce.level, policy.warn.level) <= 0) return;
  policy.warn.level = policy.enforce.level;
  if (labelOf(LABELS.warn[1]) === undefined) policy.warn.version = policy.enforce.version;
}

/** Whether nothing is asked of anyone. */
export const asksNothing = ({ enforce, audit, warn }: Policy): boolean =>
  [enforce, audit, warn].every(({ level }) => level === 'privileged');
