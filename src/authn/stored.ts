import type { KubeObject } from '../api/object.ts';
import type { Keyspace } from '../keyspace/types.ts';

const decoder = new TextDecoder();

/** Reads objects by key, confirmed by a quorum; undefined where there is none. */
export async function readStored(keyspace: Keyspace, keys: string[]): Promise<(KubeObject | undefined)[]> {
  const { records } = await keyspace.get(keys, { type: 'linearizable' });
  return records.map((r) => (r === undefined ? undefined : (JSON.parse(decoder.decode(r.value)) as KubeObject)));
}

/** Storage keys of the objects that tokens are bound to. */
export const keys = {
  serviceAccount: (namespace: string, name: string) => `/registry/serviceaccounts/${namespace}/${name}`,
  pod: (namespace: string, name: string) => `/registry/pods/${namespace}/${name}`,
  secret: (namespace: string, name: string) => `/registry/secrets/${namespace}/${name}`,
  node: (name: string) => `/registry/minions/${name}`,
};
