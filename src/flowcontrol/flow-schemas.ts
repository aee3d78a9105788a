import { bool, int, mapOf, objects, text, texts } from '../api/fields.ts';
import type { JsonObject } from '../api/object.ts';
import type { RequestInfo, UserInfo } from '../request/context.ts';

interface ResourceRule {
  verbs: readonly string[];
  apiGroups: readonly string[];
  resources: readonly string[];
  namespaces: readonly string[];
  clusterScope: boolean;
}

interface NonResourceRule {
  verbs: readonly string[];
  paths: readonly string[];
}

interface Rule {
  subjects: readonly ((user: UserInfo) => boolean)[];
  resourceRules: readonly ResourceRule[];
  nonResourceRules: readonly NonResourceRule[];
}

/** A FlowSchema, compiled. */
export interface FlowSchema {
  type: 'schema';
  name: string;
  uid: string;
  precedence: number;
  level: string;
  /** `ByUser`, `ByNamespace`, or empty: what tells the flows of the schema apart. */
  distinguisher: string;
  rules: readonly Rule[];
}

/** A PriorityLevelConfiguration, compiled. */
export interface PriorityLevel {
  type: 'level';
  name: string;
  uid: string;
  exempt: boolean;
  shares: number;
  lendablePercent: number;
  /** undefined: it may borrow all that is lent. */
  borrowingLimitPercent: number | undefined;
  /** undefined: what finds no seat is refused at once. */
  queuing: { queues: number; handSize: number; queueLengthLimit: number } | undefined;
}

/** What a request was put in. */
export interface Classification {
  schema: FlowSchema;
  level: PriorityLevel;
  /** Tells the flows of one schema apart. */
  flow: string;
}

/** Compiles a stored FlowSchema or PriorityLevelConfiguration; undefined for anything else. */
export function flowEntry(object: JsonObject): FlowSchema | PriorityLevel | undefined {
  if (object.kind === 'FlowSchema') return schemaOf(object);
  return object.kind === 'PriorityLevelConfiguration' ? levelOf(object) : undefined;
}

function schemaOf(object: JsonObject): FlowSchema {
  const metadata = mapOf(object.metadata);
  const spec = mapOf(object.spec);
  return {
    type: 'schema',
    name: text(metadata.name),
    uid: text(metadata.uid),
    precedence: int(spec.matchingPrecedence),
    level: text(mapOf(spec.priorityLevelConfiguration).name),
    distinguisher: text(mapOf(spec.distinguisherMethod).type),
    rules: objects(spec.rules).map(ruleOf),
  };
}

function ruleOf(rule: JsonObject): Rule {
  return {
    subjects: objects(rule.subjects).map(subjectOf),
    resourceRules: objects(rule.resourceRules).map((r) => ({
      verbs: texts(r.verbs),
      apiGroups: texts(r.apiGroups),
      resources: texts(r.resources),
      namespaces: texts(r.namespaces),
      clusterScope: bool(r.clusterScope),
    })),
    nonResourceRules: objects(rule.nonResourceRules).map((r) => ({
      verbs: texts(r.verbs),
      paths: texts(r.nonResourceURLs),
    })),
  };
}

function subjectOf(subject: JsonObject): (user: UserInfo) => boolean {
  if (subject.kind === 'User') {
    const name = text(mapOf(subject.user).name);
    return (user) => name === '*' || user.name === name;
  }
  if (subject.kind === 'Group') {
    const name = text(mapOf(subject.group).name);
    return (user) => name === '*' || user.groups.includes(name);
  }
  const account = mapOf(subject.serviceAccount);
  const prefix = `system:serviceaccount:${text(account.namespace)}:`;
  if (account.name === '*') return (user) => user.name.startsWith(prefix);
  const full = prefix + text(account.name);
  return (user) => user.name === full;
}

function levelOf(object: JsonObject): PriorityLevel {
  const metadata = mapOf(object.metadata);
  const spec = mapOf(object.spec);
  const exempt = spec.type === 'Exempt';
  const settings = mapOf(exempt ? spec.exempt : spec.limited);
  const response = mapOf(settings.limitResponse);
  const queuing = mapOf(response.queuing);
  const queues = { queues: int(queuing.queues), handSize: int(queuing.handSize) };
  return {
    type: 'level',
    name: text(metadata.name),
    uid: text(metadata.uid),
    exempt,
    shares: int(settings.nominalConcurrencyShares),
    lendablePercent: int(settings.lendablePercent),
    borrowingLimitPercent:
      settings.borrowingLimitPercent === undefined ? undefined : int(settings.borrowingLimitPercent),
    queuing: response.type === 'Queue' ? { ...queues, queueLengthLimit: int(queuing.queueLengthLimit) } : undefined,
  };
}

/** The flow schemas of a tenant in the order in which they are tried, and the levels that they name. */
export class FlowIndex {
  readonly levels: ReadonlyMap<string, PriorityLevel>;
  readonly #schemas: readonly FlowSchema[];

  constructor(entries: readonly (FlowSchema | PriorityLevel)[]) {
    this.levels = new Map(entries.flatMap((entry) => (entry.type === 'level' ? [[entry.name, entry] as const] : [])));
    this.#schemas = entries
      .filter((entry) => entry.type === 'schema')
      .filter(({ level }) => this.levels.has(level))
      .sort((a, b) => a.precedence - b.precedence || (a.name < b.name ? -1 : 1));
  }

  /** The first schema that matches, with its level; undefined only while a tenant has no schemas yet. */
  classify(user: UserInfo, info: RequestInfo): Classification | undefined {
    const schema = this.#schemas.find(({ rules }) => rules.some((rule) => matches(rule, user, info)));
    if (schema === undefined) return undefined;
    const flows: Readonly<Record<string, string>> = { ByUser: user.name, ByNamespace: info.namespace };
    return { schema, level: this.levels.get(schema.level)!, flow: flows[schema.distinguisher] ?? '' };
  }
}

const among = (list: readonly string[], value: string) => list.includes('*') || list.includes(value);

function matches(rule: Rule, user: UserInfo, info: RequestInfo): boolean {
  if (!rule.subjects.some((subject) => subject(user))) return false;
  if (!info.isResourceRequest) return rule.nonResourceRules.some((r) => matchesPath(r, info));
  const resource = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
  return rule.resourceRules.some(
    ({ verbs, resources, apiGroups, namespaces, clusterScope }) =>
      among(verbs, info.verb) &&
      among(resources, resource) &&
      among(apiGroups, info.group) &&
      (info.namespace === '' ? clusterScope : among(namespaces, info.namespace)),
  );
}

function matchesPath({ verbs, paths }: NonResourceRule, { verb, path }: RequestInfo): boolean {
  if (!among(verbs, verb)) return false;
  return paths.some((pattern) => {
    if (pattern === '*' || pattern === path) return true;
    const prefix = pattern.endsWith('*') ? pattern.slice(0, -1) : pattern;
    return path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`);
  });
}
