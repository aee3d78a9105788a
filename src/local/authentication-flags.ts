import { resolve } from 'node:path';
import * as v from 'valibot';
import { parse } from 'yaml';
import type { authenticationSchema } from '../authn/configuration.ts';
import {
  authenticationFaults,
  authenticationFile,
  jwtAndAnonymous,
  SIGNING_ALGORITHMS,
} from '../authn/jwt/configuration.ts';
import { durationMilliseconds } from '../authz/configuration.ts';
import { readCertificates, readGiven } from './files.ts';
import { type Flag, names, UsageError } from './usage.ts';
import { connectionOf } from './webhook-kubeconfig.ts';

/** What the flags of authentication were given, by the flags' names; those that were not are absent. */
export type AuthenticationFlags = Partial<Record<AuthenticationFlag, string[]>>;

const jwtList = jwtAndAnonymous.jwt;

/** What the Worker is given of them. */
type Given = v.InferInput<typeof authenticationSchema>;

const texts = {
  'authentication-config': ['FILE', 'AuthenticationConfiguration: OpenID issuers, the anonymous user'],
  'anonymous-auth': ['true|false', 'whether requests without credentials are those of system:anonymous (true)'],
  'oidc-issuer-url': ['URL', 'OpenID issuer whose tokens are taken'],
  'oidc-client-id': ['ID', 'audience of its tokens'],
  'oidc-ca-file': ['FILE', "PEM certificates of the issuer's authority (the public ones)"],
  'oidc-username-claim': ['CLAIM', 'claim that names the user (sub)'],
  'oidc-username-prefix': ['TEXT', "before the user's name; -: nothing (the issuer and #, but for email)"],
  'oidc-groups-claim': ['CLAIM', 'claim that names the groups'],
  'oidc-groups-prefix': ['TEXT', 'before each group'],
  'oidc-signing-algs': ['ALG,…', 'algorithms of the issuer (RS256)'],
  'oidc-required-claim': ['KEY=VALUE', 'what tokens must claim; may be repeated'],
  'authentication-token-webhook-config-file': ['FILE', 'kubeconfig of the webhook that is asked by TokenReview'],
  'authentication-token-webhook-version': ['v1|v1beta1', 'version of the TokenReview (v1beta1)'],
  'authentication-token-webhook-cache-ttl': ['DURATION', 'how long its answers are remembered (2m0s)'],
  'requestheader-client-ca-file': ['FILE', "PEM certificates of the front proxy's authority"],
  'requestheader-allowed-names': ['NAME,…', 'common names of the front proxy (any)'],
  'requestheader-username-headers': ['NAME,…', 'headers in which the front proxy names the user'],
  'requestheader-uid-headers': ['NAME,…', 'the same for the uid'],
  'requestheader-group-headers': ['NAME,…', 'the same for the groups'],
  'requestheader-extra-headers-prefix': ['NAME,…', 'prefixes of headers with more about the user'],
} as const satisfies Record<string, readonly [string, string]>;

export type AuthenticationFlag = keyof typeof texts;

/** The flags, with kube-apiserver's names. */
export const authenticationFlags: Flag<{ authentication: AuthenticationFlags }>[] = Object.entries(texts).map(
  ([name, [value, help]]) => ({
    name,
    value,
    help,
    set: (options, text) => {
      const flag = name as AuthenticationFlag;
      const given = value === 'FILE' ? resolve(text) : text;
      options.authentication = { ...options.authentication, [flag]: [...(options.authentication[flag] ?? []), given] };
    },
  }),
);

const last = (flags: AuthenticationFlags, name: AuthenticationFlag) => flags[name]?.at(-1);
const all = (flags: AuthenticationFlags, name: AuthenticationFlag) => (flags[name] ?? []).flatMap(names);

function anonymousAuth(flags: AuthenticationFlags): boolean | undefined {
  const text = last(flags, 'anonymous-auth');
  if (text === undefined) return undefined;
  if (text !== 'true' && text !== 'false') throw new UsageError('--anonymous-auth must be true or false.');
  return text === 'true';
}

function requiredClaims(flags: AuthenticationFlags) {
  return (flags['oidc-required-claim'] ?? []).map((pair) => {
    const [claim = '', ...rest] = pair.split('=');
    if (claim === '' || rest.length === 0) throw new UsageError('--oidc-required-claim must be KEY=VALUE.');
    return { claim, requiredValue: rest.join('=') };
  });
}

