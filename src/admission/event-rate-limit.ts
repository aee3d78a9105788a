import { mapOf, text } from '../api/fields.ts';
import { tooManyRequests } from '../status/status.ts';
import type { Attributes, Plugin } from './chain.ts';
import type { Settings } from './configuration.ts';

type Limit = Settings['EventRateLimit']['limits'][number];

/** What shares a limit. */
const keys: Readonly<Record<Limit['type'], (attributes: Attributes) => string>> = {
  Server: () => '',
  Namespace: ({ namespace }) => namespace,
  User: ({ ctx }) => ctx.user.name,
  SourceAndObject: ({ object }) => {
    const { source, involvedObject } = object!;
    const { component, host } = mapOf(source);
    const { kind, namespace, name, uid, apiVersion } = mapOf(involvedObject);
    return [component, host, kind, namespace, name, uid, apiVersion].map(text).join('');
  },
};

/** Tokens that are left, and when that was. */
interface Bucket {
  tokens: number;
  at: number;
}

/** Token buckets by key, the least recently used forgotten first. */
class Buckets {
  readonly #limit: Limit;
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: Limit) {
    this.#limit = limit;
  }

  /** Takes a token where one is left; a fault where none is. */
  take(attributes: Attributes): string | undefined {
    const { type, qps, burst, cacheSize } = this.#limit;
    const key = keys[type](attributes);
    const now = attributes.ctx.now().getTime();
    const known = this.#buckets.get(key) ?? { tokens: burst, at: now };
    const tokens = Math.min(burst, known.tokens + ((now - known.at) / 1000) * qps);
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    const oldest = this.#buckets.keys().next().value;
    if (this.#buckets.size > cacheSize && oldest !== undefined) this.#buckets.delete(oldest);
    return tokens >= 1 ? undefined : `limit reached on type ${type} for key ${key}`;
  }
}

/** Keeps floods of events from the store. The count is each isolate's own, as upstream's is each server's. */
export function eventRateLimit({ EventRateLimit }: Settings): Plugin {
  const buckets = EventRateLimit.limits.map((limit) => new Buckets(limit));
  return {
    name: 'EventRateLimit',
    resources: ['/events', 'events.k8s.io/events'],
    operations: ['CREATE', 'UPDATE'],
    validate: (attributes) => {
      if (attributes.dryRun) return;
      const faults = [...new Set(buckets.flatMap((limit) => limit.take(attributes) ?? []))];
      if (faults.length > 0) throw tooManyRequests(faults.length === 1 ? faults[0]! : `[${faults.join(', ')}]`, 0);
    },
  };
}
