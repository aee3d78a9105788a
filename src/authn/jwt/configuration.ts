import * as v from 'valibot';
import { certificatesOfPem } from '../certificates.ts';
import { compileClaims, compileUser, mentionsClaim } from './expressions.ts';

/** apiserver.config.k8s.io/v1 AuthenticationConfiguration: its shape here, its rules below. */

const text = v.optional(v.string(), '');

const claimOrExpression = v.strictObject({ claim: text, expression: text });
const prefixed = v.strictObject({ claim: text, expression: text, prefix: v.optional(v.nullable(v.string()), null) });

const jwtSchema = v.strictObject({
  issuer: v.strictObject({
    url: text,
    discoveryURL: text,
    certificateAuthority: text,
    audiences: v.optional(v.array(v.string()), []),
    audienceMatchPolicy: text,
    egressSelectorType: text,
  }),
  claimValidationRules: v.optional(
    v.array(v.strictObject({ claim: text, requiredValue: text, expression: text, message: text })),
    [],
  ),
  claimMappings: v.strictObject({
    username: prefixed,
    groups: v.optional(prefixed, {}),
    uid: v.optional(claimOrExpression, {}),
    extra: v.optional(v.array(v.strictObject({ key: text, valueExpression: text })), []),
  }),
  userValidationRules: v.optional(v.array(v.strictObject({ expression: text, message: text })), []),
});

const anonymousSchema = v.strictObject({
  enabled: v.boolean(),
  conditions: v.optional(v.array(v.strictObject({ path: v.string() })), []),
});

/** One issuer whose tokens are taken, and what is made of their claims. */
export type JwtConfiguration = v.InferOutput<typeof jwtSchema>;
type Mapping = JwtConfiguration['claimMappings']['username'];

/** The algorithms that tokens may be signed with. */
export const SIGNING_ALGORITHMS = [
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
] as const;

/** The two parts of the configuration, which a file or flags give. */
export const jwtAndAnonymous = {
  jwt: v.optional(v.array(jwtSchema), []),
  anonymous: v.optional(anonymousSchema, { enabled: true }),
};

