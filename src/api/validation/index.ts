import type { Resource } from '../../registry/resource.ts';
import type { StatusCause } from '../../status/status.ts';
import type { KubeObject } from '../object.ts';
import { admissionPolicyValidators } from './admission-policies.ts';
import { definitionValidators } from './apiextensions.ts';
import { apiRegistrationValidators } from './apiregistration.ts';
import { autoscalingValidators } from './autoscaling.ts';
import { batchValidators } from './batch.ts';
import { certificateValidators } from './certificates.ts';
import { configurationValidators } from './configuration.ts';
import { coordinationValidators } from './coordination.ts';
import { customFaults, typeFaults } from './custom.ts';
import { deviceClaimValidators } from './device-claims.ts';
import { deviceSliceValidators } from './device-slices.ts';
import { deviceStatusValidators } from './device-status.ts';
import { endpointSliceValidators } from './endpoint-slices.ts';
import { endpointValidators } from './endpoints.ts';
import { eventValidators } from './events.ts';
import { flowControlValidators } from './flowcontrol.ts';
import { validateCommonMetadata, validateMetadata, validateMetadataUpdate } from './metadata.ts';
import { networkingValidators } from './networking.ts';
import { nodeValidators } from './nodes.ts';
import { podValidators } from './pods.ts';
import { policyValidators } from './policy.ts';
import { quotaValidators } from './quotas.ts';
import { rbacValidators } from './rbac.ts';
import { schedulingValidators } from './scheduling.ts';
import { serviceValidators } from './services.ts';
import { storageValidators } from './storage.ts';
import { volumeValidators } from './volumes.ts';
import { webhookConfigurationValidators } from './webhook-configurations.ts';
import { workloadStatusValidators } from './workload-status.ts';
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
  ...endpointValidators,
  ...endpointSliceValidators,
  ...workloadValidators,
  ...workloadStatusValidators,
  ...batchValidators,
  ...storageValidators,
  ...volumeValidators,
  ...quotaValidators,
  ...nodeValidators,
  ...eventValidators,
  ...certificateValidators,
  ...definitionValidators,
  ...deviceClaimValidators,
  ...deviceSliceValidators,
  ...deviceStatusValidators,
  ...schedulingValidators,
  ...policyValidators,
  ...networkingValidators,
  ...flowControlValidators,
  ...coordinationValidators,
  ...autoscalingValidators,
  ...apiRegistrationValidators,
  ...admissionPolicyValidators,
  ...webhookConfigurationValidators,
]);

const validatorOf = (resource: Resource, subresource: string): Validator | undefined => {
  if (resource.custom !== undefined) return undefined;
  const key = `${resource.group}/${resource.resource}`;
  return validators.get(subresource === '' ? key : `${key}/${subresource}`);
};

/** Causes beyond the metadata: of the built-in kind, or of the schema of a custom resource. */
function validateOwn(
  resource: Resource,
  subresource: string,
  object: KubeObject,
  old?: KubeObject,
  warnings: string[] = [],
): StatusCause[] {
  if (resource.custom !== undefined) return customFaults(resource.custom, object, old, warnings);
  const validator = validatorOf(resource, subresource);
  if (old !== undefined && validator?.update !== undefined) return validator.update(object, old);
  return validator?.create?.(object) ?? [];
}

const foreignKind = (resource: Resource, object: KubeObject) =>
  resource.custom === undefined ? [] : typeFaults(resource, object);

/** Causes of a new object that is invalid, in the order in which upstream lists them; empty when it is valid. */
export function validateCreate(resource: Resource, object: KubeObject): StatusCause[] {
  const foreign = foreignKind(resource, object);
  if (foreign.length > 0) return foreign;
  const own = [...validateMetadata(resource, object), ...validateOwn(resource, '', object)];
  return own.length > 0 ? own : validateCommonMetadata(resource, object);
}

/** Causes of a changed object that is invalid; `subresource` is empty for the object itself. */
export function validateUpdate(
  resource: Resource,
  subresource: string,
  object: KubeObject,
  old: KubeObject,
  warnings: string[] = [],
): StatusCause[] {
  const foreign = foreignKind(resource, object);
  if (foreign.length > 0) return foreign;
  const own = validateOwn(resource, subresource, object, old, warnings);
  return [...validateMetadataUpdate(resource, object, old, subresource), ...own];
}
