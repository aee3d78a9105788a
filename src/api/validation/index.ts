import { validateSchema } from '../../extensions/schema-validation.ts';
import type { Structural } from '../../extensions/structural.ts';
import type { Resource } from '../../registry/resource.ts';
import type { StatusCause } from '../../status/status.ts';
import type { KubeObject } from '../object.ts';
import { configurationValidators } from './configuration.ts';
import { validateCommonMetadata, validateMetadata, validateMetadataUpdate } from './metadata.ts';
import { podValidators } from './pods.ts';
import { rbacValidators } from './rbac.ts';
import { serviceValidators } from './services.ts';
import { storageValidators } from './storage.ts';
import { workloadValidators } from './workloads.ts';

/** What the validation of one resource (or subresource) finds beyond the metadata. */
export interface Validator {
  /** Causes in a new object. */
  create?: (object: KubeObject) => StatusCause[];
  /** Causes in a changed object; by default those of a new one. */
  update?: (object: KubeObject, old: KubeObject) => StatusCause[];
}

/** Validators of the API groups, each a file of its own, by `group/resource` or `group/resource/subresource`. */
const validators: ReadonlyMap<string, Validator> = new Map<string, Validator>([
  ...rbacValidators,
  ...configurationValidators,
  ...podValidators,
  ...serviceValidators,
  ...workloadValidators,
  ...storageValidators,
]);

const validatorOf = (resource: Resource, subresource: string): Validator | undefined => {
  if (resource.custom !== undefined) return undefined;
  const key = `${resource.group}/${resource.resource}`;
  return validators.get(subresource === '' ? key : `${key}/${subresource}`);
};

/** Causes beyond the metadata: of the built-in kind, or of the schema of a custom resource. */
function validateNew(resource: Resource, subresource: string, object: KubeObject): StatusCause[] {
  const { custom } = resource;
  if (custom === undefined) return validatorOf(resource, subresource)?.create?.(object) ?? [];
  return custom.schema === undefined ? [] : validateSchema(object, custom.schema as Structural);
}

/** Causes of a new object that is invalid, in the order in which upstream lists them; empty when it is valid. */
export function validateCreate(resource: Resource, object: KubeObject): StatusCause[] {
  const own = [...validateMetadata(resource, object), ...validateNew(resource, '', object)];
  return own.length > 0 ? own : validateCommonMetadata(resource, object);
}

/** Causes of a changed object that is invalid; `subresource` is empty for the object itself. */
export function validateUpdate(
  resource: Resource,
  subresource: string,
  object: KubeObject,
  old: KubeObject,
): StatusCause[] {
  const validator = validatorOf(resource, subresource);
  const own = validator?.update?.(object, old) ?? validateNew(resource, subresource, object);
  return [...validateMetadataUpdate(resource, object, old, subresource), ...own];
}
