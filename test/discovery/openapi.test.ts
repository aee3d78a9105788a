import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/api/object.ts';
import { ask, askJson, customRows, deps } from './support.ts';

type Any = Record<string, never>;
const at = (value: unknown, ...path: string[]): unknown => path.reduce((v, key) => (v as Any)?.[key], value as unknown);

const deployments = '/apis/apps/v1/namespaces/{namespace}/deployments';
const address = async (name: string, from = deps()) =>
  at(JSON.parse(await (await ask('/openapi/v3', {}, from))!.text()), 'paths', name, 'serverRelativeURL') as string;

describe('the index of version 3', () => {
  it('is JSON sent as text, with an address by hash for each document', async () => {
    const answer = (await ask('/openapi/v3'))!;
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const { paths } = JSON.parse(await answer.text()) as { paths: JsonObject };
    expect(Object.keys(paths)).toEqual(Object.keys(paths).toSorted());
    for (const name of ['api', 'api/v1', 'apis', 'apis/apps', 'apis/apps/v1', 'version', 'openid/v1/jwks']) {
      expect(at(paths, name, 'serverRelativeURL')).toMatch(new RegExp(`^/openapi/v3/${name}\\?hash=[0-9A-F]{128}$`));
    }
  });

  it('names custom group versions, whose hash follows their schema', async () => {
    const from = deps({ custom: await customRows() });
    const name = 'apis/toys.example.com/v1';
    expect(await address(name, from)).toMatch(/\?hash=/);
    expect(await address('apis/apps/v1', from)).toBe(await address('apis/apps/v1'));
    const other = deps({ custom: await customRows('toys.example.com', 'gizmos', 'Gadget') });
    expect(await address(name, other)).not.toBe(await address(name, from));
  });
});

describe('a document of version 3', () => {
  it('describes resources and their schemas', async () => {
    const document = await askJson('/openapi/v3/apis/apps/v1');
    expect(at(document, 'openapi')).toBe('3.0.0');
    expect(at(document, 'paths', deployments, 'get', 'x-kubernetes-action')).toBe('list');
    expect(at(document, 'paths', deployments, 'post', 'operationId')).toBe('createAppsV1NamespacedDeployment');
    expect(at(document, 'paths', deployments, 'parameters')).toEqual([
      { name: 'namespace', in: 'path', required: true, schema: { type: 'string', uniqueItems: true } },
      { name: 'pretty', in: 'query', schema: { type: 'string', uniqueItems: true } },
    ]);
    const spec = at(document, 'components', 'schemas', 'io.k8s.api.apps.v1.DeploymentSpec');
    expect(at(spec, 'required')).toEqual(['selector', 'template']);
    expect(at(spec, 'properties', 'template')).toEqual({
      default: {},
      allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec' }],
    });
  });

  it('leads nowhere outside itself', async () => {
    for (const name of ['api/v1', 'apis/apiextensions.k8s.io/v1', 'apis/batch/v1']) {
      const text = await (await ask(`/openapi/v3/${name}`))!.text();
      const { components } = JSON.parse(text) as { components: { schemas: JsonObject } };
      for (const [, ref = ''] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
        expect(components.schemas).toHaveProperty([ref]);
      }
    }
  });

  it('is cached by hash and by tag', async () => {
    const path = await address('apis/apps/v1');
    const byHash = (await ask(path))!;
    expect(byHash.headers.get('cache-control')).toBe('public, immutable');
    expect(byHash.headers.get('expires')).toBe('Mon, 29 Nov 2027 20:00:00 GMT');
    const wrong = (await ask('/openapi/v3/apis/apps/v1?hash=ABC'))!;
    expect([wrong.status, wrong.headers.get('location')]).toEqual([301, path]);
    const plain = (await ask('/openapi/v3/apis/apps/v1'))!;
    expect(plain.headers.get('cache-control')).toBeNull();
    const etag = plain.headers.get('etag')!;
    expect(path.endsWith(etag.replaceAll('"', ''))).toBe(true);
    const again = (await ask('/openapi/v3/apis/apps/v1', { headers: { 'if-none-match': etag } }))!;
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  it('is not there, or not in that form', async () => {
    const missing = (await ask('/openapi/v3/apis/nope/v1'))!;
    expect([missing.status, await missing.text(), missing.headers.get('content-type')]).toEqual([404, '', null]);
    expect((await ask('/openapi/v3/apis/apps/v1', { accept: 'text/html' }))!.status).toBe(406);
  });

  it('comes as protobuf', async () => {
    const answer = (await ask('/openapi/v3/version', {
      accept: 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf',
    }))!;
    expect(answer.headers.get('content-type')).toBe('application/com.github.proto-openapi.spec.v3.v1.0+protobuf');
    const bytes = new Uint8Array(await answer.arrayBuffer());
    expect(firstString(bytes)).toBe('3.0.0');
  });
});

/** The first field of a message, which is a text under number 1. */
function firstString(bytes: Uint8Array): string {
  expect(bytes[0]).toBe((1 << 3) | 2);
  return new TextDecoder().decode(bytes.subarray(2, 2 + bytes[1]!));
}

describe('custom resources', () => {
  const name = 'com.example.toys.v1.Gizmo';
  it('are described by their own schema in version 3', async () => {
    const document = await askJson('/openapi/v3/apis/toys.example.com/v1', {}, deps({ custom: await customRows() }));
    expect(at(document, 'info')).toEqual({ title: 'Kubernetes CRD Swagger', version: 'v0.1.0' });
    expect(Object.keys(at(document, 'paths') as object)).toEqual([
      '/apis/toys.example.com/v1/gizmos',
      '/apis/toys.example.com/v1/namespaces/{namespace}/gizmos',
      '/apis/toys.example.com/v1/namespaces/{namespace}/gizmos/{name}',
      '/apis/toys.example.com/v1/namespaces/{namespace}/gizmos/{name}/scale',
      '/apis/toys.example.com/v1/namespaces/{namespace}/gizmos/{name}/status',
    ]);
    const gizmo = at(document, 'components', 'schemas', name);
    expect(at(gizmo, 'x-kubernetes-group-version-kind')).toEqual([
      { group: 'toys.example.com', version: 'v1', kind: 'Gizmo' },
    ]);
    expect(at(gizmo, 'x-kubernetes-selectable-fields')).toEqual([{ fieldPath: 'spec.size' }]);
    expect(at(gizmo, 'properties', 'metadata')).toEqual({
      allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }],
    });
    const spec = at(gizmo, 'properties', 'spec', 'properties');
    expect(at(spec, 'size')).toEqual({ type: 'integer', default: 3 });
    expect(at(spec, 'port')).toMatchObject({ anyOf: [{ type: 'integer' }, { type: 'string' }] });
    expect(at(spec, 'inner', 'required')).toEqual(['kind', 'apiVersion']);
  });

  it('lose in version 2 what it cannot say', async () => {
    const document = await askJson('/openapi/v2', {}, deps({ custom: await customRows() }));
    const spec = at(document, 'definitions', name, 'properties', 'spec', 'properties');
    expect(at(spec, 'size')).toEqual({ type: 'integer' });
    expect(at(spec, 'keep')).toEqual({});
    expect(at(spec, 'port')).toEqual({ 'x-kubernetes-int-or-string': true });
  });
});

