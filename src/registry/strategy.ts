import { deepCopy, deepEqual, isObject, type JsonObject, type JsonValue, type KubeObject } from '../api/object.ts';
import { formatTime } from '../api/time.ts';
import { plainValue } from '../codec/json.ts';
import { decodeTyped } from '../codec/typed.ts';
import { keepPath, removePath, setPath, type TablePath, tablePath } from './paths.ts';
import { builtins, type Resource, type Strategy } from './resource.ts';
import { resetMetadata, type StrategyContext, type StrategyHooks } from './strategies/hooks.ts';
import { strategyHooks } from './strategies/index.ts';

export type { StrategyContext } from './strategies/hooks.ts';

/** A row of the strategy table, its paths parsed. */
interface Compiled {
  removes: readonly TablePath[];
  sets: readonly (readonly [TablePath, JsonValue])[];
  /** The whole status is the server's at creation. */
  clearsStatus: boolean;
  generation: boolean;
  keeps: readonly TablePath[];
}

/** Resources whose clients may set parts of the status at creation. */
const PARTIAL_STATUS: ReadonlySet<string> = new Set(['/nodes']);
const NONE: StrategyHooks = {};

const rowKey = (resource: Resource, subresource: string) =>
  subresource === ''
    ? `${resource.group}/${resource.resource}`
    : `${resource.group}/${resource.resource}/${subresource}`;

function compile(strategy: Strategy, key: string): Compiled {
  const owned = strategyHooks.get(key)?.ownsOnCreate ?? [];
  const entries = Object.entries(strategy.onCreate).filter(([path]) => !owned.includes(path.split(/[.[]/)[0]!));
  const status = entries.some(([path]) => path.startsWith('status.')) && !PARTIAL_STATUS.has(key);
  const others = entries.filter(([path]) => path !== 'metadata.generation' && !(status && path.startsWith('status.')));
  return {
    removes: others.filter(([, value]) => value === null).map(([path]) => tablePath(path)),
    sets: others.filter(([, value]) => value !== null).map(([path, value]) => [tablePath(path), value as JsonValue]),
    clearsStatus: status,
    generation: 'metadata.generation' in strategy.onCreate,
    keeps: strategy.keepsOld.map((path) => tablePath(path.replace(/\[\]$/, ''))),
  };
}

/** Every built-in strategy, compiled once. */
const compiled: ReadonlyMap<Strategy, Compiled> = new Map(
  [...builtins.values()].flatMap((rows) =>
    [...rows.values()].flatMap((row): [Strategy, Compiled][] => [
      [row.strategy, compile(row.strategy, rowKey(row, ''))],
      ...[...row.subresourceStrategies].map(([name, s]): [Strategy, Compiled] => [s, compile(s, rowKey(row, name))]),
    ]),
  ),
);

/** The strategy of an endpoint: of the resource, or of its subresource. */
export function strategyOf(resource: Resource, subresource: string): Strategy {
  return (subresource === '' ? undefined : resource.subresourceStrategies.get(subresource)) ?? resource.strategy;
}

const hooksOf = (resource: Resource, subresource: string): StrategyHooks =>
  resource.custom === undefined ? (strategyHooks.get(rowKey(resource, subresource)) ?? NONE) : NONE;

/** Defaults that the table of defaults cannot say, in place; part of decoding. */
export function applyStrategyDefaults(resource: Resource, subresource: string, object: KubeObject): void {
  hooksOf(resource, subresource).applyDefaults?.(object);
}

/** The status of an object that nothing has been said about yet, as the kind always shows it. */
function emptyStatus(resource: Resource): JsonValue | undefined {
  const value = { kind: resource.kind, apiVersion: resource.groupVersion, metadata: {} };
  return decodeTyped(plainValue(value), resource.groupVersion, resource.kind).object.status;
}

/** Clears and sets what a client cannot decide about a new object, in place (upstream's PrepareForCreate). */
export function prepareForCreate(resource: Resource, object: KubeObject, context: StrategyContext): void {
  if (resource.custom !== undefined) {
    if (resource.subresources.has('status')) delete object.status;
    object.metadata.generation = 1;
    return;
  }
  const table = compiled.get(resource.strategy)!;
  for (const path of table.removes) removePath(object, path);
  if (table.clearsStatus && !isEmptyStatus(object.status)) {
    const status = emptyStatus(resource);
    if (status === undefined) delete object.status;
    else object.status = status;
  }
  for (const [path, value] of table.sets) setPath(object, path, value === '<now>' ? formatTime(context.now) : value);
  if (table.generation) object.metadata.generation = 1;
  hooksOf(resource, '').prepareForCreate?.(object, context);
}

const isEmptyStatus = (status: JsonValue | undefined) =>
  status === undefined || (isObject(status) && Object.keys(status).length === 0);

function keepsMetadata(object: KubeObject, old: KubeObject, path: TablePath): boolean {
  if (path.length !== 1 || path[0]!.key !== 'metadata') return false;
  resetMetadata(object, old);
  return true;
}

/**
 * Takes back what an update through this endpoint cannot change, and raises the generation when what it counts has
 * changed, in place (upstream's PrepareForUpdate). `metadata.generation` must already be the old one.
 */
export function prepareForUpdate(
  resource: Resource,
  subresource: string,
  object: KubeObject,
  old: KubeObject,
  context: StrategyContext,
): void {
  if (resource.custom !== undefined) {
    prepareCustom(resource, subresource, object, old);
    return;
  }
  const strategy = strategyOf(resource, subresource);
  const hooks = hooksOf(resource, subresource);
  const partOfPod = subresource === 'ephemeralcontainers' || subresource === 'resize';
  if (!partOfPod) {
    for (const path of compiled.get(strategy)!.keeps) {
      if (!keepsMetadata(object, old, path)) keepPath(object, old, path);
    }
  }
  hooks.prepareForUpdate?.(object, old, context);
  if (strategy.generationRises.some((part) => hasChanged(resource, part, object, old))) {
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
}

function hasChanged(resource: Resource, part: string, object: KubeObject, old: KubeObject): boolean {
  if (part !== 'metadata.labels/annotations') return !deepEqual(object[part], old[part]);
  // The table tells that one of the two counts; deployments watch annotations, endpoint slices labels.
  const key = resource.group === 'apps' ? 'annotations' : 'labels';
  return !deepEqual(
    (object.metadata[key] as JsonObject | undefined) ?? {},
    (old.metadata[key] as JsonObject | undefined) ?? {},
  );
}

function prepareCustom(resource: Resource, subresource: string, object: KubeObject, old: KubeObject): void {
  if (subresource === 'status') {
    const { status } = object;
    for (const key of Object.keys(object)) if (key !== 'metadata') delete object[key];
    for (const [key, value] of Object.entries(old)) {
      if (key !== 'metadata' && key !== 'status' && value !== undefined) object[key] = deepCopy(value);
    }
    if (status !== undefined) object.status = status;
    resetMetadata(object, old);
    return;
  }
  const apart = resource.subresources.has('status');
  if (apart) {
    if (old.status === undefined) delete object.status;
    else object.status = deepCopy(old.status);
  }
  const bare = ({ metadata: _m, status, ...rest }: KubeObject): JsonObject =>
    apart || status === undefined ? rest : { ...rest, status };
  if (!deepEqual(bare(object), bare(old))) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
}
