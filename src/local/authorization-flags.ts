import { isAbsolute, resolve } from 'node:path';
import * as v from 'valibot';
import { parse } from 'yaml';
import { parseAbacPolicy } from '../authz/abac.ts';
import {
  AUTHORIZER_TYPES,
  authorizationFaults,
  authorizationFile,
  authorizationSchema,
} from '../authz/configuration.ts';
import { readGiven } from './files.ts';
import { type Flag, names, UsageError } from './usage.ts';
import { connectionOf } from './webhook-kubeconfig.ts';

/** What the flags of authorization were given, by the flags' names; those that were not are absent. */
export type AuthorizationFlags = Partial<Record<AuthorizationFlag, string>>;

/** What the Worker is given of them. */
type Given = v.InferInput<typeof authorizationSchema>;
type GivenAuthorizer = NonNullable<Given['authorizers']>[number];

const texts = {
  'authorization-mode': ['TYPE,…', `who decides, in order (Node,RBAC): ${AUTHORIZER_TYPES.join(', ')}`],
  'authorization-policy-file': ['FILE', 'policy of ABAC: a JSON object a line'],
  'authorization-webhook-config-file': ['FILE', 'kubeconfig of the webhook that is asked by SubjectAccessReview'],
  'authorization-webhook-version': ['v1|v1beta1', 'version of the SubjectAccessReview (v1beta1)'],
  'authorization-webhook-cache-authorized-ttl': ['DURATION', 'how long a yes is remembered (5m0s)'],
  'authorization-webhook-cache-unauthorized-ttl': ['DURATION', 'how long a no is remembered (30s)'],
  'authorization-config': ['FILE', 'AuthorizationConfiguration: the same and more, instead of these flags'],
} as const satisfies Record<string, readonly [string, string]>;

export type AuthorizationFlag = keyof typeof texts;

/** The flags, with kube-apiserver's names. */
export const authorizationFlags: Flag<{ authorization: AuthorizationFlags }>[] = Object.entries(texts).map(
  ([name, [value, help]]) => ({
    name,
    value,
    help,
    set: (options, text) => {
      options.authorization = { ...options.authorization, [name]: value === 'FILE' ? resolve(text) : text };
    },
  }),
);

const LEGACY = ['authorization-mode', 'authorization-webhook-config-file', 'authorization-webhook-version'] as const;
const WEBHOOK_TIMEOUT = '30s';

function flagWebhook(flags: AuthorizationFlags): NonNullable<GivenAuthorizer['webhook']> {
  const path = flags['authorization-webhook-config-file'];
  if (path === undefined)
    throw new UsageError('--authorization-mode=Webhook needs --authorization-webhook-config-file.');
  return {
    authorizedTTL: flags['authorization-webhook-cache-authorized-ttl'] ?? '5m0s',
    unauthorizedTTL: flags['authorization-webhook-cache-unauthorized-ttl'] ?? '30s',
    timeout: WEBHOOK_TIMEOUT,
    subjectAccessReviewVersion: flags['authorization-webhook-version'] ?? 'v1beta1',
    failurePolicy: 'NoOpinion',
    connection: connectionOf('webhook configuration', path),
  };
}

function byFlags(flags: AuthorizationFlags): GivenAuthorizer[] | undefined {
  const modes = names(flags['authorization-mode'] ?? '');
  if (flags['authorization-webhook-config-file'] !== undefined && !modes.includes('Webhook'))
    throw new UsageError('--authorization-webhook-config-file needs --authorization-mode=Webhook.');
  if (modes.length === 0) return undefined;
  const known: readonly string[] = AUTHORIZER_TYPES;
  const unknown = modes.find((mode) => !known.includes(mode));
  if (unknown !== undefined) throw new UsageError(`--authorization-mode: ${unknown} is none of ${known.join(', ')}.`);
  if (new Set(modes).size < modes.length) throw new UsageError('--authorization-mode names one twice.');
  return modes.map((type) => ({
    type,
    name: type.toLowerCase(),
    ...(type === 'Webhook' && { webhook: flagWebhook(flags) }),
  }));
}

function byFile(path: string): GivenAuthorizer[] {
  const source = readGiven('authorization configuration', path);
  const fail = (why: string) => new UsageError(`The authorization configuration ${path} is wrong: ${why}`);
  let value: unknown;
  try {
    value = parse(source);
  } catch (error) {
    throw fail((error as Error).message);
  }
  const result = v.safeParse(authorizationFile, value);
  if (!result.success) {
    const issue = result.issues[0];
    throw fail(`${v.getDotPath(issue) ?? '(root)'}: ${issue.message}`);
  }
  const { authorizers } = result.output;
  const [fault] = authorizationFaults(authorizers);
  if (fault !== undefined) throw fail(fault);
  return authorizers.map(({ type, name, webhook }, i) => {
    if (webhook === undefined) return { type, name };
    const { connectionInfo, ...rules } = webhook;
    const file = connectionInfo.kubeConfigFile ?? '';
    const at = `authorizers[${i}].connectionInfo`;
    if (connectionInfo.type !== 'KubeConfigFile') throw fail(`${at}.type: must be KubeConfigFile`);
    if (!isAbsolute(file)) throw fail(`${at}.kubeConfigFile: must be an absolute path`);
    return { type, name, webhook: { ...rules, connection: connectionOf('webhook configuration', file) } };
  });
}

function abacPolicyOf(path: string): string {
  const source = readGiven('authorization policy', path);
  try {
    parseAbacPolicy(source);
  } catch (error) {
    throw new UsageError(`The authorization policy ${path} is wrong: ${(error as Error).message}`);
  }
  return source;
}

/** What the Worker is told of authorization. Throws UsageError with the path and the reason for what is wrong. */
export function authorizationOf(flags: AuthorizationFlags): Given {
  const file = flags['authorization-config'];
  const legacy = LEGACY.find((flag) => flags[flag] !== undefined);
  if (file !== undefined && legacy !== undefined)
    throw new UsageError(`--authorization-config cannot be given together with --${legacy}.`);
  const authorizers = file === undefined ? byFlags(flags) : byFile(file);
  const policy = flags['authorization-policy-file'];
  const asksAbac = authorizers?.some(({ type }) => type === 'ABAC') ?? false;
  if (asksAbac !== (policy !== undefined))
    throw new UsageError('The authorizer ABAC and --authorization-policy-file must be given together.');
  const given = {
    ...(authorizers && { authorizers }),
    ...(policy !== undefined && { abacPolicy: abacPolicyOf(policy) }),
  };
  const result = v.safeParse(authorizationSchema, given);
  const issue = result.issues?.[0];
  const fault = result.success
    ? authorizationFaults(result.output.authorizers)[0]
    : `${issue === undefined ? '' : v.getDotPath(issue)}: ${issue?.message}`;
  if (fault !== undefined) throw new UsageError(`The flags --authorization-… are wrong: ${fault}`);
  return given;
}
