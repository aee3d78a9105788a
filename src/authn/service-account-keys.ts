import { importJWK, type JWK } from 'jose';
import type { Config } from '../config.ts';

/** One service account key, ready for use. */
export interface ServiceAccountKey {
  kid: string;
  alg: string;
  privateKey: CryptoKey;
  publicKey: CryptoKey;
  publicJwk: JWK;
}

const curves: Record<string, string> = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' };
const publicMembers = ['kty', 'n', 'e', 'crv', 'x', 'y'] as const;

function algorithm(jwk: JWK): string {
  const alg = jwk.kty === 'RSA' ? 'RS256' : curves[jwk.crv ?? ''];
  if (alg === undefined) throw new TypeError(`service account key: unsupported type ${jwk.kty} ${jwk.crv ?? ''}`);
  return alg;
}

async function load(kid: string, jwk: JWK): Promise<ServiceAccountKey> {
  const alg = algorithm(jwk);
  const members = Object.fromEntries(publicMembers.filter((m) => jwk[m] !== undefined).map((m) => [m, jwk[m]]));
  const publicJwk = { use: 'sig', ...members, kid, alg } as JWK;
  const [privateKey, publicKey] = await Promise.all([importJWK(jwk, alg), importJWK(publicJwk, alg)]);
  return { kid, alg, privateKey: privateKey as CryptoKey, publicKey: publicKey as CryptoKey, publicJwk };
}

/** Imported keys by configuration: importing an RSA key costs more than a signature check. */
const loaded = new WeakMap<Config, ServiceAccountKey[]>();

/** The configured keys: the first signs, all verify. */
export async function serviceAccountKeys(config: Config): Promise<ServiceAccountKey[]> {
  const known = loaded.get(config);
  if (known !== undefined) return known;
  const keys = await Promise.all(config.serviceAccountKeys.map((k) => load(k.kid, k.privateJwk as JWK)));
  loaded.set(config, keys);
  return keys;
}
