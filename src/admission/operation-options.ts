import type { JsonObject } from '../api/object.ts';
import type { Attributes } from './chain.ts';

const API_VERSION = 'meta.k8s.io/v1';

/** The options of a request as admission sees them: CreateOptions, UpdateOptions or DeleteOptions. */
export function operationOptions({ ctx, operation, dryRun, deleteOptions }: Attributes): JsonObject {
  const dry = dryRun ? { dryRun: ['All'] } : {};
  if (operation === 'DELETE') {
    const { dryRun: _, ...given } = deleteOptions ?? { dryRun };
    return { ...(given as JsonObject), kind: 'DeleteOptions', apiVersion: API_VERSION, ...dry };
  }
  const query = ctx.url.searchParams;
  const [fieldManager, fieldValidation] = [query.get('fieldManager'), query.get('fieldValidation')];
  return {
    kind: operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions',
    apiVersion: API_VERSION,
    ...dry,
    ...(fieldManager && { fieldManager }),
    ...(fieldValidation && { fieldValidation }),
  };
}
