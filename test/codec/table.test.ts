import { describe, expect, it } from 'vitest';
import type { JsonValue, KubeObject } from '../../src/api/object.ts';
import {
  checkTransform,
  parseIncludeObject,
  type TableOptions,
  toPartialObjectMetadata,
  toPartialObjectMetadataList,
  toTable,
} from '../../src/codec/table/index.ts';
import { builtins, type Resource } from '../../src/registry/resource.ts';
import recorded from './testdata/tables.json';

const now = new Date('2026-11-29T20:00:00Z');
const created = '2026-11-29T19:55:00Z';
const options: TableOptions = { includeObject: 'Metadata', version: 'v1', listMeta: { resourceVersion: '7' }, now };

function resource(key: string): Resource {
  const [groupVersion = '', plural = ''] = key.split(' ');
  const row = builtins.get(groupVersion)?.get(plural);
  if (row === undefined) throw new TypeError(`no resource ${key}`);
  return row;
}

type Row = { cells: JsonValue[]; conditions?: JsonValue; object: JsonValue };
const rowsOf = (table: ReturnType<typeof toTable>) => table.rows as unknown as Row[];
const cellsOf = (key: string, object: KubeObject) => rowsOf(toTable([object], resource(key), options))[0]!.cells;
const named = (more: Record<string, JsonValue> = {}, meta = {}): KubeObject => ({
  metadata: { name: 'x', creationTimestamp: created, ...meta },
  ...more,
});

interface Recorded {
  resource: string;
  cells: JsonValue[];
  conditions?: JsonValue;
  object: KubeObject;
}

const withoutSpans = (cells: JsonValue[]) =>
  cells.map((c) => (typeof c === 'string' ? c.replace(/\b(\d+[smhdy])+\b/g, '<span>') : c));

describe('cells of kube-apiserver 1.36.3', () => {
  it.each((recorded as unknown as Recorded[]).map((r) => [r.resource, r.object.metadata.name, r] as const))(
    '%s %s',
    (key, _, { object, cells, conditions }) => {
      const table = toTable([object], resource(key), { ...options, now: new Date('2026-11-29T20:14:42Z') });
      const row = rowsOf(table)[0]!;
      expect(withoutSpans(row.cells)).toEqual(cells);
      expect(row.conditions).toEqual(conditions);
    },
  );

  it('every listed resource has as many cells as columns, addresses apart', () => {
    for (const rows of builtins.values()) {
      for (const row of rows.values()) {
        if (!row.verbs.has('list')) continue;
        const table = toTable([named()], row, options);
        const extra = row.resource === 'ipaddresses' ? 1 : 0;
        expect(rowsOf(table)[0]!.cells).toHaveLength((table.columnDefinitions as JsonValue[]).length + extra);
      }
    }
  });
});

describe('states of objects', () => {
  const deleted = { deletionTimestamp: created };
  it('pods on their way out', () => {
    expect(cellsOf('v1 pods', named({ status: { phase: 'Running' } }, deleted))[2]).toBe('Terminating');
    expect(cellsOf('v1 pods', named({ status: { phase: 'Running', reason: 'NodeLost' } }, deleted))[2]).toBe('Unknown');
    expect(cellsOf('v1 pods', named({ status: { phase: 'Succeeded' } }, deleted))[2]).toBe('Succeeded');
  });
  it('volumes and jobs on their way out', () => {
    expect(cellsOf('v1 persistentvolumes', named({ status: { phase: 'Bound' } }, deleted))[4]).toBe('Terminating');
    expect(cellsOf('v1 persistentvolumeclaims', named({}, deleted))[1]).toBe('Terminating');
    expect(cellsOf('batch/v1 jobs', named({}, deleted))[1]).toBe('Terminating');
    expect(cellsOf('resource.k8s.io/v1 resourceclaims', named({}, deleted))[1]).toBe('deleted');
  });
  it('signing requests', () => {
    const key = 'certificates.k8s.io/v1 certificatesigningrequests';
    const spec = { signerName: 'a/b', username: 'me', expirationSeconds: 86400 };
    expect(cellsOf(key, named({ spec }))).toEqual(['x', '5m', 'a/b', 'me', '24h', 'Pending']);
    const conditions = [{ type: 'Approved' }, { type: 'Failed' }];
    expect(cellsOf(key, named({ status: { conditions, certificate: 'eA==' } }))[5]).toBe('Approved,Failed,Issued');
  });
  it('addresses of any parent', () => {
    const parentRef = { group: 'g.io', resource: 'Xs', namespace: 'n', name: 'm' };
    expect(cellsOf('networking.k8s.io/v1 ipaddresses', named({ spec: { parentRef } }))[1]).toBe('xs.g.io/n/m');
  });
  it('autoscaling/v1 has the default target', () => {
    const object = named({ apiVersion: 'autoscaling/v1', spec: { scaleTargetRef: { kind: 'K', name: 'n' } } });
    expect(cellsOf('autoscaling/v1 horizontalpodautoscalers', object)[2]).toBe('cpu: <unknown>/80%');
  });
});

