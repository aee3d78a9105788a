import type { Config } from '../config.ts';
import { unreachable } from '../outbound/index.ts';
import type { ReviewRuntime } from '../outbound/review-client.ts';
import { authorizeByAbac, parseAbacPolicy } from './abac.ts';
import type { Attributes, Verdict } from './attributes.ts';
import type { AuthorizerConfiguration } from './configuration.ts';
import type { AuthorizationData } from './index.ts';
import { authorizeByNode } from './node.ts';
import { authorizeByRbac } from './rbac.ts';
import { WebhookAuthorizer } from './webhook/index.ts';

/** One authorizer of a cluster. */
export type Authorizer = (attributes: Attributes, data: AuthorizationData) => Verdict | Promise<Verdict>;

/** The authorizers of a cluster behind the one for superusers, in the order that they are asked. */
export interface AuthorizerChain {
  readonly authorizers: readonly Authorizer[];
  /** Lines of the ABAC policy, where it is asked: rules reviews tell of them. */
  readonly abac: ReturnType<typeof parseAbacPolicy> | undefined;
  readonly hasRbac: boolean;
  /** Whether some authorizer cannot tell all that it would allow. */
  readonly hasWebhook: boolean;
}

const rbac: Authorizer = (attributes, { bundle }) => authorizeByRbac(bundle.rbac, attributes);
const node: Authorizer = (attributes, { keyspace }) => authorizeByNode(attributes, keyspace);

function authorizerOf(
  { type, webhook }: AuthorizerConfiguration,
  abacPolicies: ReturnType<typeof parseAbacPolicy>,
  runtime: ReviewRuntime,
  now: () => Date,
): Authorizer {
  switch (type) {
    case 'Node':
      return node;
    case 'RBAC':
      return rbac;
    case 'ABAC':
      return (attributes) => authorizeByAbac(abacPolicies, attributes);
    case 'AlwaysAllow':
      return () => ({ decision: 'allow', reason: '' });
    case 'AlwaysDeny':
      return () => ({ decision: 'noOpinion', reason: 'Everything is forbidden.' });
    default: {
      if (type !== 'Webhook' || webhook === undefined) throw new TypeError(`${type} is no authorizer`);
      const peer = new WebhookAuthorizer(webhook, runtime, () => now().getTime());
      return (attributes) => peer.authorize(attributes);
    }
  }
}

/** Makes the authorizers that a configuration names. Throws TypeError for one that was not checked. */
export function authorizerChain(
  { authorizers, abacPolicy }: Config['authorization'],
  runtime: ReviewRuntime,
  now: () => Date,
): AuthorizerChain {
  const abac = parseAbacPolicy(abacPolicy);
  const has = (type: string) => authorizers.some((one) => one.type === type);
  return {
    authorizers: authorizers.map((one) => authorizerOf(one, abac, runtime, now)),
    abac: has('ABAC') ? abac : undefined,
    hasRbac: has('RBAC'),
    hasWebhook: has('Webhook'),
  };
}

/** Upstream's usual authorizers in the configurations of its own tools: Node and RBAC. */
export const usualChain: AuthorizerChain = authorizerChain(
  {
    authorizers: [
      { type: 'Node', name: 'node' },
      { type: 'RBAC', name: 'rbac' },
    ],
    abacPolicy: '',
  },
  { outbound: unreachable, sleep: async () => undefined },
  () => new Date(),
);
