import { type Served, typeWarnings } from '../../src/admission/policies/type-checking.ts';
import { at, int } from '../../src/api/fields.ts';
import { resolvedSchema } from '../../src/discovery/openapi/resolved.ts';
import { builtins, type Resource } from '../../src/registry/resource.ts';
import { ApiClient, type LoopConnection, unlessMissing } from './connection.ts';
import type { Outcome } from './outcome.ts';

const PATH = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const MANAGER = 'validatingadmissionpolicy-status-controller';

function served(custom: readonly Resource[]): Served {
  const rows = [...[...builtins.values()].flatMap((resources) => [...resources.values()]), ...custom];
  return {
    kindsOf: (group, version, name) =>
      rows
        .filter((row) => row.version === version && (group === '' || row.group === group))
        .filter(({ resource, singular }) => resource === name || singular === name)
        .map((row) => ({ group: row.group, version: row.version, kind: row.kind })),
    schemaOf: (kind) => resolvedSchema(kind, custom),
  };
}

/** Policy type checking: says in the status of a ValidatingAdmissionPolicy what the schemas tell against it. */
export async function checkPolicyTypes(name: string, connection: LoopConnection): Promise<Outcome> {
  const api = new ApiClient(connection);
  const path = `${PATH}/${encodeURIComponent(name)}`;
  const policy = await unlessMissing(api.get(path));
  if (policy === undefined) return 'done';
  const { generation } = policy.metadata;
  if (int(generation) <= int(at(policy.status, 'observedGeneration'))) return 'done';
  const suffix = String((connection.now().getTime() % 1000) * 1_000_000);
  const expressionWarnings = typeWarnings(policy, served(await connection.customResources()), suffix);
  await unlessMissing(
    api.apply(`${path}/status?fieldManager=${MANAGER}&force=true`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      status: {
        observedGeneration: generation!,
        typeChecking: expressionWarnings.length === 0 ? {} : { expressionWarnings },
      },
    }),
  );
  return 'done';
}
