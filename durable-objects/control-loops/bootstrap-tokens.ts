import { mapOf, text } from '../../src/api/fields.ts';
import { ApiClient, isConflict, type LoopConnection, unlessMissing } from './connection.ts';
import type { Outcome } from './outcome.ts';

/** Removes a bootstrap token once it has expired; one whose expiry cannot be read has. */
export async function cleanBootstrapToken(name: string, connection: LoopConnection): Promise<Outcome> {
  const api = new ApiClient(connection);
  const path = `/api/v1/namespaces/kube-system/secrets/${encodeURIComponent(name)}`;
  const secret = await unlessMissing(api.get(path));
  const encoded = secret === undefined ? '' : text(mapOf(secret.data).expiration);
  if (secret === undefined || encoded === '') return 'done';
  const left = Date.parse(atob(encoded)) - connection.now().getTime();
  if (left > 0) return { again: left };
  try {
    await unlessMissing(api.delete(path, { preconditions: { uid: secret.metadata.uid ?? '' } }));
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
  return 'done';
}
