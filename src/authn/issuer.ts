import type { Config } from '../config.ts';
import { methodNotAllowed, notAcceptable } from '../status/status.ts';
import { serviceAccountKeys } from './service-account-keys.ts';

const JWK_SET = 'application/jwk-set+json';
const cacheable = { 'Cache-Control': 'public, max-age=3600' };

/** Whether an Accept header takes the type; absent takes all. */
function accepts(accept: string | null, type: string): boolean {
  if (accept === null || accept.trim() === '') return true;
  const wildcard = `${type.split('/')[0]}/*`;
  return accept.split(',').some((part) => [type, wildcard, '*/*'].includes(part.split(';')[0]!.trim().toLowerCase()));
}

/** `/openid/v1/jwks`: the public keys of service account tokens. 406 unless JWK sets are accepted. */
export async function serveKeys(config: Config, request: Request): Promise<Response> {
  if (!accepts(request.headers.get('accept'), JWK_SET)) throw notAcceptable([JWK_SET]);
  const keys = (await serviceAccountKeys(config)).map((k) => k.publicJwk);
  return new Response(JSON.stringify({ keys }), { headers: { 'Content-Type': JWK_SET, ...cacheable } });
}

/** `/.well-known/openid-configuration`: the issuer's discovery document (OpenID Connect Discovery 1.0, section 3). */
export async function serveConfiguration(config: Config, request: Request): Promise<Response> {
  if (!accepts(request.headers.get('accept'), 'application/json')) throw notAcceptable(['application/json']);
  const algorithms = [...new Set((await serviceAccountKeys(config)).map((k) => k.alg))].sort();
  const document = {
    issuer: config.serviceAccountIssuer,
    jwks_uri: `https://${config.advertiseAddress}:${config.securePort}/openid/v1/jwks`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: algorithms,
  };
  return new Response(JSON.stringify(document), { headers: { 'Content-Type': 'application/json', ...cacheable } });
}

const paths: Record<string, (config: Config, request: Request) => Promise<Response>> = {
  '/openid/v1/jwks': serveKeys,
  '/.well-known/openid-configuration': serveConfiguration,
};

/** Answers the issuer's two paths; undefined for any other. Throws 405 for all but GET, 406 as the two do. */
export async function serveIssuer(config: Config, request: Request, path: string): Promise<Response | undefined> {
  const serve = Object.hasOwn(paths, path) ? paths[path] : undefined;
  if (serve === undefined) return undefined;
  if (request.method !== 'GET') throw methodNotAllowed();
  return serve(config, request);
}
