import { text } from '../../api/fields.ts';
import type { JsonObject, JsonValue } from '../../api/object.ts';
import { ExpiringCache } from '../../authn/cache.ts';
import type { Requirement } from '../../keyspace/types.ts';
import { ReviewError, type ReviewRuntime, sendReview } from '../../outbound/review-client.ts';
import type { Attributes, Decision, Verdict } from '../attributes.ts';
import { durationMilliseconds, type WebhookConfiguration } from '../configuration.ts';
import { compileMatchCondition, type MatchCondition, matchesReview } from './match.ts';

const CACHED_ANSWERS = 8192;
/** Requests whose own texts are longer are not remembered: they would push out others'. */
const LONGEST_CACHED = 10_000;

const omitEmpty = (fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined && entry[1] !== ''),
  );

const LABEL_OPERATORS: Readonly<Record<string, string>> = {
  in: 'In',
  notIn: 'NotIn',
  exists: 'Exists',
  notExists: 'DoesNotExist',
};

function labelRequirements(requirements: readonly Requirement[]): JsonObject[] {
  return requirements.flatMap((requirement) => {
    const operator = LABEL_OPERATORS[requirement.op];
    if (operator === undefined) return [];
    return [
      { key: requirement.key, operator, ...('values' in requirement ? { values: [...requirement.values] } : {}) },
    ];
  });
}

function resourceAttributes(a: Attributes): JsonObject {
  const fields = (a.fieldSelector ?? []).map(({ key, operator, value }) => ({
    key,
    operator: operator === '=' ? 'In' : 'NotIn',
    values: [value],
  }));
  const labels = labelRequirements(a.labelSelector ?? []);
  const { namespace, verb, group, version, resource, subresource, name } = a;
  return {
    ...omitEmpty({ namespace, verb, group, version, resource, subresource, name }),
    ...(fields.length === 0 ? {} : { fieldSelector: { requirements: fields } }),
    ...(labels.length === 0 ? {} : { labelSelector: { requirements: labels } }),
  };
}

/** The spec of the SubjectAccessReview (v1) that asks for a decision. */
export function reviewSpec(a: Attributes): JsonObject {
  const { name, groups, extra, uid } = a.user;
  return {
    ...(a.isResourceRequest
      ? { resourceAttributes: resourceAttributes(a) }
      : { nonResourceAttributes: omitEmpty({ path: a.path, verb: a.verb }) }),
    ...omitEmpty({ user: name }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
    ...omitEmpty({ uid }),
  };
}

/** v1beta1 calls the groups `group`. */
function ofVersion(spec: JsonObject, version: string): JsonObject {
  if (version === 'v1') return spec;
  const { groups, ...rest } = spec;
  return groups === undefined ? rest : { ...rest, group: groups };
}

const ownLength = (a: Attributes) =>
  [a.namespace, a.verb, a.group, a.version, a.resource, a.subresource, a.name, a.path].join('').length;

/** A webhook that decides by SubjectAccessReview; its answers are remembered in the isolate. */
export class WebhookAuthorizer {
  readonly #config: WebhookConfiguration;
  readonly #runtime: ReviewRuntime;
  readonly #now: () => number;
  readonly #conditions: readonly MatchCondition[];
  readonly #answers = new ExpiringCache<JsonObject>(CACHED_ANSWERS, 0);

  /** `now` in milliseconds. Throws TypeError where a condition does not compile. */
  constructor(config: WebhookConfiguration, runtime: ReviewRuntime, now: () => number) {
    this.#config = config;
    this.#runtime = runtime;
    this.#now = now;
    this.#conditions = config.matchConditions.map(({ expression }) => compileMatchCondition(expression));
  }

  async authorize(attributes: Attributes): Promise<Verdict> {
    const spec = reviewSpec(attributes);
    const match = matchesReview(this.#conditions, spec);
    if ('error' in match) return this.#failed(match.error);
    if (!match.matches) return { decision: 'noOpinion', reason: '' };
    const key = JSON.stringify(spec);
    const known = this.#answers.get(key, this.#now());
    if (known !== undefined) return verdictOf(known);
    try {
      const status = await this.#ask(spec);
      const milliseconds = ownLength(attributes) < LONGEST_CACHED ? this.#lifetime(status.allowed === true) : 0;
      if (milliseconds > 0) this.#answers.set(key, status, this.#now(), milliseconds);
      return verdictOf(status);
    } catch (error) {
      if (!(error instanceof ReviewError)) throw error;
      console.warn(`webhook authorizer: ${error.message}`);
      return this.#failed(error.message);
    }
  }

  #ask(spec: JsonObject): Promise<JsonObject> {
    const { subjectAccessReviewVersion: version, connection, timeout } = this.#config;
    const review = {
      apiVersion: `authorization.k8s.io/${version}`,
      kind: 'SubjectAccessReview',
      spec: ofVersion(spec, version),
    };
    return sendReview(review, connection, durationMilliseconds(timeout) ?? 0, this.#runtime);
  }

  #lifetime(allowed: boolean): number {
    const { authorizedTTL, cacheAuthorizedRequests, unauthorizedTTL, cacheUnauthorizedRequests } = this.#config;
    if (!(allowed ? cacheAuthorizedRequests : cacheUnauthorizedRequests)) return 0;
    return durationMilliseconds(allowed ? authorizedTTL : unauthorizedTTL) ?? 0;
  }

  #failed(error: string): Verdict {
    return { decision: this.#config.failurePolicy === 'Deny' ? 'deny' : 'noOpinion', reason: '', error };
  }
}

function verdictOf(status: JsonObject): Verdict {
  const reason = text(status.reason);
  const [allowed, denied] = [status.allowed === true, status.denied === true];
  const both = allowed && denied && 'webhook subject access review returned both allow and deny response';
  const decision: Decision = denied ? 'deny' : allowed ? 'allow' : 'noOpinion';
  return { decision, reason, ...(both && { error: both }) };
}
