import { expect, test } from 'vitest';
import { rewriteLink } from '../../src/proxy/links.ts';
import { authorityOf, isGlobalUnicast, parseTarget } from '../../src/proxy/target.ts';

test.each([
  ['web', { scheme: '', name: 'web', port: '' }],
  ['web:80', { scheme: '', name: 'web', port: '80' }],
  ['https:web:admin', { scheme: 'https', name: 'web', port: 'admin' }],
  [':web:80', { scheme: '', name: 'web', port: '80' }],
  ['ftp:web:80', undefined],
  ['a:b:c:d', undefined],
  [':80', undefined],
])('%s names a target', (id, expected) => {
  expect(parseTarget(id)).toEqual(expected);
});

const forbidden = [
  ...['127.0.0.1', '127.8.9.1', '0.0.0.0', '169.254.169.254', '224.0.0.1', '255.255.255.255'],
  ...['::', '::1', 'fe80::1', 'ff02::1', '::ffff:127.0.0.1', '', 'localhost', '0127.0.0.1'],
];
test.each(forbidden)('a proxy does not call %s', (address) => {
  expect(isGlobalUnicast(address)).toBe(false);
});

test.each(['10.0.0.1', '192.168.1.1', '8.8.8.8', '2001:db8::1', 'fd00::1', '::ffff:10.0.0.1'])(
  'a proxy may call %s',
  (address) => {
    expect(isGlobalUnicast(address)).toBe(true);
  },
);

test('IPv6 addresses stand in brackets', () => {
  expect(authorityOf('FD00::1', '80')).toBe('[fd00::1]:80');
  expect(authorityOf('10.0.0.1', '')).toBe('10.0.0.1');
});

test.each([
  ['/a?b=c', '/p/a?b=c'],
  ['/p/a', '/p/a'],
  ['http://10.0.0.1:80/x', '/p/x'],
  ['http://elsewhere/x', 'http://elsewhere/x'],
  ['//elsewhere/x', '//elsewhere/x'],
  ['a/b', 'a/b'],
  ['#top', '#top'],
])('a link to %s', (link, expected) => {
  expect(rewriteLink(link, { origin: 'http://10.0.0.1:80', prefix: '/p' })).toBe(expected);
});
