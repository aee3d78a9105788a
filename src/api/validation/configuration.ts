import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../object.ts';
import { part, text, unchanged } from './checks.ts';
import type { Validator } from './index.ts';

/** Most bytes that the values of a ConfigMap or Secret may have together. */
const LIMIT = 1048576;
const KEY = /^[-._a-zA-Z0-9]+$/;
const KEY_RULE =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const REDACTED = '<secret contents redacted>';
const utf8 = new TextEncoder();

function keyFaults(key: string): string[] {
  const faults = key.length > 253 ? ['must be no more than 253 characters'] : [];
  if (!KEY.test(key)) return [...faults, KEY_RULE];
  if (key === '.') return [...faults, "must not be '.'"];
  if (key === '..') return [...faults, "must not be '..'"];
  return key.startsWith('..') ? [...faults, "must not start with '..'"] : faults;
}

const decodedSize = (base64: string) =>
  (base64.length / 4) * 3 - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);
const utf8Size = (value: string) => (value.length * 3 <= LIMIT ? value.length : utf8.encode(value).byteLength);

function validateConfigMap(object: KubeObject): StatusCause[] {
  const out: StatusCause[] = [];
  const [data, binary] = [part(object, 'data'), part(object, 'binaryData')];
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    for (const why of keyFaults(key)) out.push(causes.invalid(`data[${key}]`, key, why));
    if (Object.hasOwn(binary, key))
      out.push(causes.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData'));
    size += utf8Size(text(value));
  }
  for (const [key, value] of Object.entries(binary)) {
    for (const why of keyFaults(key)) out.push(causes.invalid(`binaryData[${key}]`, key, why));
    size += decodedSize(text(value));
  }
  if (size > LIMIT) out.push(causes.tooLong('[]', LIMIT));
  return out;
}

function frozen(object: KubeObject, old: KubeObject, keys: readonly string[]): StatusCause[] {
  if (old.immutable !== true) return [];
  const why = 'field is immutable when `immutable` is set';
  const out = object.immutable === true ? [] : [causes.forbidden('immutable', why)];
  for (const key of keys) if (!deepEqual(part(object, key), part(old, key))) out.push(causes.forbidden(key, why));
  return out;
}

/** Keys that a secret of a type must have, and whether their content is JSON. */
const required: Readonly<Record<string, { keys: string[]; json?: boolean; any?: boolean; filled?: boolean }>> = {
  'kubernetes.io/dockercfg': { keys: ['.dockercfg'], json: true },
  'kubernetes.io/dockerconfigjson': { keys: ['.dockerconfigjson'], json: true },
  'kubernetes.io/basic-auth': { keys: ['username', 'password'], any: true },
  'kubernetes.io/ssh-auth': { keys: ['ssh-privatekey'], filled: true },
  'kubernetes.io/tls': { keys: ['tls.crt', 'tls.key'] },
};

function jsonFault(base64: string): string | undefined {
  const content = atob(base64);
  if (content.trim() === '') return 'unexpected end of JSON input';
  try {
    JSON.parse(content);
    return undefined;
  } catch {
    return /^\s*[{[]/.test(content) ? 'unexpected end of JSON input' : 'invalid character in the JSON text';
  }
}

function validateType(object: KubeObject, data: JsonObject): StatusCause[] {
  const type = text(object.type);
  if (type === 'kubernetes.io/service-account-token') {
    const key = 'kubernetes.io/service-account.name';
    return object.metadata.annotations?.[key] ? [] : [causes.required(`metadata.annotations[${key}]`)];
  }
  const rule = Object.hasOwn(required, type) ? required[type] : undefined;
  if (rule === undefined) return [];
  const missing = rule.keys.filter((key) => !Object.hasOwn(data, key) || (rule.filled && text(data[key]) === ''));
  if (rule.any && missing.length < rule.keys.length) return [];
  const out = missing.map((key) => causes.required(`data[${key}]`));
  if (!rule.json || missing.length > 0) return out;
  const key = rule.keys[0]!;
  const fault = jsonFault(text(data[key]));
  return fault === undefined ? out : [causes.invalid(`data[${key}]`, REDACTED, fault)];
}

function validateSecret(object: KubeObject): StatusCause[] {
  const out: StatusCause[] = [];
  const data = part(object, 'data');
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    for (const why of keyFaults(key)) out.push(causes.invalid(`data[${key}]`, key, why));
    size += decodedSize(text(value));
  }
  if (size > LIMIT) out.push(causes.tooLong('data', LIMIT));
  return [...out, ...validateType(object, data)];
}

/** ConfigMaps and Secrets. */
export const configurationValidators: readonly [string, Validator][] = [
  [
    '/configmaps',
    {
      create: validateConfigMap,
      update: (object, old) => [...frozen(object, old, ['data', 'binaryData']), ...validateConfigMap(object)],
    },
  ],
  [
    '/secrets',
    {
      create: validateSecret,
      update: (object, old) => [
        ...unchanged(object.type, old.type, 'type'),
        ...frozen(object, old, ['data']),
        ...validateSecret(object),
      ],
    },
  ],
];
