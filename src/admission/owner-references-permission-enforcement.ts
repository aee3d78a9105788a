import { groupOf } from '../api/fields.ts';
import { deepEqual, type KubeObject, type OwnerReference } from '../api/object.ts';
import { builtins, type Resource } from '../registry/resource.ts';
import { forbidden } from '../status/status.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { requireAny, type Wanted } from './permission.ts';

const ownersOf = (object: KubeObject | undefined): OwnerReference[] => object?.metadata.ownerReferences ?? [];

const refuse = (attributes: Attributes, why: string) => forbidden(subjectOf(attributes), attributes.name, why);

/** Owners that this write keeps from going before the object does. */
function newlyBlocked({ object, old }: Attributes): OwnerReference[] {
  const before = new Map(ownersOf(old).map((owner) => [owner.uid, owner.blockOwnerDeletion === true]));
  return ownersOf(object).filter(({ uid, blockOwnerDeletion }) => blockOwnerDeletion === true && !before.get(uid));
}

/** The resources of an owner's kind. */
function rowsOf({ ctx }: Attributes, { apiVersion, kind }: OwnerReference): Resource[] {
  const rows = [
    ...(builtins.get(apiVersion)?.values() ?? []),
    ...(ctx.policy?.bundle.resources.get(apiVersion)?.values() ?? []),
  ];
  return rows.filter((row) => row.kind === kind);
}

async function requireDelete(attributes: Attributes): Promise<void> {
  const { ctx, resource, subresource, namespace, name } = attributes;
  const { group, version } = resource;
  const wanted: Wanted = { verb: 'delete', group, version, resource: resource.resource, subresource, namespace, name };
  await requireAny(ctx, [wanted], (reason) =>
    refuse(attributes, `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`),
  );
}

async function requireFinalizers(attributes: Attributes, owner: OwnerReference): Promise<void> {
  const { ctx, namespace } = attributes;
  const rows = rowsOf(attributes, owner);
  const { apiVersion, kind, name } = owner;
  if (rows.length === 0) {
    const missing = `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`;
    const why = `cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: ${missing}`;
    throw refuse(attributes, `cannot set blockOwnerDeletion in this case because ${why}`);
  }
  const anything: Wanted = { verb: 'update', group: '*', resource: '*', subresource: 'finalizers', name: '*' };
  for (const { version, resource, namespaced } of rows) {
    const own: Wanted = {
      verb: 'update',
      group: groupOf(apiVersion),
      version,
      resource,
      subresource: 'finalizers',
      name,
      namespace: namespaced ? namespace : '',
    };
    await requireAny(ctx, [anything, own], (reason) => {
      const why = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
      return refuse(attributes, `${why}: ${reason}, <nil>`);
    });
  }
}

/** Lets objects be made dependents only by who may delete them, and hold up owners only for who may do that to them. */
export const ownerReferencesPermissionEnforcement: Plugin = {
  name: 'OwnerReferencesPermissionEnforcement',
  operations: ['CREATE', 'UPDATE'],
  validate: async (attributes) => {
    const { resource, subresource, operation, object, old } = attributes;
    if (resource.group === '' && resource.resource === 'pods' && subresource === 'status') return;
    if (deepEqual(ownersOf(object), ownersOf(old))) return;
    if (operation !== 'CREATE') await requireDelete(attributes);
    for (const owner of newlyBlocked(attributes)) await requireFinalizers(attributes, owner);
  },
};
