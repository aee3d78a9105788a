import { CLEANUP_FINALIZER, namesDecided } from '../../src/extensions/establish.ts';
import { ApiClient, isConflict, type LoopConnection, unlessMissing } from './connection.ts';
import type { Outcome } from './outcome.ts';

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Milliseconds in which the request that wrote a definition settles it itself. */
const PATIENCE = 2_000;

/**
 * Accepts the names of a custom resource definition, or ends one that is being deleted together with its objects. The
 * request that wrote the definition does so itself; this takes up what a process that was lost in between has left.
 */
export async function settleDefinition(name: string, connection: LoopConnection): Promise<Outcome> {
  const api = new ApiClient(connection);
  const path = `${PATH}/${encodeURIComponent(name)}`;
  const definition = await unlessMissing(api.get(path));
  if (definition === undefined) return 'done';
  const { creationTimestamp, deletionTimestamp, finalizers = [] } = definition.metadata;
  const done = deletionTimestamp === undefined ? namesDecided(definition) : !finalizers.includes(CLEANUP_FINALIZER);
  if (done) return 'done';
  const since = Date.parse(deletionTimestamp ?? creationTimestamp ?? '');
  if (connection.now().getTime() - since < PATIENCE) return 'later';
  try {
    await unlessMissing(deletionTimestamp === undefined ? api.mergePatch(path, {}) : api.delete(path, {}));
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
  return 'later';
}
