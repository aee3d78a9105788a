import * as v from 'valibot';
import { connectionSchema } from '../outbound/connection.ts';
import { parseAbacPolicy } from './abac.ts';
import { compileMatchCondition } from './webhook/match.ts';

/** apiserver.config.k8s.io/v1 AuthorizationConfiguration: its shape here, its rules below. */

const text = v.optional(v.string(), '');

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration such as `1m30s`; undefined for what is none. */
export function durationMilliseconds(duration: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(duration)) return undefined;
  let sum = 0;
  for (const [, amount, unit] of duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) sum += Number(amount) * UNITS[unit!]!;
  return sum;
}

const duration = (usual: string) =>
  v.pipe(
    v.optional(v.string(), usual),
    v.check((given) => durationMilliseconds(given) !== undefined, 'must be a duration such as 1m30s'),
  );

const webhook = {
  authorizedTTL: duration('5m0s'),
  cacheAuthorizedRequests: v.optional(v.boolean(), true),
  unauthorizedTTL: duration('30s'),
  cacheUnauthorizedRequests: v.optional(v.boolean(), true),
  timeout: duration('0s'),
  subjectAccessReviewVersion: text,
  matchConditionSubjectAccessReviewVersion: text,
  failurePolicy: text,
  matchConditions: v.optional(v.array(v.strictObject({ expression: text })), []),
};

/** The file's form, which names a kubeconfig file. */
const fileWebhook = v.strictObject({
  ...webhook,
  connectionInfo: v.optional(
    v.strictObject({ type: text, kubeConfigFile: v.optional(v.nullable(v.string()), null) }),
    {},
  ),
});

/** A file of the configuration. */
export const authorizationFile = v.strictObject({
  apiVersion: v.picklist(['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`)),
  kind: v.literal('AuthorizationConfiguration'),
  authorizers: v.optional(
    v.array(v.strictObject({ type: text, name: text, webhook: v.exactOptional(fileWebhook) })),
    [],
  ),
});

/** The Worker's form, which holds what the kubeconfig file said. */
const workerWebhook = v.object({ ...webhook, connection: connectionSchema });

const USUAL = [
  { type: 'Node', name: 'node' },
  { type: 'RBAC', name: 'rbac' },
];

export const authorizationSchema = v.object({
  authorizers: v.optional(
    v.array(v.object({ type: text, name: text, webhook: v.exactOptional(workerWebhook) })),
    USUAL,
  ),
  /** Text of the ABAC policy file. */
  abacPolicy: v.optional(
    v.pipe(
      v.string(),
      v.rawCheck(({ dataset, addIssue }) => {
        try {
          if (dataset.typed) parseAbacPolicy(dataset.value);
        } catch (error) {
          addIssue({ message: (error as Error).message });
        }
      }),
    ),
    '',
  ),
});

export type AuthorizerConfiguration = v.InferOutput<typeof authorizationSchema>['authorizers'][number];
export type WebhookConfiguration = v.InferOutput<typeof workerWebhook>;

/** The types of authorizers. */
export const AUTHORIZER_TYPES = ['ABAC', 'AlwaysAllow', 'AlwaysDeny', 'Node', 'RBAC', 'Webhook'] as const;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LONGEST_TIMEOUT_MS = 30_000;
const MOST_CONDITIONS = 64;

const quoted = (list: readonly string[]) => list.map((one) => JSON.stringify(one)).join(', ');
const required = (path: string, why = '') => `${path}: Required value${why === '' ? '' : `: ${why}`}`;
const invalid = (path: string, value: string, why: string) =>
  `${path}: Invalid value: ${JSON.stringify(value)}: ${why}`;
const duplicate = (path: string, value: string) => `${path}: Duplicate value: ${JSON.stringify(value)}`;

function oneOf(path: string, value: string, allowed: readonly string[]): string[] {
  if (value === '') return [required(path)];
  if (allowed.includes(value)) return [];
  return [`${path}: Unsupported value: ${JSON.stringify(value)}: supported values: ${quoted(allowed)}`];
}

type Rules = Pick<WebhookConfiguration, keyof typeof webhook>;

function conditionFaults(path: string, rules: Rules): string[] {
  const { matchConditions, matchConditionSubjectAccessReviewVersion: version } = rules;
  const faults: string[] = [];
  const at = `${path}.matchConditionSubjectAccessReviewVersion`;
  if (version !== '') faults.push(...oneOf(at, version, ['v1']));
  else if (matchConditions.length > 0) faults.push(required(at, 'required if match conditions are specified'));
  if (matchConditions.length > MOST_CONDITIONS)
    return [...faults, `${path}.matchConditions: Too many: ${matchConditions.length}: must have at most 64 items`];
  const sources = matchConditions.map(({ expression }) => expression);
  for (const [i, source] of sources.entries()) {
    const where = `${path}.matchConditions[${i}].expression`;
    if (source.trim() === '') faults.push(required(where));
    else if (sources.indexOf(source) < i) faults.push(duplicate(where, source));
    else {
      const why = faultOf(() => compileMatchCondition(source));
      if (why !== undefined) faults.push(invalid(where, source, why));
    }
  }
  return faults;
}

function faultOf(act: () => unknown): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function webhookFaults(path: string, rules: Rules): string[] {
  const faults: string[] = [];
  const timeout = durationMilliseconds(rules.timeout) ?? 0;
  if (timeout === 0) faults.push(required(`${path}.timeout`));
  else if (timeout > LONGEST_TIMEOUT_MS)
    faults.push(invalid(`${path}.timeout`, rules.timeout, 'must be > 0s and <= 30s'));
  faults.push(...oneOf(`${path}.subjectAccessReviewVersion`, rules.subjectAccessReviewVersion, ['v1', 'v1beta1']));
  faults.push(...oneOf(`${path}.failurePolicy`, rules.failurePolicy, ['NoOpinion', 'Deny']));
  return [...faults, ...conditionFaults(path, rules)];
}

/**
 * What is wrong with a list of authorizers, as `path: reason`. The rules are upstream's (k8s.io/apiserver,
 * pkg/apis/apiserver/validation).
 */
export function authorizationFaults(authorizers: readonly { type: string; name: string; webhook?: Rules }[]): string[] {
  if (authorizers.length === 0) return [required('authorizers', 'at least one authorization mode must be defined')];
  const faults: string[] = [];
  for (const [i, { type, name, webhook: rules }] of authorizers.entries()) {
    const path = `authorizers[${i}]`;
    const before = authorizers.slice(0, i);
    const wrongType = oneOf(`${path}.type`, type, AUTHORIZER_TYPES);
    if (wrongType.length > 0) {
      faults.push(...wrongType);
      continue;
    }
    if (type !== 'Webhook' && before.some((other) => other.type === type)) faults.push(duplicate(`${path}.type`, type));
    if (name === '') faults.push(required(`${path}.name`));
    else if (before.some((other) => other.name === name)) faults.push(duplicate(`${path}.name`, name));
    else if (!SUBDOMAIN.test(name) || name.length > 253)
      faults.push(invalid(`${path}.name`, name, 'authorizer name is invalid: must be a lowercase RFC 1123 subdomain'));
    if (type !== 'Webhook') {
      if (rules !== undefined)
        faults.push(invalid(`${path}.webhook`, 'non-null', 'may only be specified when type=Webhook'));
    } else if (rules === undefined) faults.push(required(`${path}.webhook`, 'required when type=Webhook'));
    else faults.push(...webhookFaults(path, rules));
  }
  return faults;
}
