import { describe, expect, it } from 'vitest';
import {
  type Endpoint,
  endpoints,
  negotiate,
  negotiateError,
  negotiateWatch,
  wantsPretty,
  withRouted,
} from '../../src/request/negotiate.ts';
import { StatusError } from '../../src/status/status.ts';

const J = 'application/json';
const Y = 'application/yaml';
const P = 'application/vnd.kubernetes.protobuf';
const meta = (kind: string, version = 'v1') => `;as=${kind};v=${version};g=meta.k8s.io`;

function outcome(accept: string | null, endpoint: Endpoint, choose = negotiate): string {
  try {
    const { mediaType, as } = choose(accept, endpoint);
    return as === undefined ? mediaType : `${mediaType} ${as.kind} ${as.version}`;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    expect(error.status.code).toBe(406);
    return error.status.message;
  }
}

const routed406 = `406: Not Acceptable\n\nAvailable representations: ${J}, ${Y}, ${P}`;
const only406 = `only the following media types are accepted: ${J}, ${Y}, ${P}`;

describe('one object of a built-in resource', () => {
  it.each([
    [null, J],
    ['', J],
    [J, J],
    [P, P],
    [`${P},${J}`, P],
    [`${J},${P}`, J],
    [`${P};q=0.5,${J}`, J],
    [`${J};q=0.1, ${Y};q=0.9`, Y],
    ['application/cbor', routed406],
    [`application/cbor,${J}`, J],
    [`application/x-thing, ${J}`, J],
    ['*/*', J],
    ['text/*', routed406],
    ['application/*', routed406],
    [';;,,/', routed406],
    [`${J}; charset=utf-8`, J],
    ['text/html,application/xhtml+xml,*/*;q=0.8', J],
    [J + meta('Table'), `${J} Table v1`],
    [`${P}${meta('Table')}`, only406],
    [`${P}${meta('Table')},${J}${meta('Table', 'v1beta1')}`, `${J} Table v1beta1`],
    [`${J}${meta('Chart')}`, only406],
    [`${J}${meta('Chart')},${J}`, J],
    [`${J};v=v1`, only406],
    [`${J};stream=foo`, only406],
    [`${Y};stream=watch`, only406],
    [`${J};stream=watch`, J],
    [`${P}${meta('PartialObjectMetadata')}`, `${P} PartialObjectMetadata v1`],
  ])('%j gives %j', (accept, wanted) => {
    expect(outcome(accept, endpoints.object)).toBe(wanted);
  });
});

describe('custom resources', () => {
  it.each([
    [P, only406],
    [`${P},${J}`, J],
    [`${P}${meta('PartialObjectMetadataList')}`, `${P} PartialObjectMetadataList v1`],
    [`${J}${meta('Bogus')}`, only406],
    ['text/html', only406],
    ['application/*', J],
    ['application/cbor', only406],
    [`${J};q=0.1,${Y};q=0.9`, Y],
  ])('%j gives %j', (accept, wanted) => {
    expect(outcome(accept, endpoints.custom)).toBe(wanted);
  });
});

describe('other endpoints', () => {
  it('lists name the stream forms when nothing matches', () => {
    expect(outcome('text/html', endpoints.collection)).toBe(`${routed406}, ${J};stream=watch, ${P};stream=watch`);
  });
  it('watches cannot be YAML, and name their framing', () => {
    const types = `only the following media types are accepted: ${J};stream=watch, ${P};stream=watch`;
    expect(outcome(`${Y},${J}`, endpoints.collection, negotiateWatch)).toBe(types);
    expect(negotiateWatch(J, endpoints.collection).contentType).toBe(J);
    expect(negotiateWatch(`${P};stream=watch`, endpoints.collection).contentType).toBe(`${P};stream=watch`);
  });
  it('discovery is not turned into anything', () => {
    expect(outcome(J + meta('Table'), endpoints.discovery)).toBe(only406);
  });
  it('a route may produce more', () => {
    expect(outcome('text/plain', withRouted(endpoints.object, 'text/plain'))).toBe(only406);
    expect(outcome('text/html', withRouted(endpoints.object, 'text/plain'))).toContain(
      `representations: text/plain, ${J}`,
    );
    expect(outcome('application/*', withRouted(endpoints.object, '*'))).toBe(J);
  });
});

describe('errors', () => {
  it('are never hidden by negotiation', () => {
    expect(negotiateError(P).mediaType).toBe(P);
    expect(negotiateError('text/html')).toMatchObject({ mediaType: J, pretty: true });
    expect(negotiateError(J + meta('Table'))).toMatchObject({ mediaType: J, pretty: true });
    expect(negotiateError('application/*')).toMatchObject({ mediaType: J, pretty: false });
  });
});

describe('pretty', () => {
  it.each([
    ['pretty=true', 'x', true],
    ['pretty=1', null, true],
    ['pretty=false', 'curl/8', false],
    ['pretty=', 'curl/8', true],
    ['', 'Mozilla/5.0 (X11)', true],
    ['', 'Wget/1', true],
    ['', 'kubectl/v1.36', false],
    ['pretty=yes', 'curl/8', false],
  ])('query %j and agent %j give %j', (query, agent, wanted) => {
    expect(wantsPretty(new URLSearchParams(query), agent)).toBe(wanted);
  });
  it('can be a parameter of the media type', () => {
    expect(negotiate(`${J};pretty=1`, endpoints.object).pretty).toBe(true);
  });
});

describe('what is only ever posted', () => {
  it.each([
    [J + meta('Table'), only406],
    [`${J}${meta('Table')},${J}`, J],
    [`${J}${meta('PartialObjectMetadata')}`, `${J} PartialObjectMetadata v1`],
  ])('%s', (accept, expected) => expect(outcome(accept, endpoints.call)).toBe(expected));
});
