// Authentication and authorization against real peers: an OpenID provider whose keys change, webhooks for tokens and
// access behind HTTPS with a private authority and client certificates, a front proxy, kubectl with an exec plugin.
import { deepStrictEqual as equal, match, ok } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome } from '../e2e/kubectl.ts';
import { authority } from '../support/authority.ts';
import { startLocalCluster } from '../support/local-cluster.ts';
import { AUDIENCE, CLIENT, call, startProvider, startReviewer } from './peers.ts';

const folder = mkdtempSync(join(tmpdir(), 'gunwale-auth-'));
const write = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
};
const base64 = (text: string) => Buffer.from(text).toString('base64');

const peers = await authority('peers');
const callers = await authority('callers');
const proxies = await authority('proxies');
const caller = await callers.issue(['caller']);
const proxy = await proxies.issue(['front']);
const provider = await startProvider(peers);
const tokens = await startReviewer(peers, callers.certificate, ({ token }) =>
  token === 'known' ? { authenticated: true, user: { username: 'webhook:ann', groups: ['hooked'] } } : {},
);
const access = await startReviewer(peers, callers.certificate, ({ user }) =>
  user === 'webhook:ann' ? { allowed: true, reason: 'hooked' } : { allowed: false, reason: 'not known' },
);

const kubeconfig = (server: string) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'peer', cluster: { server, 'certificate-authority-data': base64(peers.certificate) } }],
    users: [
      { name: 'me', user: { 'client-certificate-data': base64(caller.cert), 'client-key-data': base64(caller.key) } },
    ],
    contexts: [{ name: 'peer', context: { cluster: 'peer', user: 'me' } }],
    'current-context': 'peer',
  });

const authentication = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt: [
    {
      issuer: { url: provider.url, audiences: [AUDIENCE], certificateAuthority: peers.certificate },
      claimMappings: {
        username: { claim: 'sub', prefix: 'oidc:' },
        groups: { expression: 'claims.teams.map(team, "team:" + team)' },
        extra: [{ key: 'example.org/tier', valueExpression: 'claims.tier' }],
      },
      claimValidationRules: [{ claim: 'tier', requiredValue: 'gold' }],
      userValidationRules: [{ expression: "!user.username.startsWith('system:')", message: 'reserved' }],
    },
  ],
  anonymous: { enabled: true, conditions: [{ path: '/livez' }] },
};
const authorization = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthorizationConfiguration',
  authorizers: [
    { type: 'Node', name: 'node' },
    { type: 'RBAC', name: 'rbac' },
    {
      type: 'Webhook',
      name: 'peer',
      webhook: {
        timeout: '3s',
        subjectAccessReviewVersion: 'v1',
        matchConditionSubjectAccessReviewVersion: 'v1',
        failurePolicy: 'NoOpinion',
        authorizedTTL: '1h',
        unauthorizedTTL: '1s',
        connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: write('access.yaml', kubeconfig(access.url)) },
        matchConditions: [{ expression: "request.user.startsWith('webhook:') || 'asked' in request.groups" }],
      },
    },
  ],
};

const cluster = await startLocalCluster([
  `--authentication-config=${write('authentication.yaml', JSON.stringify(authentication))}`,
  `--authentication-token-webhook-config-file=${write('tokens.yaml', kubeconfig(tokens.url))}`,
  '--authentication-token-webhook-version=v1',
  `--authorization-config=${write('authorization.yaml', JSON.stringify(authorization))}`,
  `--requestheader-client-ca-file=${write('proxies.pem', proxies.certificate)}`,
  '--requestheader-allowed-names=front',
  '--requestheader-username-headers=X-Remote-User',
  '--requestheader-group-headers=X-Remote-Group',
  '--requestheader-extra-headers-prefix=X-Remote-Extra-',
]);
const { url, kubeconfig: adminFile } = cluster.run();
const admin = JSON.parse(readFileSync(adminFile, 'utf8')) as {
  clusters: { cluster: Record<string, string> }[];
};
const ca = Buffer.from(admin.clusters[0]!.cluster['certificate-authority-data']!, 'base64').toString();

