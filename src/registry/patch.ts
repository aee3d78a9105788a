import { deepCopy, isObject, type JsonObject, type JsonValue, type KubeObject } from '../api/object.ts';
import { goText } from '../apply/go-text.ts';
import { jsonPatch, jsonPatchUnknownFields } from '../apply/json-patch.ts';
import { mergePatch } from '../apply/merge-patch.ts';
import { serverSideApply } from '../apply/server-side-apply.ts';
import { strategicMergePatch } from '../apply/strategic-merge-patch.ts';
import { type ParsedValue, parseJson, plainValue, stringifyJson } from '../codec/json.ts';
import { type Decoded, decodeTyped, decodeUntyped, restoreTyped, strictError } from '../codec/typed.ts';
import { parseYaml } from '../codec/yaml.ts';
import type { WriteOptions } from '../request/options.ts';
import {
  badRequest,
  causes,
  conflict,
  invalid,
  notFound,
  unknownBodyFormat,
  unsupportedMediaType,
} from '../status/status.ts';
import { pruneCustom } from './custom.ts';
import { checkName, defaulted } from './endpoint.ts';
import { fieldManagerOptions, kindTypeOf, managed } from './managers.ts';
import type { Resource } from './resource.ts';
import { ensureNamespace, type Scope, subject } from './scope.ts';

export type PatchKind = 'json' | 'merge' | 'strategic' | 'apply';

const kinds: ReadonlyMap<string, PatchKind> = new Map<string, PatchKind>([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
]);
const CUSTOM_TYPES = [...kinds.keys()].filter((type) => kinds.get(type) !== 'strategic');

/** Which form a patch has. Throws 415; only custom resources say what they take. */
export function patchKind(request: Request, resource: Resource): PatchKind {
  const type = (request.headers.get('content-type') ?? '').split(';', 1)[0]!.trim();
  const kind = kinds.get(type);
  if (resource.custom !== undefined) {
    if (kind === undefined || kind === 'strategic') throw unknownBodyFormat(CUSTOM_TYPES);
    return kind;
  }
  if (kind === undefined) throw unsupportedMediaType('415: Unsupported Media Type');
  return kind;
}

const utf8 = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
const message = (error: unknown) => (error instanceof Error ? error.message : String(error));

function parse(bytes: Uint8Array, how: (text: string) => ParsedValue, what: string): ParsedValue {
  try {
    return how(utf8.decode(bytes));
  } catch (error) {
    throw badRequest(`${what}${message(error)}`);
  }
}

/** 422 of a patched object that is no object of its kind. */
const badResult = (shown: string, why: string) =>
  invalid({ group: '', name: '' }, '', [causes.invalid('patch', shown, why)]);

/** The findings of a strict reading: warnings, or a refusal, or nothing. */
function report(scope: Scope, options: WriteOptions, findings: readonly string[], shown: () => string): void {
  if (findings.length === 0 || options.fieldValidation === 'Ignore') return;
  if (options.fieldValidation === 'Strict') throw badResult(shown(), strictError(findings));
  scope.ctx.warnings.push(...findings);
}

function decodeResult(scope: Scope, tree: JsonValue, shown: () => string): Decoded {
  const { resource } = scope;
  if (!isObject(tree)) throw badResult(shown(), 'json: cannot unmarshal the patched object');
  const { kind, apiVersion } = tree;
  if (kind !== resource.kind || apiVersion !== resource.groupVersion) {
    throw badResult(shown(), `${String(apiVersion)}, Kind=${String(kind)} cannot be handled as a ${resource.kind}`);
  }
  try {
    if (resource.custom !== undefined) {
      const { object, strict } = decodeUntyped(plainValue(deepCopy(tree)));
      return { object, strict: [...strict, ...pruneCustom(resource, object)] };
    }
    return decodeTyped(plainValue(tree), resource.groupVersion, resource.kind);
  } catch (error) {
    throw badResult(shown(), message(error));
  }
}

type Transform = (existing: KubeObject | undefined) => KubeObject;

/** Makes `existing` what the patch says, decoded and defaulted. */
type Mechanism = (existing: KubeObject) => KubeObject;

const duplicates = (parsed: ParsedValue) => [
  ...parsed.strict,
  ...parsed.duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
];

