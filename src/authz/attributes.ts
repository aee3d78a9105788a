import type { Requirement } from '../keyspace/types.ts';
import type { RequestInfo, UserInfo } from '../request/context.ts';
import { parseLabelSelector } from '../request/selectors.ts';
import { forbidden, StatusError } from '../status/status.ts';

/** What an authorizer decides about: a RequestInfo with its user, or the spec of an access review. */
export interface Attributes {
  user: UserInfo;
  verb: string;
  isResourceRequest: boolean;
  /** Only for non-resource requests. */
  path: string;
  group: string;
  version: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
  /** Requirements of the field selector, for authorizers that look at it (Node). */
  fieldSelector?: readonly FieldRequirement[];
  /** Requirements of the label selector, for webhooks. */
  labelSelector?: readonly Requirement[];
}

export interface FieldRequirement {
  key: string;
  operator: '=' | '!=';
  value: string;
}

export type Decision = 'allow' | 'deny' | 'noOpinion';

/** An authorizer's answer; `reason` is shown in reviews and after the refusal. */
export interface Verdict {
  decision: Decision;
  reason: string;
  /** What kept the authorizer from its answer: a request that is not allowed by another fails with it. */
  error?: string;
}

/** The attributes of a request. `query` tells the selectors of list, watch and deletecollection. */
export function attributesOf(user: UserInfo, info: RequestInfo, query?: URLSearchParams): Attributes {
  const { verb, isResourceRequest, path, group, version, resource, subresource, namespace, name } = info;
  const selector = info.isResourceRequest ? (query?.get('fieldSelector') ?? '') : '';
  const labels = info.isResourceRequest ? (query?.get('labelSelector') ?? '') : '';
  return {
    user,
    verb,
    isResourceRequest,
    path,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
    ...(selector === '' ? {} : { fieldSelector: fieldRequirements(selector) }),
    ...(labels === '' ? {} : { labelSelector: labelRequirements(labels) }),
  };
}

/** Reads a label selector leniently: a malformed one is answered later, when the list is decoded. */
export function labelRequirements(selector: string): Requirement[] {
  try {
    return parseLabelSelector(selector);
  } catch (error) {
    if (error instanceof StatusError) return [];
    throw error;
  }
}

/** Reads `a=b,c!=d` leniently: what is malformed is answered later, when the list is decoded. */
export function fieldRequirements(selector: string): FieldRequirement[] {
  const out: FieldRequirement[] = [];
  for (const part of selector.split(',')) {
    const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(part);
    if (match !== null) out.push({ key: match[1]!, operator: match[2] === '!=' ? '!=' : '=', value: match[3]! });
  }
  return out;
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const quote = (s: string) => JSON.stringify(s);

function describe(a: Attributes): string {
  const who = `User ${quote(a.user.name)} cannot ${a.verb}`;
  if (!a.isResourceRequest) return `${who} path ${quote(a.path)}`;
  const resource = a.subresource === '' ? a.resource : `${a.resource}/${a.subresource}`;
  const scope = a.namespace === '' ? 'at the cluster scope' : `in the namespace ${quote(a.namespace)}`;
  return `${who} resource ${quote(resource)} in API group ${quote(a.group)} ${scope}`;
}

/** The 403 of a refused request, in the words that clients know; `reason` may be empty. */
export function forbiddenError(a: Attributes, reason: string): StatusError {
  const text = describe(a).replace(/[&<>]/g, (c) => escapes[c]!);
  const why = reason === '' ? text : `${text}: ${reason}`;
  return forbidden(
    { group: a.group, name: a.isResourceRequest ? a.resource : '' },
    a.isResourceRequest ? a.name : '',
    why,
  );
}