/** A file of the configuration. */
export const authenticationFile = v.strictObject({
  apiVersion: v.picklist(['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`)),
  kind: v.literal('AuthenticationConfiguration'),
  jwt: jwtAndAnonymous.jwt,
  anonymous: v.exactOptional(anonymousSchema),
});

const MOST_ISSUERS = 64;
const RESERVED = /(^|\.)(kubernetes|k8s)\.io$/;
const DOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const HTTP_PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

/** Collects faults, each with its path. */
class Faults {
  readonly list: string[] = [];

  required(path: string, why = ''): void {
    this.list.push(`${path}: Required value${why === '' ? '' : `: ${why}`}`);
  }

  invalid(path: string, value: string, why: string): void {
    this.list.push(`${path}: Invalid value: ${JSON.stringify(value)}: ${why}`);
  }

  duplicates(items: readonly string[], path: (index: number) => string): void {
    for (const [i, item] of items.entries()) {
      if (item !== '' && items.indexOf(item) < i)
        this.list.push(`${path(i)}: Duplicate value: ${JSON.stringify(item)}`);
    }
  }

  /** `compile` throws with the reason. */
  expression(path: string, source: string, compile: (source: string) => unknown): void {
    try {
      compile(source);
    } catch (error) {
      this.invalid(path, source, (error as Error).message);
    }
  }
}

function urlFaults(faults: Faults, path: string, value: string): void {
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    faults.invalid(path, value, 'is not a URL');
    return;
  }
  if (url.protocol !== 'https:') faults.invalid(path, value, 'URL scheme must be https');
  if (url.username !== '' || url.password !== '')
    faults.invalid(path, value, 'URL must not contain a username or password');
  if (url.search !== '') faults.invalid(path, value, 'URL must not contain a query');
  if (url.hash !== '') faults.invalid(path, value, 'URL must not contain a fragment');
}

const trimmed = (url: string) => url.replace(/\/+$/, '');

function issuerFaults(faults: Faults, path: string, issuer: JwtConfiguration['issuer'], disallowed: string): void {
  const { url, discoveryURL, audiences, audienceMatchPolicy: policy, certificateAuthority } = issuer;
  if (url === '') faults.required(`${path}.url`);
  else {
    if (url === disallowed)
      faults.invalid(`${path}.url`, url, `URL must not overlap with disallowed issuers: [${disallowed}]`);
    urlFaults(faults, `${path}.url`, url);
  }
  if (discoveryURL !== '') {
    if (trimmed(discoveryURL) === trimmed(url))
      faults.invalid(`${path}.discoveryURL`, discoveryURL, 'discoveryURL must be different from URL');
    urlFaults(faults, `${path}.discoveryURL`, discoveryURL);
  }
  if (audiences.length === 0) faults.required(`${path}.audiences`, 'at least one audience is required');
  for (const [i, audience] of audiences.entries()) if (audience === '') faults.required(`${path}.audiences[${i}]`);
  faults.duplicates(audiences, (i) => `${path}.audiences[${i}]`);
  if (policy !== 'MatchAny' && (policy !== '' || audiences.length > 1)) {
    const which = audiences.length > 1 ? 'MatchAny for multiple audiences' : 'empty or MatchAny for single audience';
    faults.invalid(`${path}.audienceMatchPolicy`, policy, `audienceMatchPolicy must be ${which}`);
  }
  if (certificateAuthority !== '' && !isBundle(certificateAuthority))
    faults.invalid(`${path}.certificateAuthority`, '<omitted>', 'is no PEM certificate');
  if (!['', 'controlplane', 'cluster'].includes(issuer.egressSelectorType))
    faults.invalid(
      `${path}.egressSelectorType`,
      issuer.egressSelectorType,
      'egress selector must be either controlplane or cluster',
    );
}

function isBundle(pem: string): boolean {
  try {
    return certificatesOfPem(pem).length > 0;
  } catch {
    return false;
  }
}

function mappingFaults(faults: Faults, path: string, mapping: Mapping, required: boolean): void {
  const { claim, expression, prefix } = mapping;
  if (claim !== '' && expression !== '') faults.invalid(path, '', "claim and expression can't both be set");
  else if (expression !== '') {
    if (prefix !== null) faults.invalid(`${path}.prefix`, prefix, 'may not be specified when expression is set');
    faults.expression(`${path}.expression`, expression, (source) => compileClaims(source));
  } else if (claim !== '') {
    const why = 'prefix is required when claim is set. It can be set to an empty string to disable prefixing';
    if (prefix === null) faults.required(`${path}.prefix`, why);
  } else if (required) faults.required(path, 'claim or expression is required');
}

function extraFaults(faults: Faults, path: string, extra: JwtConfiguration['claimMappings']['extra']): void {
  for (const [i, { key, valueExpression }] of extra.entries()) {
    const [domain = '', ...rest] = key.split('/');
    const at = `${path}[${i}]`;
    if (key === '') faults.required(`${at}.key`);
    else if (!DOMAIN.test(domain) || !HTTP_PATH.test(rest.join('/')))
      faults.invalid(`${at}.key`, key, 'must be a domain-prefixed path (such as "acme.io/foo")');
    if (key !== key.toLowerCase()) faults.invalid(`${at}.key`, key, 'must be lowercase');
    if (rest.length > 0 && RESERVED.test(domain))
      faults.invalid(`${at}.key`, key, 'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use');
    if (valueExpression === '') faults.required(`${at}.valueExpression`);
    else faults.expression(`${at}.valueExpression`, valueExpression, (source) => compileClaims(source));
  }
  faults.duplicates(
    extra.map(({ key }) => key),
    (i) => `${path}[${i}].key`,
  );
}

function ruleFaults(faults: Faults, path: string, rules: JwtConfiguration['claimValidationRules']): void {
  for (const [i, { claim, expression, message, requiredValue }] of rules.entries()) {
    const at = `${path}[${i}]`;
    if (claim !== '' && expression !== '') faults.invalid(at, claim, "claim and expression can't both be set");
    else if (claim !== '') {
      if (message !== '') faults.invalid(`${at}.message`, message, 'may not be specified when claim is set');
    } else if (expression === '') faults.required(at, 'claim or expression is required');
    else {
      if (requiredValue !== '')
        faults.invalid(`${at}.requiredValue`, requiredValue, 'may not be specified when expression is set');
      faults.expression(`${at}.expression`, expression, (source) => compileClaims(source, true));
    }
  }
  faults.duplicates(
    rules.map(({ claim }) => claim),
    (i) => `${path}[${i}].claim`,
  );
  faults.duplicates(
    rules.map(({ expression }) => expression),
    (i) => `${path}[${i}].expression`,
  );
}

/** A name that is made of an unverified address is a name that anybody may take. */
function emailFaults(faults: Faults, path: string, jwt: JwtConfiguration): void {
  const { username, extra } = jwt.claimMappings;
  const sources = [
    username.expression,
    ...extra.map(({ valueExpression }) => valueExpression),
    ...jwt.claimValidationRules.map(({ expression }) => expression),
  ].filter((source) => source !== '');
  if (username.expression === '' || faults.list.length > 0 || !mentionsClaim(username.expression, 'email')) return;
  if (sources.some((source) => mentionsClaim(source, 'email_verified'))) return;
  faults.invalid(
    `${path}.username.expression`,
    username.expression,
    'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
  );
}

function jwtFaults(jwt: JwtConfiguration, path: string, disallowed: string): string[] {
  const faults = new Faults();
  const { claimMappings: mappings } = jwt;
  const at = `${path}.claimMappings`;
  issuerFaults(faults, `${path}.issuer`, jwt.issuer, disallowed);
  ruleFaults(faults, `${path}.claimValidationRules`, jwt.claimValidationRules);
  mappingFaults(faults, `${at}.username`, mappings.username, true);
  mappingFaults(faults, `${at}.groups`, mappings.groups, false);
  const { claim, expression } = mappings.uid;
  if (claim !== '' && expression !== '') faults.invalid(`${at}.uid`, '', "claim and expression can't both be set");
  else if (expression !== '') faults.expression(`${at}.uid.expression`, expression, (source) => compileClaims(source));
  extraFaults(faults, `${at}.extra`, mappings.extra);
  emailFaults(faults, at, jwt);
  for (const [i, rule] of jwt.userValidationRules.entries()) {
    const where = `${path}.userValidationRules[${i}].expression`;
    if (rule.expression === '') faults.required(where);
    else faults.expression(where, rule.expression, compileUser);
  }
  faults.duplicates(
    jwt.userValidationRules.map((rule) => rule.expression),
    (i) => `${path}.userValidationRules[${i}].expression`,
  );
  return faults.list;
}

/**
 * What is wrong with issuers and the anonymous user, as `path: reason`. `ownIssuer`: this server's own, whose tokens
 * are not for others to sign. The rules are upstream's (k8s.io/apiserver, pkg/apis/apiserver/validation).
 */
export function authenticationFaults(
  jwt: readonly JwtConfiguration[],
  anonymous: v.InferOutput<typeof anonymousSchema>,
  ownIssuer: string,
): string[] {
  if (jwt.length > MOST_ISSUERS) return [`jwt: Too many: ${jwt.length}: must have at most ${MOST_ISSUERS} items`];
  const found = jwt.flatMap((one, i) => jwtFaults(one, `jwt[${i}]`, ownIssuer));
  const faults = new Faults();
  const fieldOf = (name: 'url' | 'discoveryURL') =>
    faults.duplicates(
      jwt.map(({ issuer }) => issuer[name]),
      (i) => `jwt[${i}].issuer.${name}`,
    );
  fieldOf('url');
  fieldOf('discoveryURL');
  if (!anonymous.enabled && anonymous.conditions.length > 0)
    faults.invalid('anonymous.conditions', '', 'enabled should be set to true when conditions are defined');
  return [...found, ...faults.list];
}
