import { objects, text, texts } from '../api/fields.ts';
import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../api/object.ts';
import { selfSubjectReview, tokenReview } from '../authn/reviews.ts';
import { withSender } from '../authn/sender.ts';
import type { Config } from '../config.ts';
import type { Requirement } from '../keyspace/types.ts';
import type { RequestPolicy } from '../policy/guard.ts';
import type { RequestContext, UserInfo } from '../request/context.ts';
import { parseLabelSelector } from '../request/selectors.ts';
import { badRequest, causes, invalid, type StatusCause } from '../status/status.ts';
import { type Attributes, type FieldRequirement, fieldRequirements } from './attributes.ts';
import { authorize } from './index.ts';
import { selectorFaults } from './review-selectors.ts';
import { rulesOf } from './rules.ts';

const GROUP = 'authorization.k8s.io';

const object = (value: JsonValue | undefined): JsonObject | undefined => (isObject(value) ? value : undefined);

/** What the three access reviews differ in. */
interface AccessReview {
  /** Whether the subject is in the spec, not the asker. */
  named: boolean;
  /** Whether the review lives in a namespace and speaks of it only. */
  local: boolean;
}

/** How internal attributes are shown in a cause. */
const shownPath = (a: JsonObject) => ({ Path: text(a.path), Verb: text(a.verb) });

function specFaults(spec: JsonObject, review: AccessReview): StatusCause[] {
  const resource = object(spec.resourceAttributes);
  const path = object(spec.nonResourceAttributes);
  const faults: StatusCause[] = [];
  if (resource !== undefined && path !== undefined) {
    const why = 'cannot be specified in combination with resourceAttributes';
    faults.push(causes.invalid('spec.nonResourceAttributes', shownPath(path), why));
  }
  if (resource === undefined && path === undefined) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    faults.push(causes.invalid('spec.resourceAttributes', null, why));
  }
  if (review.named && text(spec.user) === '' && texts(spec.groups).length === 0) {
    faults.push(causes.invalid('spec.user', '', 'at least one of user or group must be specified'));
  }
  if (resource !== undefined) faults.push(...selectorFaults(resource, 'spec.resourceAttributes'));
  return faults;
}

function metadataFaults(body: KubeObject, spec: JsonObject, review: AccessReview, namespace: string): StatusCause[] {
  const { managedFields: _m, namespace: _n, creationTimestamp, ...others } = body.metadata;
  const faults: StatusCause[] = [];
  if (
    Object.keys(others).length > 0 ||
    (creationTimestamp ?? null) !== null ||
    (!review.local && _n !== undefined && _n !== '')
  ) {
    const why = review.local ? 'must be empty except for namespace' : 'must be empty';
    faults.push(causes.invalid('metadata', body.metadata, why));
  }
  if (!review.local) return faults;
  const resource = object(spec.resourceAttributes);
  const path = object(spec.nonResourceAttributes);
  if (resource !== undefined && text(resource.namespace) !== namespace) {
    const why = 'must match metadata.namespace';
    faults.push(causes.invalid('spec.resourceAttributes.namespace', text(resource.namespace), why));
  }
  if (path !== undefined) {
    faults.push(causes.invalid('spec.nonResourceAttributes', shownPath(path), 'disallowed on this kind of request'));
  }
  return faults;
}

function subjectOf(spec: JsonObject): UserInfo {
  const extra = Object.entries(object(spec.extra) ?? {}).map(([key, value]) => [key, texts(value)] as const);
  const uid = text(spec.uid);
  return {
    name: text(spec.user),
    ...(uid === '' ? {} : { uid }),
    groups: texts(spec.groups),
    extra: Object.fromEntries(extra),
  };
}

/** Selectors of a review that could be read, and notes on what could not. */
interface Selectors {
  fields: FieldRequirement[];
  notes: string[];
}

