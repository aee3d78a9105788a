import { isObject, type JsonObject, type JsonValue } from '../../api/object.ts';
import type { Resource } from '../../registry/resource.ts';
import type { Attributes } from '../chain.ts';
import { requestOf } from '../policies/inputs.ts';
import type { Versioned } from '../versions.ts';

/** An answer that cannot be gone by; the message is upstream's. */
export class InvalidReview extends Error {}

/** What a webhook answered, verified. */
export interface Answer {
  allowed: boolean;
  /** JSON patch, as base64; empty: none. */
  patch: string;
  patchType: string;
  result: JsonObject | undefined;
  annotations: Readonly<Record<string, string>>;
  warnings: readonly string[];
}

const GROUP = 'admission.k8s.io';
const known = ['v1', 'v1beta1'];

/** The first version of AdmissionReview in a webhook's list that there is. */
export const reviewVersion = (versions: readonly string[]): string | undefined =>
  versions.find((version) => known.includes(version));

/** An AdmissionReview to send. `object` and `old` are in the version of `row`. */
export function makeReview(
  version: string,
  uid: string,
  { attributes, row, object, old }: { attributes: Attributes; row: Resource } & Versioned,
): JsonObject {
  const request = { ...requestOf(attributes, row), dryRun: attributes.dryRun };
  return {
    kind: 'AdmissionReview',
    apiVersion: `${GROUP}/${version}`,
    request: { uid, ...request, object: object ?? null, oldObject: old ?? null },
  };
}

const quoted = (text: unknown) => JSON.stringify(text ?? '');
const asText = (value: JsonValue | undefined) => (typeof value === 'string' ? value : '');

function kindText({ apiVersion, kind }: JsonObject): string {
  const version = asText(apiVersion);
  const slash = version.indexOf('/');
  const [group, rest] = slash < 0 ? ['', version] : [version.slice(0, slash), version.slice(slash + 1)];
  return `${group}/${rest}, Kind=${asText(kind)}`;
}

/** Reads an answer. Throws {@link InvalidReview} where it is none to this request. */
export function readAnswer(review: JsonObject, version: string, uid: string, mutating: boolean): Answer {
  const { response } = review;
  if (!isObject(response)) throw new InvalidReview('webhook response was absent');
  const patch = asText(response.patch);
  const patchType = typeof response.patchType === 'string' ? response.patchType : undefined;
  if (version === 'v1') {
    if (response.uid !== uid)
      throw new InvalidReview(`expected response.uid=${quoted(uid)}, got ${quoted(response.uid)}`);
    const expected = `${GROUP}/v1, Kind=AdmissionReview`;
    const actual = kindText(review);
    if (actual !== expected) throw new InvalidReview(`expected webhook response of ${expected}, got ${actual}`);
    verifyPatch(patch, patchType, mutating);
  }
  return {
    allowed: response.allowed === true,
    patch: mutating ? patch : '',
    patchType: version === 'v1' ? (patchType ?? '') : 'JSONPatch',
    result: isObject(response.status) ? response.status : undefined,
    annotations: texts(response.auditAnnotations),
    warnings: Array.isArray(response.warnings) ? response.warnings.filter((w) => typeof w === 'string') : [],
  };
}

function verifyPatch(patch: string, type: string | undefined, mutating: boolean): void {
  if (!mutating) {
    if (patch !== '') throw new InvalidReview('validating webhook may not return response.patch');
    if (type !== undefined) throw new InvalidReview('validating webhook may not return response.patchType');
    return;
  }
  if (patch !== '' && type === undefined)
    throw new InvalidReview('webhook returned response.patch but not response.patchType');
  if (patch === '' && type !== undefined)
    throw new InvalidReview('webhook returned response.patchType but not response.patch');
  if (type === '') throw new InvalidReview('webhook returned invalid response.patchType of ""');
}

function texts(value: JsonValue | undefined): Record<string, string> {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, text]) => [key, asText(text)]));
}