function jsonMechanism(scope: Scope, bytes: Uint8Array, options: WriteOptions): Mechanism {
  const parsed = parse(bytes, parseJson, 'error decoding patch: ');
  const own = [...duplicates(parsed), ...jsonPatchUnknownFields(parsed.value)].map(
    (finding) => `json patch ${finding}`,
  );
  return (existing) => finish(scope, options, jsonPatch(existing, parsed.value), own);
}

function mergeMechanism(scope: Scope, bytes: Uint8Array, options: WriteOptions): Mechanism {
  const parsed = parse(bytes, parseJson, 'error decoding patch: ');
  return (existing) => finish(scope, options, mergePatch(existing, parsed.value), duplicates(parsed));
}

function strategicMechanism(scope: Scope, bytes: Uint8Array, options: WriteOptions): Mechanism {
  const parsed = parse(bytes, parseJson, '');
  const kind = kindTypeOf(scope.resource);
  const shown = () => goText(parsed.value);
  return (existing) => {
    const patched = strategicMergePatch(existing, parsed.value, kind);
    return settle(scope, options, restored(scope, patched, shown), duplicates(parsed), shown);
  };
}

/** What a strategic merge gave as the resource's own kind, whatever kind the patch says. */
function restored({ resource }: Scope, patched: JsonObject, shown: () => string): Decoded {
  try {
    return restoreTyped(patched, resource.groupVersion, resource.kind);
  } catch (error) {
    throw badResult(shown(), message(error));
  }
}

function finish(scope: Scope, options: WriteOptions, patched: JsonValue, own: readonly string[]): KubeObject {
  const shown = () => stringifyJson(patched);
  return settle(scope, options, decodeResult(scope, patched, shown), own, shown);
}

function settle(
  scope: Scope,
  options: WriteOptions,
  { object, strict }: Decoded,
  own: readonly string[],
  shown: () => string,
): KubeObject {
  report(scope, options, [...own, ...strict], shown);
  object.metadata ??= {};
  return defaulted(scope.resource, scope.subresource, object);
}

function applyTransform(scope: Scope, bytes: Uint8Array, options: WriteOptions): Transform {
  const { value: config, ...parsed } = parse(bytes, parseYaml, 'error decoding YAML: ');
  const repeated = duplicates({ ...parsed, value: null });
  if (repeated.length > 0 && options.fieldValidation === 'Strict') {
    throw badRequest(`error strict decoding YAML: ${repeated.join(', ')}`);
  }
  if (options.fieldValidation === 'Warn') scope.ctx.warnings.push(...repeated);
  const finish = (merged: KubeObject): KubeObject => {
    const { object } =
      scope.resource.custom === undefined
        ? decodeResult(scope, merged, () => stringifyJson(merged))
        : decodeUntyped(plainValue(deepCopy(merged)));
    object.metadata ??= {};
    return defaulted(scope.resource, scope.subresource, object);
  };
  return (existing) => {
    if (existing === undefined && scope.subresource !== '') throw notFound(subject(scope), scope.name);
    return serverSideApply(existing, config, {
      ...fieldManagerOptions(scope, options),
      kindName: scope.resource.kind,
      force: options.force,
      finish,
    });
  };
}

const mechanisms: Readonly<Record<Exclude<PatchKind, 'apply'>, typeof jsonMechanism>> = {
  json: jsonMechanism,
  merge: mergeMechanism,
  strategic: strategicMechanism,
};

function patchTransform(
  scope: Scope,
  kind: Exclude<PatchKind, 'apply'>,
  bytes: Uint8Array,
  options: WriteOptions,
): Transform {
  let mechanism: Mechanism | undefined;
  return (existing) => {
    if (existing === undefined) throw notFound(subject(scope), scope.name);
    mechanism ??= mechanisms[kind](scope, bytes, options);
    return managed(scope, options, existing, mechanism(existing));
  };
}

/**
 * How a patch makes a new object of an existing one: to be called for each version that is met. What it gives has its
 * managed fields, defaults, and the name and namespace of the URL. Throws 400, 404, 409, 413 and 422 as upstream does.
 */
export function applyPatch(scope: Scope, kind: PatchKind, bytes: Uint8Array, options: WriteOptions): Transform {
  const transform =
    kind === 'apply' ? applyTransform(scope, bytes, options) : patchTransform(scope, kind, bytes, options);
  return (existing) => {
    const object = transform(existing);
    const { uid } = object.metadata;
    if (existing === undefined && uid !== undefined && uid !== '') {
      const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
      throw conflict(subject(scope), scope.name, why);
    }
    ensureNamespace(scope, object);
    checkName(scope, object);
    return object;
  };
}