const note = (which: string, readable: number) =>
  `spec.resourceAttributes.${which} ${readable > 0 ? 'partially ' : ''}ignored due to parse error`;

function readFieldSelector(selector: JsonObject): Selectors {
  const raw = text(selector.rawSelector);
  const wanted = objects(selector.requirements);
  if (raw !== '') {
    const terms = raw.split(',').filter((t) => t !== '');
    const fields = fieldRequirements(raw);
    return fields.length === terms.length ? { fields, notes: [] } : { fields: [], notes: [note('fieldSelector', 0)] };
  }
  const fields: FieldRequirement[] = [];
  for (const { key, operator, values } of wanted) {
    const [value, ...more] = texts(values);
    if (value === undefined || more.length > 0 || (operator !== 'In' && operator !== 'NotIn')) continue;
    fields.push({ key: text(key), operator: operator === 'In' ? '=' : '!=', value });
  }
  return { fields, notes: fields.length === wanted.length ? [] : [note('fieldSelector', fields.length)] };
}

const labelOperators = { In: 'in', NotIn: 'notIn', Exists: 'exists', DoesNotExist: 'notExists' } as const;

function readLabelSelector(selector: JsonObject): { labels: Requirement[]; notes: string[] } {
  const raw = text(selector.rawSelector);
  if (raw !== '') {
    try {
      return { labels: parseLabelSelector(raw), notes: [] };
    } catch {
      return { labels: [], notes: [note('labelSelector', 0)] };
    }
  }
  const wanted = objects(selector.requirements);
  const labels = wanted.flatMap(({ key, operator, values }): Requirement[] => {
    const name = text(operator);
    if (!Object.hasOwn(labelOperators, name)) return [];
    const op = labelOperators[name as keyof typeof labelOperators];
    return [op === 'in' || op === 'notIn' ? { op, key: text(key), values: texts(values) } : { op, key: text(key) }];
  });
  return { labels, notes: labels.length === wanted.length ? [] : [note('labelSelector', labels.length)] };
}

function reviewAttributes(spec: JsonObject, user: UserInfo): { attributes: Attributes; notes: string[] } {
  const resource = object(spec.resourceAttributes);
  const none = { group: '', version: '', resource: '', subresource: '', namespace: '', name: '' };
  if (resource === undefined) {
    const path = object(spec.nonResourceAttributes) ?? {};
    const attributes = { user, verb: text(path.verb), isResourceRequest: false, path: text(path.path), ...none };
    return { attributes, notes: [] };
  }
  const fieldSelector = object(resource.fieldSelector);
  const labelSelector = object(resource.labelSelector);
  const labelled = labelSelector === undefined ? { labels: [], notes: [] } : readLabelSelector(labelSelector);
  const selectors = fieldSelector === undefined ? { fields: [], notes: [] } : readFieldSelector(fieldSelector);
  return {
    attributes: {
      user,
      verb: text(resource.verb),
      isResourceRequest: true,
      path: '',
      group: text(resource.group),
      version: text(resource.version) || '*',
      resource: text(resource.resource),
      subresource: text(resource.subresource),
      namespace: text(resource.namespace),
      name: text(resource.name),
      ...(selectors.fields.length === 0 ? {} : { fieldSelector: selectors.fields }),
      ...(labelled.labels.length === 0 ? {} : { labelSelector: labelled.labels }),
    },
    notes: [...selectors.notes, ...labelled.notes],
  };
}

async function currentPolicy(ctx: RequestContext): Promise<RequestPolicy> {
  if (ctx.policy === undefined) throw new TypeError('a request without a policy has no access reviews');
  await ctx.policy.confirm();
  return ctx.policy;
}