/** The one issuer of the flags `--oidc-…`, with upstream's defaults. */
function flagIssuer(flags: AuthenticationFlags): Pick<Given, 'jwt' | 'signingAlgorithms'> {
  const url = last(flags, 'oidc-issuer-url');
  const audience = last(flags, 'oidc-client-id');
  if (url === undefined && audience === undefined) return {};
  if (url === undefined || audience === undefined)
    throw new UsageError('--oidc-issuer-url and --oidc-client-id must be given together.');
  const claim = last(flags, 'oidc-username-claim') ?? 'sub';
  const wanted = last(flags, 'oidc-username-prefix') ?? '';
  const prefix = wanted === '-' ? '' : wanted === '' && claim !== 'email' ? `${url}#` : wanted;
  const groups = last(flags, 'oidc-groups-claim');
  const authority = last(flags, 'oidc-ca-file');
  const algorithms = all(flags, 'oidc-signing-algs');
  const known: readonly string[] = SIGNING_ALGORITHMS;
  const unknown = algorithms.find((algorithm) => !known.includes(algorithm));
  if (unknown !== undefined)
    throw new UsageError(`--oidc-signing-algs: ${unknown} is none of ${SIGNING_ALGORITHMS.join(', ')}.`);
  const issuer = {
    url,
    audiences: [audience],
    ...(authority && { certificateAuthority: readGiven('issuer CA file', authority) }),
  };
  const mappings = {
    username: { claim, prefix },
    ...(groups && { groups: { claim: groups, prefix: last(flags, 'oidc-groups-prefix') ?? '' } }),
  };
  return {
    jwt: [{ issuer, claimMappings: mappings, claimValidationRules: requiredClaims(flags) }],
    signingAlgorithms: (algorithms.length > 0 ? algorithms : ['RS256']) as Given['signingAlgorithms'],
  };
}

function readConfiguration(path: string): v.InferOutput<typeof authenticationFile> {
  const text = readGiven('authentication configuration', path);
  const fail = (why: string) => new UsageError(`The authentication configuration ${path} is wrong: ${why}`);
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw fail((error as Error).message);
  }
  const result = v.safeParse(authenticationFile, value);
  if (result.success) return result.output;
  const issue = result.issues[0];
  throw fail(`${v.getDotPath(issue) ?? '(root)'}: ${issue.message}`);
}

function requestHeader(flags: AuthenticationFlags): Pick<Given, 'requestHeader'> {
  const path = last(flags, 'requestheader-client-ca-file');
  if (path === undefined) return {};
  const clientCA = readCertificates('front proxy CA file', path);
  return {
    requestHeader: {
      clientCA,
      allowedNames: all(flags, 'requestheader-allowed-names'),
      usernameHeaders: all(flags, 'requestheader-username-headers'),
      uidHeaders: all(flags, 'requestheader-uid-headers'),
      groupHeaders: all(flags, 'requestheader-group-headers'),
      extraHeaderPrefixes: all(flags, 'requestheader-extra-headers-prefix'),
    },
  };
}

function tokenWebhook(flags: AuthenticationFlags): Pick<Given, 'tokenWebhook'> {
  const path = last(flags, 'authentication-token-webhook-config-file');
  if (path === undefined) return {};
  const version = last(flags, 'authentication-token-webhook-version') ?? 'v1beta1';
  if (version !== 'v1' && version !== 'v1beta1')
    throw new UsageError('--authentication-token-webhook-version must be v1 or v1beta1.');
  const cacheMilliseconds = durationMilliseconds(last(flags, 'authentication-token-webhook-cache-ttl') ?? '2m0s');
  if (cacheMilliseconds === undefined)
    throw new UsageError('--authentication-token-webhook-cache-ttl must be a duration such as 2m0s.');
  return { tokenWebhook: { version, cacheMilliseconds, connection: connectionOf('webhook configuration', path) } };
}

/**
 * What the Worker is told of authentication. `ownIssuer`: of the cluster's service accounts. Throws UsageError with the
 * path and the reason for a file or flag that is wrong.
 */
export function authenticationOf(flags: AuthenticationFlags, ownIssuer: string): Given {
  const path = last(flags, 'authentication-config');
  const anonymous = anonymousAuth(flags);
  const file = path === undefined ? undefined : readConfiguration(path);
  const issuer = flagIssuer(flags);
  if (file !== undefined && file.jwt.length > 0 && issuer.jwt !== undefined)
    throw new UsageError('--authentication-config and the flags --oidc-… cannot both name issuers.');
  if (file?.anonymous !== undefined && anonymous !== undefined)
    throw new UsageError('--anonymous-auth cannot be given where --authentication-config says it.');
  const said = file?.anonymous ?? { enabled: anonymous ?? true, conditions: [] };
  const fromFile = file !== undefined && file.jwt.length > 0;
  const issuers = fromFile ? { jwt: file.jwt } : issuer;
  const [fault] = authenticationFaults(v.parse(jwtList, issuers.jwt), said, ownIssuer);
  if (fault !== undefined) {
    const what = issuer.jwt === undefined ? `The authentication configuration ${path} is` : 'The flags --oidc-… are';
    throw new UsageError(`${what} wrong: ${fault}`);
  }
  return { ...issuers, anonymous: said, ...requestHeader(flags), ...tokenWebhook(flags) };
}
