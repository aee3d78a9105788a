import type { KubeObject } from '../../api/object.ts';

/** The Status that tells only that all went well. */
export function success(code: number): KubeObject {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code };
}