async function accessReview(ctx: RequestContext, body: KubeObject, review: AccessReview): Promise<KubeObject> {
  const spec = object(body.spec) ?? {};
  const { namespace } = ctx.info;
  const own = text(body.metadata.namespace);
  if (own !== '' && own !== namespace && review.local) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  const faults = [...specFaults(spec, review), ...metadataFaults(body, spec, review, namespace)];
  if (faults.length > 0) throw invalid({ group: GROUP, name: '' }, '', faults);
  const { attributes, notes } = reviewAttributes(spec, review.named ? subjectOf(spec) : ctx.user);
  const policy = await currentPolicy(ctx);
  const { decision, reason, error } = await authorize(attributes, policy.data());
  const troubles = error === undefined ? notes : [error, ...notes];
  return {
    ...body,
    metadata: review.local ? { ...body.metadata, namespace } : body.metadata,
    status: {
      allowed: decision === 'allow',
      ...(decision === 'deny' ? { denied: true } : {}),
      ...(reason === '' ? {} : { reason }),
      ...(troubles.length === 0 ? {} : { evaluationError: troubles.join('; ') }),
    },
  };
}

/** SelfSubjectRulesReview: the rules that count for the asker in a namespace. */
async function rulesReview(ctx: RequestContext, body: KubeObject): Promise<KubeObject> {
  const namespace = text(object(body.spec)?.namespace);
  if (namespace === '') throw badRequest('no namespace on request');
  const policy = await currentPolicy(ctx);
  return {
    kind: 'SelfSubjectRulesReview',
    apiVersion: `${GROUP}/v1`,
    metadata: {},
    spec: {},
    status: rulesOf(ctx.user, namespace, policy.data()),
  };
}

interface Review {
  groupVersion: string;
  kind: string;
  /** Whether the answer is what was sent with a status, so that its sender owns its fields. */
  echoes: boolean;
  serve: (config: Config, ctx: RequestContext, body: KubeObject) => Promise<KubeObject>;
}

const AUTHENTICATION = 'authentication.k8s.io/v1';
const AUTHORIZATION = `${GROUP}/v1`;

const access = (kind: string, review: AccessReview): Review => ({
  groupVersion: AUTHORIZATION,
  kind,
  echoes: true,
  serve: (_config, ctx, body) => accessReview(ctx, body, review),
});

const reviews: Record<string, Review> = {
  selfsubjectreviews: {
    groupVersion: AUTHENTICATION,
    kind: 'SelfSubjectReview',
    echoes: false,
    serve: (_config, ctx) => selfSubjectReview(ctx),
  },
  tokenreviews: { groupVersion: AUTHENTICATION, kind: 'TokenReview', echoes: true, serve: tokenReview },
  selfsubjectaccessreviews: access('SelfSubjectAccessReview', { named: false, local: false }),
  subjectaccessreviews: access('SubjectAccessReview', { named: true, local: false }),
  localsubjectaccessreviews: access('LocalSubjectAccessReview', { named: true, local: true }),
  selfsubjectrulesreviews: {
    groupVersion: AUTHORIZATION,
    kind: 'SelfSubjectRulesReview',
    echoes: false,
    serve: (_config, ctx, body) => rulesReview(ctx, body),
  },
};

/** Whether a resource is a review: created only, answered at once with 201, never stored. */
export const isReview = (resource: string): boolean => Object.hasOwn(reviews, resource);

/**
 * Answers the create of a review (authentication.k8s.io and authorization.k8s.io). `body` is the decoded object, with
 * its kind checked by the caller. Throws 400 and 422 as kube-apiserver does.
 */
export async function serveReview(
  config: Config,
  ctx: RequestContext,
  resource: string,
  body: KubeObject,
): Promise<KubeObject> {
  const review = Object.hasOwn(reviews, resource) ? reviews[resource] : undefined;
  if (review === undefined) throw new TypeError(`${resource} is no review`);
  const { groupVersion, kind, echoes, serve } = review;
  const whole = { ...body, metadata: body.metadata ?? {} };
  return serve(config, ctx, echoes ? withSender(ctx, whole, groupVersion, kind) : whole);
}