describe('version 2', () => {
  it('is one document for all', async () => {
    const answer = (await ask('/openapi/v2'))!;
    expect(answer.headers.get('etag')).toMatch(/^"[0-9A-F]{128}"$/);
    const document = JSON.parse(await answer.text()) as JsonObject;
    expect(document.swagger).toBe('2.0');
    expect(document.security).toEqual([{ BearerToken: [] }]);
    expect(at(document, 'paths', '/api/v1/namespaces/{namespace}/pods/{name}', 'patch', 'consumes')).toEqual([
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/strategic-merge-patch+json',
      'application/apply-patch+yaml',
    ]);
    expect(
      at(
        document,
        'definitions',
        'io.k8s.api.core.v1.PodSpec',
        'properties',
        'containers',
        'x-kubernetes-list-map-keys',
      ),
    ).toEqual(['name']);
    expect(at(document, 'definitions', 'io.k8s.apimachinery.pkg.util.intstr.IntOrString')).toEqual({
      format: 'int-or-string',
      type: 'string',
    });
    const spec = at(document, 'definitions', 'io.k8s.api.apps.v1.DeploymentSpec', 'properties');
    expect(at(spec, 'template')).toEqual({ $ref: '#/definitions/io.k8s.api.core.v1.PodTemplateSpec' });
  });

  it('comes as protobuf under both names of the type', async () => {
    for (const sign of ['@', '.']) {
      const accept = `application/com.github.proto-openapi.spec.v2${sign}v1.0+protobuf`;
      const answer = (await ask('/openapi/v2', { accept }))!;
      expect(answer.headers.get('content-type')).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
      expect(firstString(new Uint8Array(await answer.arrayBuffer()))).toBe('2.0');
    }
    expect((await ask('/openapi/v2', { accept: 'application/yaml' }))!.status).toBe(406);
  });
});
