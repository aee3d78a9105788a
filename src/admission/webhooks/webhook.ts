import { int, objects, text, texts } from '../../api/fields.ts';
import { isObject, type JsonObject, type KubeObject } from '../../api/object.ts';
import { ExpressionCompiler } from '../../cel/expressions.ts';
import { type MatchCondition, readConditions } from '../../cel/match-conditions.ts';
import { type ClientConfig, readClientConfig } from '../../outbound/client-config.ts';
import type { Match } from '../matching/match.ts';
import { readRules } from '../matching/rules.ts';
import { labelTest } from '../matching/selectors.ts';

/** One webhook of a configuration, read. */
export interface Webhook {
  name: string;
  /** Unique among all: configuration, name, and which of that name. */
  uid: string;
  configuration: string;
  client: ClientConfig;
  match: Match;
  conditions: readonly MatchCondition[];
  ignoresFailures: boolean;
  timeoutSeconds: number;
  /** Whether it may be called in a dry run. */
  takesDryRun: boolean;
  versions: readonly string[];
  reinvoked: boolean;
}

const DEFAULT_TIMEOUT = 10;

function readWebhook(configuration: string, webhook: JsonObject, uid: string): Webhook {
  const compiler = new ExpressionCompiler({ params: false, composed: false });
  const clientConfig = isObject(webhook.clientConfig) ? webhook.clientConfig : {};
  return {
    name: text(webhook.name),
    uid,
    configuration,
    client: readClientConfig(clientConfig),
    match: {
      rules: readRules(webhook.rules),
      exclude: [],
      namespaces: labelTest(webhook.namespaceSelector),
      objects: labelTest(webhook.objectSelector),
      equivalent: text(webhook.matchPolicy) !== 'Exact',
    },
    conditions: readConditions(webhook.matchConditions, compiler),
    ignoresFailures: webhook.failurePolicy === 'Ignore',
    timeoutSeconds: int(webhook.timeoutSeconds) || DEFAULT_TIMEOUT,
    takesDryRun: ['None', 'NoneOnDryRun'].includes(text(webhook.sideEffects)),
    versions: texts(webhook.admissionReviewVersions),
    reinvoked: webhook.reinvocationPolicy === 'IfNeeded',
  };
}

/** Webhooks of configurations, by their objects: a fact of a configuration's revision. */
const read = new WeakMap<KubeObject, readonly Webhook[]>();

/** The webhooks of configurations, in their order. */
export function webhooksOf(configurations: readonly KubeObject[]): Webhook[] {
  return configurations.flatMap((configuration) => {
    let known = read.get(configuration);
    if (known === undefined) {
      const { name: own = '' } = configuration.metadata;
      const seen = new Map<string, number>();
      known = objects(configuration.webhooks).map((webhook) => {
        const name = text(webhook.name);
        const index = seen.get(name) ?? 0;
        seen.set(name, index + 1);
        return readWebhook(own, webhook, `${own}/${name}/${index}`);
      });
      read.set(configuration, known);
    }
    return known;
  });
}
