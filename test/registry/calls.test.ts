import { expect, test } from 'vitest';
import { testApp } from '../support/app.ts';

const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const pods = '/api/v1/namespaces/default/pods';

test.each<[string, object]>([
  ['/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { spec: { nonResourceAttributes: { path: '/' } } }],
  ['/apis/authentication.k8s.io/v1/selfsubjectreviews', {}],
  [`${pods}/none/binding`, { metadata: { name: 'none' }, target: { name: 'n' } }],
  [`${pods}/none/eviction`, { metadata: { name: 'none' } }],
  ['/api/v1/namespaces/default/serviceaccounts/none/token', {}],
])('%s has no columns', async (path, body) => {
  const { call } = await testApp();
  const answer = await call('POST', path, body, { accept });
  expect([answer.status, answer.body.reason]).toEqual([406, 'NotAcceptable']);
});
