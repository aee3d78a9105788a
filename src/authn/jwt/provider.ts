import { compactVerify, importJWK, type JWK } from 'jose';
import * as v from 'valibot';
import type { Outbound } from '../../outbound/index.ts';
import { TokenFault } from '../token.ts';

const TIMEOUT_MILLISECONDS = 30_000;
/** A provider that does not answer is asked again after so long, as upstream does. */
const RETRY_MILLISECONDS = 10_000;
/** Unknown keys make the keys be read again, at most so often: anybody can send a token that names one. */
const SHORTEST_MILLISECONDS = 1_000;
/** Keys are read again after so long, so that one that was taken back is. */
const LONGEST_MILLISECONDS = 600_000;
const LARGEST_BYTES = 1 << 20;

const discoverySchema = v.object({ issuer: v.string(), jwks_uri: v.pipe(v.string(), v.minLength(1)) });
const keySetSchema = v.object({ keys: v.array(v.looseObject({ kty: v.string() })) });

interface Key {
  kid: string;
  jwk: JWK;
  /** By algorithm, imported when first needed. */
  imported: Map<string, CryptoKey>;
}

/** The keys of one issuer, as they were last read. */
interface KeySet {
  keys: Key[];
  readAt: number;
  /** When they are read again at the latest. */
  expires: number;
}

export interface ProviderOptions {
  issuer: string;
  /** Where the discovery document is; empty: at the issuer's usual place. */
  discoveryURL: string;
  /** PEM certificates of the provider's authority; empty: the public ones. */
  authority: string;
  algorithms: readonly string[];
}

/** Milliseconds that an answer may be kept. */
function maxAge(response: Response): number {
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})/.exec(response.headers.get('cache-control') ?? '')?.[1];
  return seconds === undefined ? LONGEST_MILLISECONDS : Math.min(Number(seconds) * 1000, LONGEST_MILLISECONDS);
}

/**
 * An OpenID provider's keys: discovered, cached in the isolate and read again when a token names one that is not known.
 * Holds values only: each request waits for its own reads.
 */
export class Provider {
  readonly #options: ProviderOptions;
  #jwksURL: string | undefined;
  #keys: KeySet | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  /** The payload of a token of this issuer. Throws TokenFault when no key signed it. `now` in milliseconds. */
  async verified(
    token: string,
    header: { alg: string; kid: string },
    outbound: Outbound,
    now: number,
  ): Promise<string> {
    const cached = this.#keys;
    if (cached !== undefined && now < cached.expires) {
      const payload = await this.#verify(token, header, cached.keys);
      if (payload !== undefined) return payload;
      if (now - cached.readAt < SHORTEST_MILLISECONDS) throw wrongSignature();
    }
    const keys = await this.#read(outbound, now).catch((error: unknown) => {
      if (cached === undefined || !(error instanceof TokenFault)) throw error;
      return cached;
    });
    const payload = await this.#verify(token, header, keys.keys);
    if (payload === undefined) throw wrongSignature();
    return payload;
  }

  async #verify(
    token: string,
    header: { alg: string; kid: string },
    keys: readonly Key[],
  ): Promise<string | undefined> {
    for (const key of keys) {
      if (header.kid !== '' && key.kid !== header.kid) continue;
      try {
        const imported = key.imported.get(header.alg) ?? (await importJWK(key.jwk, header.alg));
        if (!(imported instanceof CryptoKey)) continue;
        key.imported.set(header.alg, imported);
        const { payload } = await compactVerify(token, imported, { algorithms: [...this.#options.algorithms] });
        return new TextDecoder().decode(payload);
      } catch {
        // Another key may have signed it.
      }
    }
    return undefined;
  }

  async #read(outbound: Outbound, now: number): Promise<KeySet> {
    if (now - this.#failedAt < RETRY_MILLISECONDS) throw new TokenFault('oidc: authenticator not initialized');
    try {
      this.#jwksURL ??= await this.#discover(outbound);
      const { value, response } = await this.#get(outbound, this.#jwksURL, keySetSchema);
      const keys = value.keys
        .filter((jwk) => jwk.use === undefined || jwk.use === 'sig')
        .map((jwk) => ({ kid: typeof jwk.kid === 'string' ? jwk.kid : '', jwk: jwk as JWK, imported: new Map() }));
      this.#keys = { keys, readAt: now, expires: now + maxAge(response) };
      return this.#keys;
    } catch (error) {
      this.#failedAt = now;
      const why = error instanceof Error ? error.message : String(error);
      console.warn(`OpenID provider ${this.#options.issuer}: ${why}`);
      throw new TokenFault(this.#keys === undefined ? 'oidc: authenticator not initialized' : `fetching keys ${why}`);
    }
  }

  async #discover(outbound: Outbound): Promise<string> {
    const { issuer, discoveryURL } = this.#options;
    const url = discoveryURL || `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const { value } = await this.#get(outbound, url, discoverySchema);
    if (value.issuer !== issuer)
      throw new Error(
        `issuer did not match the issuer returned by provider, expected "${issuer}" got "${value.issuer}"`,
      );
    return value.jwks_uri;
  }

  async #get<S extends v.GenericSchema>(outbound: Outbound, url: string, schema: S) {
    const response = await outbound({
      url,
      method: 'GET',
      headers: { accept: 'application/json' },
      authority: this.#options.authority,
      timeoutMilliseconds: TIMEOUT_MILLISECONDS,
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${url} answers ${response.status}`);
    if (text.length > LARGEST_BYTES) throw new Error(`${url} answers too much`);
    return { value: v.parse(schema, JSON.parse(text)), response };
  }
}

const wrongSignature = () =>
  new TokenFault('oidc: verify token: failed to verify signature: failed to verify id token signature');
