import { validateFieldManager } from '../api/validation/metadata.ts';
import type { FieldValidation } from '../codec/body.ts';
import { badRequest, causes, invalid, type StatusCause } from '../status/status.ts';

/** What create, update and patch requests say in their query. */
export interface WriteOptions {
  dryRun: boolean;
  /** Empty: named after the user agent. */
  fieldManager: string;
  fieldValidation: FieldValidation;
  /** Only for apply: takes fields from other managers. */
  force: boolean;
}

/** metav1.DeleteOptions, from the body or else the query. */
export interface DeleteOptions {
  dryRun: boolean;
  gracePeriodSeconds?: number;
  propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  orphanDependents?: boolean;
  preconditions?: { uid?: string; resourceVersion?: string };
}

/** The parts of metav1.DeleteOptions as they came, before validation. */
export interface RawDeleteOptions {
  dryRun?: string[];
  gracePeriodSeconds?: number;
  propagationPolicy?: string;
  orphanDependents?: boolean;
  preconditions?: { uid?: string; resourceVersion?: string };
}

const VALIDATIONS: readonly string[] = ['', 'Ignore', 'Strict', 'Warn'];
const POLICIES: readonly string[] = ['Foreground', 'Background', 'Orphan'];

function dryRunFaults(values: readonly string[]): StatusCause[] {
  if (values.every((value) => value === 'All')) return [];
  return [causes.notSupported('dryRun', values, ['All'])];
}

function refuse(kind: string, faults: StatusCause[]): void {
  if (faults.length > 0) throw invalid({ group: 'meta.k8s.io', name: kind }, '', faults);
}

const isFalse = (value: string) => value === '0' || value.toLowerCase() === 'false';

/**
 * Options of a create, update or patch. Throws 422 on `CreateOptions.meta.k8s.io` and the like for bad values.
 * `apply`: whether the patch is an apply, which must name its manager and alone may force.
 */
export function writeOptions(
  query: URLSearchParams,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  apply = false,
): WriteOptions {
  const fieldManager = query.get('fieldManager') ?? '';
  const force = query.get('force');
  const validation = query.get('fieldValidation') ?? '';
  const faults: StatusCause[] = [];
  if (kind === 'PatchOptions') {
    if (apply && fieldManager === '') faults.push(causes.required('fieldManager', 'is required for apply patch'));
    if (!apply && force !== null) faults.push(causes.forbidden('force', 'may not be specified for non-apply patch'));
  }
  const dryRun = query.getAll('dryRun');
  faults.push(...validateFieldManager(fieldManager, 'fieldManager'), ...dryRunFaults(dryRun));
  if (!VALIDATIONS.includes(validation)) {
    faults.push(causes.notSupported('fieldValidation', validation, [...VALIDATIONS]));
  }
  refuse(kind, faults);
  return {
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: validation === '' ? 'Warn' : (validation as FieldValidation),
    force: force !== null && !isFalse(force),
  };
}

/** Delete options that the query gives; they only count when there is no body. Throws 400 for what is no number. */
export function deleteOptionsOfQuery(query: URLSearchParams): RawDeleteOptions {
  const out: RawDeleteOptions = {};
  const grace = query.get('gracePeriodSeconds');
  if (grace !== null && grace !== '') {
    if (!/^[-+]?\d{1,19}$/.test(grace)) {
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`);
    }
    out.gracePeriodSeconds = Number(grace);
  }
  if (query.has('dryRun')) out.dryRun = query.getAll('dryRun');
  const policy = query.get('propagationPolicy');
  if (policy !== null) out.propagationPolicy = policy;
  const orphan = query.get('orphanDependents');
  if (orphan !== null) out.orphanDependents = !isFalse(orphan);
  return out;
}

/** Checks delete options. Throws 422 on `DeleteOptions.meta.k8s.io`. */
export function validDeleteOptions(raw: RawDeleteOptions): DeleteOptions {
  const { propagationPolicy: policy, dryRun = [], ...rest } = raw;
  const faults: StatusCause[] = [];
  if (policy !== undefined && raw.orphanDependents !== undefined) {
    const why = 'orphanDependents and deletionPropagation cannot be both set';
    faults.push(causes.invalid('propagationPolicy', policy, why));
  }
  if (policy !== undefined && !POLICIES.includes(policy)) {
    const supported = [...POLICIES, 'nil'].map((value) => JSON.stringify(value)).join(', ');
    const message = `Unsupported value: ${JSON.stringify(policy)}: supported values: ${supported}`;
    faults.push({ reason: 'FieldValueNotSupported', message, field: 'propagationPolicy' });
  }
  refuse('DeleteOptions', [...faults, ...dryRunFaults(dryRun)]);
  return {
    ...rest,
    dryRun: dryRun.length > 0,
    ...(policy === undefined ? {} : { propagationPolicy: policy as NonNullable<DeleteOptions['propagationPolicy']> }),
  };
}
