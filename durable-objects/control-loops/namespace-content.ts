import { ApiClient, ApiError, type LoopConnection, unlessMissing } from './connection.ts';
import type { Outcome } from './outcome.ts';

const DESCRIPTION =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the ' +
  'internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

/** What each active namespace must hold, by the name of the loop that puts it there. */
const contents: Record<string, { resource: string; name: string; object: (connection: LoopConnection) => object }> = {
  serviceaccount: {
    resource: 'serviceaccounts',
    name: 'default',
    object: () => ({ apiVersion: 'v1', kind: 'ServiceAccount' }),
  },
  'root-ca-cert-publisher': {
    resource: 'configmaps',
    name: 'kube-root-ca.crt',
    object: ({ config }) => ({ apiVersion: 'v1', kind: 'ConfigMap', data: { 'ca.crt': config.serverCA } }),
  },
};

const annotations: Record<string, Record<string, string>> = {
  'root-ca-cert-publisher': { 'kubernetes.io/description': DESCRIPTION },
};

/** Puts the object of one loop (`serviceaccount`, `root-ca-cert-publisher`) into an active namespace. */
export async function fillNamespace(loop: string, namespace: string, connection: LoopConnection): Promise<Outcome> {
  const content = contents[loop];
  if (content === undefined) return 'done';
  const api = new ApiClient(connection);
  const found = await unlessMissing(api.get(`/api/v1/namespaces/${namespace}`));
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return 'done';
  const collection = `/api/v1/namespaces/${namespace}/${content.resource}`;
  if ((await unlessMissing(api.get(`${collection}/${content.name}`))) !== undefined) return 'done';
  const own = annotations[loop];
  const metadata = { name: content.name, namespace, ...(own === undefined ? {} : { annotations: own }) };
  await api.create(collection, { ...content.object(connection), metadata }).catch((error: unknown) => {
    if (!(error instanceof ApiError) || ![403, 404, 409].includes(error.code)) throw error;
  });
  return 'done';
}
