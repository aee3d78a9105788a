import { beforeAll, describe, expect, test } from 'vitest';
import { authenticate } from '../../src/authn/index.ts';
import type { Config } from '../../src/config.ts';
import { memoryKeyspace } from '../support/memory-keyspace.ts';
import { type Authority, authority, issue, requestWith } from './certificates.ts';
import { makeConfig, makeDeps, now, statusOf } from './support.ts';

describe('the front proxy', () => {
  let proxyCA: Authority;
  let clientCA: Authority;
  let config: Config;
  let proxy: string;
  const headersOf = {
    usernameHeaders: ['X-Remote-User', 'X-Other-User'],
    uidHeaders: ['X-Remote-Uid'],
    groupHeaders: ['X-Remote-Group'],
    extraHeaderPrefixes: ['X-Remote-Extra-'],
  };
  beforeAll(async () => {
    proxyCA = await authority('ECDSA', 'proxy-ca');
    clientCA = await authority('ECDSA', 'client-ca');
    const requestHeader = { clientCA: proxyCA.certificate.toString('pem'), allowedNames: ['front'], ...headersOf };
    config = await makeConfig({
      clientCA: clientCA.certificate.toString('pem'),
      staticTokens: 'secret,tom,1',
      authentication: { requestHeader },
    });
    proxy = await issue(proxyCA, 'CN=front');
  });
  const ask = (request: Request) => authenticate(request, makeDeps(config));
  const remote = { 'X-Remote-User': 'ann' };

  test('says who the user is', async () => {
    const headers = new Headers(remote);
    headers.append('X-Remote-Group', 'dev');
    headers.append('X-Remote-Group', 'ops');
    headers.append('X-Remote-Uid', '7');
    headers.append('x-remote-extra-acme.com%2Fproject', 'p1');
    headers.append('X-Remote-Extra-acme.com%2Fproject', 'p2');
    headers.append('X-Remote-Extra-__proto__', 'data');
    const { user } = await ask(requestWith(proxy, Object.fromEntries(headers)));
    expect(user).toMatchObject({ name: 'ann', uid: '7', groups: ['dev', 'ops', 'system:authenticated'] });
    expect(Object.entries(user.extra)).toEqual([
      ['__proto__', ['data']],
      ['acme.com/project', ['p1', 'p2']],
    ]);
    expect((await ask(requestWith(proxy, { 'X-Other-User': 'bob' }))).user.name).toBe('bob');
  });

  test('is not believed without its certificate: headers of others say nothing', async () => {
    expect((await ask(requestWith('', remote))).user.name).toBe('system:anonymous');
    const client = await issue(clientCA, 'CN=eve');
    expect((await ask(requestWith(client, { ...remote, 'X-Remote-Group': 'system:masters' }))).user).toMatchObject({
      name: 'eve',
      groups: ['system:authenticated'],
    });
    const token = { authorization: 'Bearer secret', ...remote };
    expect((await ask(requestWith('', token))).user.name).toBe('tom');
  });

  test.each([
    ['of another name', 'CN=back', {}],
    ['that is over', 'CN=front', { notAfter: new Date(now.getTime() - 1) }],
    ['of a server', 'CN=front', { usage: '1.3.6.1.5.5.7.3.1' }],
  ])('is not believed with a certificate %s', async (_name, subject, more) => {
    expect(await statusOf(ask(requestWith(await issue(proxyCA, subject, more), remote)))).toMatchObject({ code: 401 });
  });

  test('without a user is nobody that the client authority knows', async () => {
    expect(await statusOf(ask(requestWith(proxy)))).toMatchObject({ code: 401 });
  });
});

describe('the anonymous user', () => {
  const configured = (anonymous: object) => makeConfig({ staticTokens: 'secret,tom,1', authentication: { anonymous } });
  const ask = (config: Config, path: string, headers: Record<string, string> = {}) =>
    authenticate(new Request('https://server', { headers }), makeDeps(config, memoryKeyspace(), now, { path }));

  test('may be turned off, for all paths or all but some', async () => {
    const off = await configured({ enabled: false });
    expect(await statusOf(ask(off, '/livez'))).toMatchObject({ code: 401 });
    expect(await statusOf(ask(off, '/livez', { authorization: 'Bearer  secret' }))).toMatchObject({ code: 401 });
    expect((await ask(off, '/api', { authorization: 'Bearer secret' })).user.name).toBe('tom');
    const some = await configured({ enabled: true, conditions: [{ path: '/livez' }] });
    expect((await ask(some, '/livez')).user.name).toBe('system:anonymous');
    for (const path of ['/livez/', '/livez/ping', '/api', '/livezz'])
      expect(await statusOf(ask(some, path))).toMatchObject({ code: 401 });
  });

  test('has no conditions where there is none', async () => {
    await expect(configured({ enabled: false, conditions: [{ path: '/livez' }] })).rejects.toThrow(
      'anonymous.conditions',
    );
  });
});
