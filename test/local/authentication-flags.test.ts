import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { authenticationOf } from '../../src/local/authentication-flags.ts';
import type { ClusterKeys } from '../../src/local/certificates.ts';
import { workerConfig } from '../../src/local/cluster.ts';
import { parseOptions } from '../../src/local/options.ts';

const folder = mkdtempSync(join(tmpdir(), 'gunwale-flags-'));
const read = (...args: string[]) => authenticationOf(parseOptions(args).authentication, 'https://own');

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const configuration = (rest: string) =>
  `apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n${rest}`;
const issuer =
  'jwt:\n- issuer: {url: "https://i.example", audiences: [a]}\n  claimMappings: {username: {claim: sub, prefix: ""}}\n';

describe('the flags of authentication', () => {
  const oidc = ['--oidc-issuer-url=https://i.example', '--oidc-client-id=me'];

  test('make an issuer with the usual mappings', () => {
    expect(read(...oidc)).toMatchObject({
      jwt: [
        {
          issuer: { url: 'https://i.example', audiences: ['me'] },
          claimMappings: { username: { claim: 'sub', prefix: 'https://i.example#' } },
        },
      ],
      signingAlgorithms: ['RS256'],
      anonymous: { enabled: true },
    });
    const more = ['--oidc-username-claim=email', '--oidc-groups-claim=g', '--oidc-signing-algs=ES256,RS512'];
    const claims = ['--oidc-required-claim=a=b=c', '--oidc-required-claim', 'd='];
    expect(read(...oidc, ...more, ...claims, '--anonymous-auth=false')).toMatchObject({
      jwt: [
        {
          claimMappings: { username: { claim: 'email', prefix: '' }, groups: { claim: 'g', prefix: '' } },
          claimValidationRules: [
            { claim: 'a', requiredValue: 'b=c' },
            { claim: 'd', requiredValue: '' },
          ],
        },
      ],
      signingAlgorithms: ['ES256', 'RS512'],
      anonymous: { enabled: false },
    });
    const [named] = read(...oidc, '--oidc-username-prefix=-').jwt ?? [];
    expect(named?.claimMappings.username).toEqual({ claim: 'sub', prefix: '' });
  });

  test('name a front proxy', () => {
    const pem = file('ca.pem', '-----BEGIN CERTIFICATE-----\n');
    const names = ['--requestheader-allowed-names=a,b', '--requestheader-username-headers=X-Remote-User'];
    expect(read(`--requestheader-client-ca-file=${pem}`, ...names).requestHeader).toMatchObject({
      clientCA: '-----BEGIN CERTIFICATE-----\n',
      allowedNames: ['a', 'b'],
      usernameHeaders: ['X-Remote-User'],
    });
  });

  test('read a file', () => {
    const path = file(
      'good.yaml',
      configuration(`${issuer}anonymous: {enabled: true, conditions: [{path: /livez}]}\n`),
    );
    expect(read(`--authentication-config=${path}`)).toMatchObject({
      jwt: [{ issuer: { url: 'https://i.example' } }],
      anonymous: { enabled: true, conditions: [{ path: '/livez' }] },
    });
  });

  test.each([
    ['a client without its issuer', ['--oidc-client-id=me'], 'must be given together'],
    [
      'an issuer that is no https URL',
      ['--oidc-issuer-url=http://i', '--oidc-client-id=me'],
      'URL scheme must be https',
    ],
    ['an unknown algorithm', [...oidc, '--oidc-signing-algs=HS256'], 'HS256 is none of'],
    ['half a claim', [...oidc, '--oidc-required-claim=a'], 'KEY=VALUE'],
    ['neither yes nor no', ['--anonymous-auth=maybe'], 'true or false'],
    [
      'a file that is not there',
      ['--authentication-config=/nowhere'],
      'The authentication configuration /nowhere cannot be read.',
    ],
    [
      'a file of another kind',
      [`--authentication-config=${file('kind.yaml', 'kind: Policy')}`],
      'kind.yaml is wrong: ',
    ],
    [
      'an unknown field',
      [`--authentication-config=${file('field.yaml', configuration('jwts: []\n'))}`],
      'field.yaml is wrong: jwts',
    ],
    ['a file that is no YAML', [`--authentication-config=${file('bad.yaml', 'a: [')}`], 'bad.yaml is wrong: '],
    [
      'a wrong issuer in a file',
      [`--authentication-config=${file('issuer.yaml', configuration(issuer.replace('https', 'http')))}`],
      'issuer.yaml is wrong: jwt[0].issuer.url: Invalid value',
    ],
    [
      'issuers in both',
      [...oidc, `--authentication-config=${file('both.yaml', configuration(issuer))}`],
      'cannot both name issuers',
    ],
    [
      'anonymous users in both',
      [
        '--anonymous-auth=true',
        `--authentication-config=${file('anonymous.yaml', configuration('anonymous: {enabled: true}\n'))}`,
      ],
      '--anonymous-auth cannot be given',
    ],
    [
      'an authority without a certificate',
      [`--requestheader-client-ca-file=${file('none.pem', 'x')}`],
      'none.pem holds no PEM certificate',
    ],
  ])('refuse %s', (_name, args, message) => {
    expect(() => read(...args)).toThrow(message);
  });
});

describe('an authority of clients besides the own one', () => {
  const own = { cert: 'OWN\n', key: '' };
  const keys = {
    ca: own,
    frontProxyCA: own,
    frontProxy: own,
    server: own,
    admin: own,
    serviceAccount: [],
  } as unknown as ClusterKeys;
  const clientCA = (...args: string[]) =>
    (JSON.parse(workerConfig(parseOptions(args), {}, keys)) as { clientCA: string }).clientCA;

  test('is trusted beside it', () => {
    const pem = '-----BEGIN CERTIFICATE-----\nX\n';
    expect(clientCA()).toBe('OWN\n');
    expect(clientCA('--client-ca-file', file('clients.pem', pem))).toBe(`OWN\n${pem}`);
  });

  test('must be a file of certificates', () => {
    expect(() => clientCA('--client-ca-file', file('empty.pem', 'x'))).toThrow('holds no PEM certificate');
    expect(() => clientCA('--client-ca-file', join(folder, 'none'))).toThrow('cannot be read');
  });
});
