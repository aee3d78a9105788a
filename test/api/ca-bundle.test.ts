import { beforeAll, describe, expect, test } from 'vitest';
import { bundleFault } from '../../src/api/validation/ca-bundle.ts';
import { establish } from '../../src/extensions/establish.ts';
import { authority } from '../support/authority.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const block = (type: string, body: string) => `-----BEGIN ${type}-----\n${base64(body)}\n-----END ${type}-----\n`;
const COULD_NOT = 'unable to load root certificates: ';
let good: string;

beforeAll(async () => {
  good = (await authority('a')).certificate;
});

describe('certificates of a conversion webhook', () => {
  test('a bundle, also with more beside it, and none at all', () => {
    expect(bundleFault(base64(good))).toBeUndefined();
    expect(bundleFault(base64(`${block('OTHER', 'x')}${good}`))).toBeUndefined();
    expect(bundleFault(undefined)).toBeUndefined();
  });

  test('what is none, as kube-apiserver says it', () => {
    expect(bundleFault('aGFsbG8=')).toBe(`${COULD_NOT}unable to parse bytes as PEM block`);
    expect(bundleFault(base64(block('CERTIFICATE', 'hallo')))).toBe(
      `${COULD_NOT}failed to parse certificate: x509: malformed certificate`,
    );
    expect(bundleFault(base64(block('OTHER', 'x')))).toBe(`${COULD_NOT}no valid certificate authority data seen`);
  });

  test('a definition with a broken one is not established', () => {
    const names = { plural: 'things', kind: 'Thing' };
    const conversion = { strategy: 'Webhook', webhook: { clientConfig: { caBundle: 'aGFsbG8=' } } };
    const definition = { metadata: { name: 'things.a.b' }, spec: { group: 'a.b', names, conversion } };
    const status = establish(definition, [], '2026-01-01T00:00:00Z');
    expect(status).toMatchObject({
      conditions: [
        { type: 'NamesAccepted', status: 'True' },
        { type: 'Established', status: 'False', reason: 'InvalidCABundle' },
      ],
    });
  });
});
