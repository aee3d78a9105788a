import type { Tree } from '../e2e/api.ts';
import { type Behaviour, patchOf } from './server.ts';

const SIDECAR = { name: 'sidecar', image: 'sidecar:1' };
const raw =
  (status: number, type: string, body: string): Behaviour =>
  (_, answer) =>
    void answer.writeHead(status, { 'content-type': type }).end(body);
const label = (key: string, value: string) => ({ op: 'add', path: `/metadata/labels/${key}`, value });

/** A policy engine's answer: pods need an owner. */
function judge({ request }: Tree): Tree {
  const { labels = {} } = (request.object ?? request.oldObject).metadata;
  const warnings = labels.owner === 'unknown' ? ['the owner is unknown'] : [];
  if (labels.owner) return { allowed: true, warnings, auditAnnotations: { owner: labels.owner } };
  return { allowed: false, status: { message: 'an owner is needed', reason: 'Forbidden', code: 403 } };
}

/** What the hooks of the scenarios do, by path. */
export const behaviours: Readonly<Record<string, Behaviour>> = {
  '/allow': () => ({ allowed: true }),
  '/deny': () => ({ allowed: false }),
  '/deny-teapot': () => ({ allowed: false, status: { code: 418, message: 'short and stout', reason: 'Teapot' } }),
  '/deny-low-code': () => ({ allowed: false, status: { code: 200, reason: 'OnlyReason' } }),
  '/deny-details': () => ({
    allowed: false,
    status: { code: 422, message: 'm', details: { name: 'n', causes: [{ field: 'f', message: 'x' }] } },
  }),
  '/warn': () => ({ allowed: true, warnings: ['first', 'second'], auditAnnotations: { key: 'value' } }),
  '/judge': judge,
  '/inject': ({ request }) =>
    request.object.spec.containers.some(({ name }: Tree) => name === SIDECAR.name)
      ? { allowed: true }
      : patchOf({ op: 'add', path: '/spec/containers/-', value: SIDECAR }, label('injected', 'yes')),
  '/label-a': () => patchOf(label('a', '1')),
  '/count': ({ request }) => {
    const { count = '0' } = request.object.metadata.labels ?? {};
    return patchOf(label('count', String(Number(count) + 1)));
  },
  '/same': ({ request }) => patchOf({ op: 'replace', path: '/metadata/name', value: request.object.metadata.name }),
  '/rename': () => patchOf({ op: 'replace', path: '/metadata/name', value: 'Bad_Name' }),
  '/missing-path': () => patchOf({ op: 'add', path: '/data/a/b', value: '1' }),
  '/wrong-type': () => patchOf({ op: 'add', path: '/data', value: 7 }),
  '/unknown-field': () => patchOf({ op: 'add', path: '/nothing', value: 7 }),
  '/empty-patch': () => patchOf(),
  '/patch-is-object': () => ({ allowed: true, patchType: 'JSONPatch', patch: Buffer.from('{}').toString('base64') }),
  '/patch-no-json': () => ({ allowed: true, patchType: 'JSONPatch', patch: Buffer.from('x').toString('base64') }),
  '/patch-without-type': () => ({ ...patchOf(label('a', '1')), patchType: undefined }),
  '/type-without-patch': () => ({ allowed: true, patchType: 'JSONPatch' }),
  '/other-patch-type': () => ({ ...patchOf(label('a', '1')), patchType: 'MergePatch' }),
  '/other-uid': () => ({ allowed: true, uid: 'other' }),
  '/no-uid': () => ({ allowed: true, uid: undefined }),
  '/no-response': raw(200, 'application/json', '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}'),
  '/other-version': () => ({ allowed: true, apiVersion: 'admission.k8s.io/v1beta1' }),
  '/no-json': raw(200, 'application/json', 'hello'),
  '/no-kind': raw(200, 'application/json', '{}'),
  '/list': raw(200, 'application/json', '[]'),
  '/empty': raw(200, 'application/json', ''),
  '/status-200': raw(200, 'application/json', '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no"}'),
  '/text-500': raw(500, 'text/plain', 'boom "quoted"'),
  '/json-500': raw(500, 'application/json', '{"a":1}'),
  '/status-500': raw(
    500,
    'application/json',
    '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"my own words","code":500}',
  ),
  '/text-403': raw(403, 'text/plain', 'not you'),
  '/text-404': raw(404, 'text/plain', '404 page not found'),
  '/text-400': raw(400, 'text/plain', 'bad'),
  '/text-302': raw(304, 'text/plain', ''),
  '/text-503': raw(503, 'text/plain', 'later'),
  '/hang-up': (_, answer) => void answer.destroy(),
  '/cut-off': (_, answer) => {
    answer.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    answer.write('{"kind":');
    setTimeout(() => answer.destroy(), 50);
    return undefined;
  },
  '/silent': () => undefined,
  '/slow-body': (_, answer) => {
    answer.writeHead(200, { 'content-type': 'application/json' });
    answer.write('{"kind":');
    return undefined;
  },
};
