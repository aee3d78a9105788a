import { isObject, type JsonObject } from '../../api/object.ts';
import type { Outbound } from '../../outbound/index.ts';
import { TokenFault } from '../token.ts';
import { decodedPart } from './decoded.ts';

const TIMEOUT_MILLISECONDS = 30_000;

const fault = (why: string) => new TokenFault(`oidc: could not expand distributed claims: ${why}`);

/**
 * Fetches a claim that the token only refers to, from the endpoint that it names, and puts it among the claims (OpenID
 * Connect Core 1.0, 5.6.2). `verify` gives the claims of the endpoint's own token.
 */
export async function expandDistributed(
  claims: JsonObject,
  claim: string,
  peer: { outbound: Outbound; authority: string },
  verify: (jwt: string, issuer: string) => Promise<JsonObject>,
): Promise<void> {
  if (Object.hasOwn(claims, claim) || !isObject(claims._claim_names)) return;
  if (!isObject(claims._claim_sources)) throw fault('oidc: no claim sources');
  const source = Object.hasOwn(claims._claim_names, claim) ? claims._claim_names[claim] : undefined;
  if (typeof source !== 'string') return;
  const endpoint = Object.hasOwn(claims._claim_sources, source) ? claims._claim_sources[source] : undefined;
  if (!isObject(endpoint)) throw fault(`id token _claim_names contained a source ${source} missing in _claims_sources`);
  if (typeof endpoint.endpoint !== 'string' || endpoint.endpoint === '') return;
  if (!endpoint.endpoint.startsWith('https://')) throw fault('the endpoint is no https URL');
  const access = typeof endpoint.access_token === 'string' ? endpoint.access_token : '';
  const answer = await peer
    .outbound({
      url: endpoint.endpoint,
      method: 'GET',
      headers: access === '' ? {} : { authorization: `Bearer ${access}` },
      authority: peer.authority,
      timeoutMilliseconds: TIMEOUT_MILLISECONDS,
    })
    .catch(() => {
      throw fault(`the endpoint of ${claim} does not answer`);
    });
  if (!answer.ok) throw fault(`error while getting distributed claim JWT: ${answer.status}`);
  const jwt = await answer.text();
  const issuer = decodedPart(jwt, 1)?.iss;
  if (typeof issuer !== 'string') throw fault(`the endpoint of ${claim} answers no token`);
  const distributed = await verify(jwt, issuer);
  if (!Object.hasOwn(distributed, claim)) throw fault(`the endpoint's token has no claim ${claim}`);
  claims[claim] = distributed[claim]!;
}
