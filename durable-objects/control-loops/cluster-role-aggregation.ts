import { objects, texts } from '../../src/api/fields.ts';
import { deepEqual, isObject, type JsonObject, type JsonValue, type KubeObject } from '../../src/api/object.ts';
import { decodeStored } from '../../src/codec/stored.ts';
import type { Requirement } from '../../src/keyspace/types.ts';
import { ApiClient, type LoopConnection, unlessMissing } from './connection.ts';
import type { Outcome } from './outcome.ts';

const PREFIX = '/registry/clusterroles/';
const PATH = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const MANAGER = 'clusterrole-aggregation-controller';
/** Roles may aggregate aggregated roles (view into edit into admin): so many turns at most. */
const MAX_TURNS = 10;

const operators: Record<string, (key: string, values: string[]) => Requirement> = {
  In: (key, values) => ({ op: 'in', key, values }),
  NotIn: (key, values) => ({ op: 'notIn', key, values }),
  Exists: (key) => ({ op: 'exists', key }),
  DoesNotExist: (key) => ({ op: 'notExists', key }),
};

/** The requirements of a LabelSelector; undefined for one that cannot be read. */
function requirementsOf(selector: JsonObject): Requirement[] | undefined {
  const labels = isObject(selector.matchLabels) ? selector.matchLabels : {};
  const out: Requirement[] = Object.entries(labels).map(([key, value]) => ({ op: 'in', key, values: [String(value)] }));
  const expressions = objects(selector.matchExpressions);
  for (const { key, operator, values } of expressions) {
    const make = typeof operator === 'string' && Object.hasOwn(operators, operator) ? operators[operator] : undefined;
    if (make === undefined || typeof key !== 'string') return undefined;
    out.push(make(key, texts(values)));
  }
  return out;
}

function selectorsOf(role: KubeObject): JsonObject[] {
  const rule = isObject(role.aggregationRule) ? role.aggregationRule : {};
  return objects(rule.clusterRoleSelectors);
}

const rulesOf = (role: KubeObject): JsonValue[] => (Array.isArray(role.rules) ? role.rules : []);

/** Cluster role aggregation: joins the rules of the roles that an aggregation rule selects into the role. */
export class ClusterRoleAggregation {
  readonly #connection: LoopConnection;
  readonly #api: ApiClient;

  constructor(connection: LoopConnection) {
    this.#connection = connection;
    this.#api = new ApiClient(connection);
  }

  /** Brings all aggregated roles up to date. */
  async handle(): Promise<Outcome> {
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      let changed = false;
      for (const role of await this.#list([])) if (await this.#update(role)) changed = true;
      if (!changed) return 'done';
    }
    return 'later';
  }

  async #list(labels: Requirement[]): Promise<KubeObject[]> {
    const page = await this.#connection.keyspace.list({
      prefix: PREFIX,
      limit: 0,
      consistency: { type: 'linearizable' },
      selector: { labels, fields: [] },
    });
    return page.records.map(decodeStored);
  }

  async #update(role: KubeObject): Promise<boolean> {
    const selectors = selectorsOf(role);
    if (selectors.length === 0) return false;
    const rules: JsonValue[] = [];
    for (const selector of selectors) {
      const labels = requirementsOf(selector);
      if (labels === undefined) return false;
      const selected = (await this.#list(labels)).filter((r) => r.metadata.name !== role.metadata.name);
      for (const rule of selected.flatMap(rulesOf)) if (!rules.some((r) => deepEqual(r, rule))) rules.push(rule);
    }
    if (deepEqual(rules, rulesOf(role))) return false;
    const { name = '' } = role.metadata;
    const applied = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules };
    await unlessMissing(
      this.#api.apply(`${PATH}/${encodeURIComponent(name)}?fieldManager=${MANAGER}&force=true`, applied),
    );
    return true;
  }
}
