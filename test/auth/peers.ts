import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider from 'oidc-provider';
import type { Authority } from '../support/authority.ts';

/** The audience of the cluster's tokens, and the client that gets them. */
export const AUDIENCE = 'https://cluster.example';
export const CLIENT = { id: 'robot', secret: 'robot-secret-robot-secret-robot-secret' };

/** A peer that serves HTTPS with a certificate of a private authority. */
export interface Peer {
  url: string;
  close(): void;
}

/** Serves on a free port; `clients`: PEM certificates that a client's must chain to. */
async function serve(
  authority: Authority,
  listener: RequestListener,
  clients?: string,
): Promise<Peer & { server: Server }> {
  const mutual = clients === undefined ? {} : { ca: clients, requestCert: true, rejectUnauthorized: true };
  const server = createServer({ ...(await authority.issue(['localhost'])), ...mutual }, listener);
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { server, url: `https://localhost:${(server.address() as AddressInfo).port}`, close };
}

/** An OpenID provider whose keys can be changed while it runs. */
export interface RunningProvider extends Peer {
  /** Replaces the keys; `keep`: whether tokens of the old ones stay good. */
  rotate(keep: boolean): Promise<void>;
  /** A token of the client-credentials flow. */
  token(): Promise<string>;
  /** Requests for its keys so far. */
  keysRead(): number;
}

async function signingKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
}

/** Starts `oidc-provider` with one client, whose access tokens are JWTs for {@link AUDIENCE}. */
export async function startProvider(authority: Authority): Promise<RunningProvider> {
  let handle: RequestListener = (_request, response) => response.writeHead(503).end();
  let keysRead = 0;
  const peer = await serve(authority, (incoming, response) => {
    if (incoming.url?.startsWith('/jwks') === true) keysRead++;
    handle(incoming, response);
  });
  let keys: JWK[] = [];
  let generation = 0;
  const rotate = async (keep: boolean) => {
    keys = [await signingKey(`key-${++generation}`), ...(keep ? keys : [])];
    handle = new Provider(peer.url, {
      jwks: { keys },
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => AUDIENCE,
          getResourceServerInfo: () => ({ scope: '', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
        },
      },
      extraTokenClaims: () => ({ teams: ['blue', 'green'], tier: 'gold' }),
    }).callback();
  };
  await rotate(false);
  const token = async () => {
    const answer = await call(`${peer.url}/token`, {
      method: 'POST',
      ca: authority.certificate,
      headers: {
        authorization: `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
    });
    return (JSON.parse(answer.body) as { access_token: string }).access_token;
  };
  return { url: peer.url, close: peer.close, rotate, token, keysRead: () => keysRead };
}

/** A webhook that answers reviews, and what it was sent. */
export interface ReviewPeer extends Peer {
  /** Specs of the reviews so far. */
  reviews: Record<string, unknown>[];
  /** While true, every request is answered 500. */
  broken: boolean;
}

/** Starts a webhook; only clients with a certificate of `clients` are served. */
export async function startReviewer(
  authority: Authority,
  clients: string,
  answer: (spec: Record<string, unknown>) => object,
): Promise<ReviewPeer> {
  const state: Pick<ReviewPeer, 'reviews' | 'broken'> = { reviews: [], broken: false };
  const peer = await serve(authority, (incoming, response) => review(incoming, response, state, answer), clients);
  return Object.assign(state, { url: peer.url, close: peer.close });
}

function review(
  incoming: IncomingMessage,
  response: ServerResponse,
  state: Pick<ReviewPeer, 'reviews' | 'broken'>,
  answer: (spec: Record<string, unknown>) => object,
): void {
  let text = '';
  incoming.on('data', (chunk: Buffer) => (text += chunk.toString()));
  incoming.on('end', () => {
    const { apiVersion, kind, spec } = JSON.parse(text) as Record<string, unknown> & { spec: Record<string, unknown> };
    state.reviews.push(spec);
    if (state.broken) response.writeHead(500).end();
    else {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ apiVersion, kind, status: answer(spec) }));
    }
  });
}

export interface Answer {
  status: number;
  body: string;
}

/** One HTTPS request on a connection of its own. */
export function call(
  url: string,
  options: {
    ca: string;
    method?: string;
    headers?: Record<string, string>;
    body?: string;
    cert?: string;
    key?: string;
  },
): Promise<Answer> {
  const { body, ...rest } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...rest, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