describe('the table around the rows', () => {
  const secrets = resource('v1 secrets');
  it('includes what is asked for', () => {
    const object = (includeObject: TableOptions['includeObject']) =>
      rowsOf(toTable([named({ type: 'Opaque' })], secrets, { ...options, includeObject }))[0]!.object;
    expect(object('None')).toBeNull();
    expect(object('Metadata')).toMatchObject({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' });
    expect(object('Object')).toMatchObject({ kind: 'Secret', apiVersion: 'v1', type: 'Opaque' });
  });
  it('keeps the metadata of the bookmark that ends initial events', () => {
    const bookmark: KubeObject = { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } };
    const table = toTable([bookmark], secrets, { ...options, includeObject: 'None' });
    expect(rowsOf(table)[0]!.object).toMatchObject({ kind: 'PartialObjectMetadata' });
    expect(rowsOf(table)[0]!.cells).toEqual(['', '', 0, '<unknown>']);
  });
  it('has its parts in order, and null where upstream has it', () => {
    expect(Object.keys(toTable([], secrets, options))).toEqual([
      'kind',
      'apiVersion',
      'metadata',
      'columnDefinitions',
      'rows',
    ]);
    expect(toTable([], secrets, options).rows).toEqual([]);
    expect(toTable([], resource('v1 limitranges'), options).rows).toBeNull();
  });
  it('leaves out columns in later events of a watch', () => {
    expect(toTable([], secrets, { ...options, columns: false }).columnDefinitions).toBeNull();
    const services = resource('apiregistration.k8s.io/v1 apiservices');
    expect(toTable([], services, { ...options, columns: false }).columnDefinitions).not.toBeNull();
  });
  it('lists flow schemas by precedence', () => {
    const schema = (name: string, matchingPrecedence: number) => named({ spec: { matchingPrecedence } }, { name });
    const table = toTable(
      [schema('a', 9), schema('c', 1), schema('b', 1)],
      resource('flowcontrol.apiserver.k8s.io/v1 flowschemas'),
      options,
    );
    expect(rowsOf(table).map((r) => r.cells[0])).toEqual(['b', 'c', 'a']);
  });
  it('shows scales', () => {
    const scale = named({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 3 },
      status: { replicas: 1 },
    });
    const table = toTable([scale], resource('apps/v1 deployments'), { ...options, scale: true });
    expect(rowsOf(table)[0]!.cells).toEqual(['x', 3, 1, '5m']);
  });
  it('refuses other includeObject values', () => {
    expect(parseIncludeObject(new URLSearchParams('includeObject='))).toBe('Metadata');
    expect(parseIncludeObject(new URLSearchParams('includeObject=Object'))).toBe('Object');
    expect(() => parseIncludeObject(new URLSearchParams('includeObject=Some'))).toThrow(/"Some": must be 'Metadata'/);
  });
});

describe('partial metadata', () => {
  const deployments = resource('apps/v1 deployments');
  it('of one object and of lists', () => {
    expect(toPartialObjectMetadata(named({ spec: {} }), 'v1beta1')).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1beta1',
      metadata: { name: 'x', creationTimestamp: created },
    });
    expect(toPartialObjectMetadataList([named()], 'v1', { resourceVersion: '1' }).items).toHaveLength(1);
    expect(toPartialObjectMetadataList([], 'v1', { resourceVersion: '1' }).items).toBeNull();
  });
  it('is refused where list and object are confused', () => {
    expect(() => checkTransform('PartialObjectMetadata', deployments, true)).toThrow('a list (*apps.DeploymentList)');
    expect(() => checkTransform('PartialObjectMetadataList', resource('v1 namespaces'), false)).toThrow(
      'not a list (*core.Namespace)',
    );
    checkTransform('PartialObjectMetadataList', deployments, true);
    checkTransform('Table', deployments, true);
  });
});
