import type { JsonObject, JsonValue, KubeObject } from '../../api/object.ts';
import type { Resource } from '../../registry/resource.ts';
import { badRequest } from '../../status/status.ts';
import { accessPrinters } from './access.ts';
import { autoscalingPrinters } from './autoscaling.ts';
import { type Column, columnsOf, scaleColumns } from './columns.ts';
import { corePrinters } from './core.ts';
import { customScaleTable, customTable } from './custom.ts';
import { nameOf } from './format.ts';
import { networkingPrinters } from './networking.ts';
import { type ListMeta, type MetaVersion, toPartialObjectMetadata } from './partial.ts';
import { podConditions, podPrinters } from './pods.ts';
import { byPrecedence, policyPrinters } from './policies.ts';
import { type Printer, printerKey } from './printer.ts';
import { storagePrinters } from './storage.ts';
import { workloadPrinters } from './workloads.ts';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  includeObject: IncludeObject;
  version: MetaVersion;
  /** Metadata of the list, or only the resourceVersion of the one object. */
  listMeta: ListMeta;
  /** What ages count up to. */
  now: Date;
  /** False from a watch's second event on. */
  columns?: boolean;
  /** The objects are Scales of the resource. */
  scale?: boolean;
}

/** How one resource looks as a table. */
interface TableForm {
  columns: Column[];
  print: Printer;
  conditions?: (object: KubeObject) => JsonValue | undefined;
  order?: (a: KubeObject, b: KubeObject) => number;
  /** An empty table's rows are null where upstream has no printer of its own. */
  emptyRows: JsonValue[] | null;
  /** Column definitions come with every event of a watch. */
  alwaysColumns: boolean;
}

const printers: ReadonlyMap<string, Printer> = new Map(
  [
    accessPrinters,
    autoscalingPrinters,
    corePrinters,
    networkingPrinters,
    podPrinters,
    policyPrinters,
    storagePrinters,
    workloadPrinters,
  ].flatMap((group) => Object.entries(group)),
);

const conditions: Readonly<Record<string, TableForm['conditions']>> = { '/pods': podConditions };
const orders: Readonly<Record<string, TableForm['order']>> = {
  'flowcontrol.apiserver.k8s.io/flowschemas': byPrecedence,
};
const columnsInEveryEvent = new Set(['apiregistration.k8s.io/apiservices']);

const createdAt = (object: KubeObject) => object.metadata.creationTimestamp ?? '0001-01-01T00:00:00Z';
const printDefault: Printer = (object) => [nameOf(object), createdAt(object)];

/** Isolate cache of forms: each follows from its row alone and goes with it. */
const forms = new WeakMap<Resource, TableForm>();

function tableForm(resource: Resource, scale = false): TableForm {
  const known = scale ? undefined : forms.get(resource);
  if (known !== undefined) return known;
  const form = makeForm(resource, scale);
  if (!scale) forms.set(resource, form);
  return form;
}

function makeForm(resource: Resource, scale: boolean): TableForm {
  const common = { emptyRows: [], alwaysColumns: false };
  if (resource.custom !== undefined) {
    const { custom } = resource;
    return {
      ...common,
      ...(scale && custom.scale ? customScaleTable(custom.scale) : customTable(custom.printerColumns)),
    };
  }
  if (scale) return { ...common, columns: scaleColumns, print: printers.get('autoscaling/scales')! };
  const key = printerKey(resource);
  const print = printers.get(key);
  return {
    columns: columnsOf(resource.groupVersion, resource.resource),
    print: print ?? printDefault,
    ...(conditions[key] === undefined ? {} : { conditions: conditions[key] }),
    ...(orders[key] === undefined ? {} : { order: orders[key] }),
    emptyRows: print === undefined ? null : [],
    alwaysColumns: columnsInEveryEvent.has(key),
  };
}

const includes: ReadonlySet<string> = new Set(['None', 'Metadata', 'Object']);

/** The `includeObject` query parameter of a Table request. Throws 400 if it is none of the three. */
export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') || 'Metadata';
  if (includes.has(value)) return value as IncludeObject;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

/** The bookmark that ends the initial events of a watch keeps its metadata whatever the client wants included. */
const endsInitialEvents = (object: KubeObject) => object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';

function rowObject(object: KubeObject, resource: Resource, options: TableOptions): JsonValue {
  if (options.includeObject === 'Object') {
    if (options.scale || (object.kind !== undefined && object.apiVersion !== undefined)) return object;
    return { kind: resource.kind, apiVersion: resource.groupVersion, ...object };
  }
  if (options.includeObject === 'None' && !endsInitialEvents(object)) return null;
  return toPartialObjectMetadata(object, options.version);
}

/** Objects of one resource, in the version that its row names, as a metav1.Table. */
export function toTable(objects: readonly KubeObject[], resource: Resource, options: TableOptions): JsonObject {
  const form = tableForm(resource, options.scale);
  const now = options.now.getTime();
  const ordered = form.order === undefined ? objects : [...objects].sort(form.order);
  const rows = ordered.map((object) => {
    const rowConditions = form.conditions?.(object);
    return {
      cells: form.print(object, now),
      ...(rowConditions === undefined ? {} : { conditions: rowConditions }),
      object: rowObject(object, resource, options),
    };
  });
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata: options.listMeta,
    columnDefinitions: options.columns === false && !form.alwaysColumns ? null : form.columns,
    rows: rows.length === 0 ? form.emptyRows : rows,
  };
}
