import { isObject, type JsonObject } from '../../api/object.ts';
import type { Config } from '../../config.ts';
import type { TokenDeps } from '../index.ts';
import { TokenFault, type TokenIdentity } from '../token.ts';
import { type JwtConfiguration, SIGNING_ALGORITHMS } from './configuration.ts';
import { decodedPart } from './decoded.ts';
import { expandDistributed } from './distributed.ts';
import { Provider } from './provider.ts';
import { ClaimsMapper } from './user.ts';

const NOT_BEFORE_LEEWAY_SECONDS = 60;
const GOOGLE = 'https://accounts.google.com';

/** Issuers spell it like this, whatever its own documents say. */
const issuerOf = (claims: JsonObject) => (claims.iss === 'accounts.google.com' ? GOOGLE : claims.iss);

/** One configured issuer, ready for use: its provider's keys stay with it. */
class JwtIssuer {
  readonly #config: JwtConfiguration;
  readonly #algorithms: readonly string[];
  readonly #mapper: ClaimsMapper;
  readonly #provider: Provider;
  /** Providers of distributed claims, by issuer. */
  readonly #others = new Map<string, Provider>();

  constructor(config: JwtConfiguration, algorithms: readonly string[]) {
    this.#config = config;
    this.#algorithms = algorithms;
    this.#mapper = new ClaimsMapper(config);
    const { url, discoveryURL, certificateAuthority } = config.issuer;
    this.#provider = new Provider({ issuer: url, discoveryURL, authority: certificateAuthority, algorithms });
  }

  get url(): string {
    return this.#config.issuer.url;
  }

  async identify(token: string, deps: TokenDeps): Promise<TokenIdentity> {
    const claims = await this.#verified(token, this.url, this.#provider, deps);
    const { groups } = this.#config.claimMappings;
    if (groups.claim !== '') await this.#expand(claims, groups.claim, deps);
    return { user: this.#mapper.userOf(claims) };
  }

  async #expand(claims: JsonObject, claim: string, deps: TokenDeps): Promise<void> {
    const authority = this.#config.issuer.certificateAuthority;
    await expandDistributed(claims, claim, { outbound: deps.outbound, authority }, (jwt, issuer) => {
      const provider =
        this.#others.get(issuer) ?? new Provider({ issuer, discoveryURL: '', authority, algorithms: this.#algorithms });
      if (this.#others.size < 16) this.#others.set(issuer, provider);
      return this.#verified(jwt, issuer, provider, deps);
    });
  }

  /** The claims of a token with a good signature, audience and time. */
  async #verified(token: string, issuer: string, provider: Provider, deps: TokenDeps): Promise<JsonObject> {
    const header = decodedPart(token, 0);
    const algorithm = typeof header?.alg === 'string' ? header.alg : '';
    if (!this.#algorithms.includes(algorithm)) {
      const expected = `[${this.#algorithms.map((a) => JSON.stringify(a)).join(' ')}]`;
      throw new TokenFault(
        `oidc: verify token: oidc: id token signed with unsupported algorithm, expected ${expected} got ${JSON.stringify(algorithm)}`,
      );
    }
    const kid = typeof header?.kid === 'string' ? header.kid : '';
    const payload = await provider.verified(token, { alg: algorithm, kid }, deps.outbound, deps.now().getTime());
    const claims: unknown = JSON.parse(payload);
    if (!isObject(claims as JsonObject)) throw new TokenFault('oidc: failed to unmarshal claims');
    this.#check(claims as JsonObject, issuer, deps.now().getTime() / 1000);
    return claims as JsonObject;
  }

  #check(claims: JsonObject, issuer: string, now: number): void {
    if (issuerOf(claims) !== issuer) throw new TokenFault('oidc: id token issued by a different provider');
    const { audiences } = this.#config.issuer;
    const given = Array.isArray(claims.aud) ? claims.aud : [claims.aud];
    if (!given.some((audience) => typeof audience === 'string' && audiences.includes(audience))) {
      const list = (all: readonly unknown[]) => `[${all.map((one) => JSON.stringify(one)).join(' ')}]`;
      throw new TokenFault(`oidc: verify token: oidc: expected audience in ${list(audiences)} got ${list(given)}`);
    }
    if (typeof claims.exp !== 'number' || claims.exp < now)
      throw new TokenFault('oidc: verify token: oidc: token is expired');
    if (typeof claims.nbf === 'number' && now + NOT_BEFORE_LEEWAY_SECONDS < claims.nbf)
      throw new TokenFault('oidc: verify token: oidc: current time before the nbf (not before) time');
  }
}

/** The issuers of a configuration, which are made ready once: compiling their expressions costs more than a request. */
const ready = new WeakMap<Config, JwtIssuer[]>();

function issuersOf(config: Config): JwtIssuer[] {
  const known = ready.get(config);
  if (known !== undefined) return known;
  const { jwt, signingAlgorithms } = config.authentication;
  const algorithms = signingAlgorithms.length > 0 ? signingAlgorithms : SIGNING_ALGORITHMS;
  const issuers = jwt.map((one) => new JwtIssuer(one, algorithms));
  ready.set(config, issuers);
  return issuers;
}

/**
 * Tokens of the configured OpenID issuers (OpenID Connect Core 1.0; AuthenticationConfiguration v1): signed with one of
 * the provider's published keys, for one of the issuer's audiences, not expired; their claims make the user.
 */
export async function jwtToken(
  token: string,
  _audiences: readonly string[],
  deps: TokenDeps,
): Promise<TokenIdentity | undefined> {
  if (deps.config.authentication.jwt.length === 0) return undefined;
  const claimed = decodedPart(token, 1);
  const url = claimed === undefined ? undefined : issuerOf(claimed);
  const issuer = issuersOf(deps.config).find((one) => one.url === url);
  return issuer?.identify(token, deps);
}