interface Credential {
  token?: string;
  headers?: Record<string, string>;
  cert?: string;
  key?: string;
}

const ask = (path: string, { token, headers, ...certificate }: Credential = {}) =>
  call(`${url}${path}`, {
    ca,
    ...certificate,
    headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
  });

/** Who the server says that a credential is. */
async function whoAmI(credential: Credential): Promise<Record<string, unknown> | number> {
  const { headers, token, ...certificate } = credential;
  const answer = await call(`${url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
    ca,
    ...certificate,
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
  });
  if (answer.status !== 201) return answer.status;
  return (JSON.parse(answer.body) as { status: { userInfo: Record<string, unknown> } }).status.userInfo;
}

let passed = 0;
let failed = 0;
async function check(title: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
    passed++;
    console.log(`ok   ${title}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${title}\n     ${(error as Error).stack}`);
  }
}

async function identity(): Promise<void> {
  await check('a token of the OpenID provider names its user, groups and extra', async () => {
    const user = (await whoAmI({ token: await provider.token() })) as Record<string, unknown>;
    equal(user.username, `oidc:${CLIENT.id}`);
    equal(user.groups, ['team:blue', 'team:green', 'system:authenticated']);
    equal((user.extra as Record<string, unknown>)['example.org/tier'], ['gold']);
  });

  await check("the provider's keys are read once for many tokens", async () => {
    const before = provider.keysRead();
    for (let i = 0; i < 5; i++) equal(typeof (await whoAmI({ token: await provider.token() })), 'object');
    equal(provider.keysRead(), before);
  });

  await check('tokens of a new key and of the old one are good while both are published', async () => {
    const old = await provider.token();
    await provider.rotate(true);
    // Keys are read again at most once a second.
    await sleep(1100);
    equal(typeof (await whoAmI({ token: await provider.token() })), 'object');
    equal(typeof (await whoAmI({ token: old })), 'object');
  });

  await check('tokens of a key that was taken back are refused once the keys were read again', async () => {
    const old = await provider.token();
    await provider.rotate(false);
    await sleep(1100);
    equal(typeof (await whoAmI({ token: await provider.token() })), 'object');
    equal(await whoAmI({ token: old }), 401);
  });

  await check('a changed token is refused', async () => {
    const [head, , signature] = (await provider.token()).split('.');
    const body = Buffer.from(JSON.stringify({ iss: provider.url, sub: 'root', aud: AUDIENCE, exp: 4e9, tier: 'gold' }));
    equal(await whoAmI({ token: `${head}.${body.toString('base64url')}.${signature}` }), 401);
  });

  await check('kubectl with an exec plugin', async () => {
    const user = {
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        interactiveMode: 'Never',
        provideClusterInfo: false,
        command: process.execPath,
        args: [join(import.meta.dirname, 'exec-credential.ts')],
        env: [
          { name: 'PROVIDER_URL', value: provider.url },
          { name: 'CLIENT_ID', value: CLIENT.id },
          { name: 'CLIENT_SECRET', value: CLIENT.secret },
          { name: 'NODE_EXTRA_CA_CERTS', value: write('peers.pem', peers.certificate) },
        ],
      },
    };
    const clusters = admin.clusters;
    const contexts = [{ name: 'c', context: { cluster: 'gunwale', user: 'u' } }];
    const config = { apiVersion: 'v1', kind: 'Config', clusters, users: [{ name: 'u', user }], contexts };
    const file = write('exec.yaml', JSON.stringify({ ...config, 'current-context': 'c' }));
    const { code, stdout, stderr } = await kubectl(['--kubeconfig', file, 'auth', 'whoami', '-o', 'json']);
    equal(code, 0, stderr);
    match(stdout, /oidc:robot/);
  });

  await check('a token that a webhook knows, over TLS with client certificates, is asked for once', async () => {
    const user = (await whoAmI({ token: 'known' })) as Record<string, unknown>;
    equal(user.username, 'webhook:ann');
    const before = tokens.reviews.length;
    await whoAmI({ token: 'known' });
    equal(tokens.reviews.length, before);
    equal(await whoAmI({ token: 'unknown' }), 401);
  });

  await check('the front proxy speaks for users, and nobody else does', async () => {
    const headers = { 'X-Remote-User': 'ann', 'X-Remote-Group': 'dev', 'X-Remote-Extra-Team%2Fa': 'x' };
    const user = (await whoAmI({ headers, ...proxy })) as Record<string, unknown>;
    equal(user.username, 'ann');
    equal(user.groups, ['dev', 'system:authenticated']);
    equal(user.extra, { 'team/a': ['x'] });
    equal(await whoAmI({ headers }), 401);
    equal(await whoAmI({ headers, ...(await proxies.issue(['other'])) }), 401);
    equal(await whoAmI({ headers, ...(await callers.issue(['front'])) }), 401);
    const mine = (await whoAmI({ headers, token: 'known' })) as Record<string, unknown>;
    equal(mine.username, 'webhook:ann');
  });

  await check('the anonymous user is there for its paths only', async () => {
    equal((await ask('/livez')).status, 200);
    equal((await ask('/readyz')).status, 401);
    equal((await ask('/api')).status, 401);
  });
}

async function decisions(): Promise<void> {
  const group = (name: string) => ({ headers: { 'X-Remote-User': 'u', 'X-Remote-Group': name }, ...proxy });

  await check('a webhook allows, and its answer is remembered', async () => {
    equal((await ask('/api/v1/namespaces/default/pods', { token: 'known' })).status, 200);
    const before = access.reviews.length;
    equal((await ask('/api/v1/namespaces/default/pods', { token: 'known' })).status, 200);
    equal(access.reviews.length, before);
    const last = access.reviews.at(-1) as { resourceAttributes: Record<string, unknown> };
    equal(last.resourceAttributes, { namespace: 'default', verb: 'list', version: 'v1', resource: 'pods' });
  });

  await check('its refusal is shown, and who its conditions leave out is not asked about', async () => {
    const refused = await ask('/api/v1/secrets', group('asked'));
    equal(refused.status, 403);
    match(refused.body, /not known/);
    const before = access.reviews.length;
    equal((await ask('/api/v1/secrets', group('others'))).status, 403);
    equal(access.reviews.length, before);
  });

  await check('a webhook that is broken fails what nobody else allows, and nothing else', async () => {
    access.broken = true;
    const started = access.reviews.length;
    const failing = await ask('/api/v1/configmaps', group('asked'));
    equal(failing.status, 500);
    match(failing.body, /^Internal Server Error: "\/api\/v1\/configmaps": /);
    equal(access.reviews.length - started, 5);
    equal((await ask('/api/v1/namespaces/default/pods', { token: 'known' })).status, 200);
    access.broken = false;
    await sleep(1100);
    equal((await ask('/api/v1/configmaps', group('asked'))).status, 403);
  });

  await check('access reviews ask the webhook too', async () => {
    const { code, stdout } = await kubectl([
      ...['--kubeconfig', adminFile, 'auth', 'can-i', 'delete', 'nodes', '--as', 'webhook:ann'],
    ]);
    equal([code, stdout.trim()], [0, 'yes']);
  });
}

/** kubectl beside this process, which serves the peers that it asks. */
function kubectl(args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.env.KUBECTL ?? 'kubectl', args, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    );
  });
}

try {
  await identity();
  await decisions();
  await check('a wrong file fails the start with its path and the reason', async () => {
    const wrong = write('wrong.yaml', JSON.stringify({ ...authentication, jwt: [{ issuer: {}, claimMappings: {} }] }));
    const start = startLocalCluster([`--authentication-config=${wrong}`]);
    await start.then(
      () => ok(false, 'it started'),
      (error: Error) => match(error.message, /wrong\.yaml is wrong: jwt\.0\.claimMappings\.username/),
    );
  });
} finally {
  await cluster.stop();
  cluster.remove();
  for (const peer of [provider, tokens, access]) peer.close();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
