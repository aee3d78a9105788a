import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { each, has, part, parts, text } from './checks.ts';
import { ENVIRONMENT_FIELDS, fieldReferenceFaults, resourceReferenceFaults } from './field-references.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';
import { filePathFaults } from './paths.ts';

const ENV_NAME = /^[ -<>-~]+$/;
const ENV_RULE = "a valid environment variable name must consist only of printable ASCII characters other than '='";
const KEY = '[-._a-zA-Z0-9]+';
const keyPattern = new RegExp(`^${KEY}$`);
const KEY_RULE = `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '${KEY}')`;
const MAX_KEY = 253;

const nameErrors = (name: string) => (ENV_NAME.test(name) ? [] : [ENV_RULE]);

function keyErrors(key: string): string[] {
  const out = key.length > MAX_KEY ? [`must be no more than ${MAX_KEY} characters`] : [];
  if (!keyPattern.test(key)) out.push(KEY_RULE);
  if (key === '.') out.push("must not be '.'");
  else if (key === '..') out.push("must not be '..'");
  else if (key.startsWith('..')) out.push("must not start with '..'");
  return out;
}

function keyReferenceFaults(ref: JsonObject, at: string): StatusCause[] {
  const [name, key] = [text(ref.name), text(ref.key)];
  const out = each(`${at}.name`, name, dnsSubdomainErrors(name));
  return [...out, ...(key === '' ? [causes.required(`${at}.key`)] : each(`${at}.key`, key, keyErrors(key)))];
}

function fileReferenceFaults(ref: JsonObject, at: string): StatusCause[] {
  const [key, volume, path] = [text(ref.key), text(ref.volumeName), text(ref.path)];
  const out = key === '' ? [causes.required(`${at}.key`)] : each(`${at}.key`, key, nameErrors(key));
  if (volume === '') out.push(causes.required(`${at}.volumeName`));
  else out.push(...each(`${at}.volumeName`, volume, dnsLabelErrors(volume)));
  return [...out, ...(path === '' ? [causes.required(`${at}.path`)] : filePathFaults(path, `${at}.path`))];
}

/** Where values can come from, in the order in which upstream looks. */
const SOURCES: Readonly<Record<string, (ref: JsonObject, at: string) => StatusCause[]>> = {
  fieldRef: (ref, at) => fieldReferenceFaults(ref, ENVIRONMENT_FIELDS, at),
  resourceFieldRef: (ref, at) => resourceReferenceFaults(ref, at, false),
  configMapKeyRef: keyReferenceFaults,
  secretKeyRef: keyReferenceFaults,
  fileKeyRef: fileReferenceFaults,
};

function validateSource(env: JsonObject, at: string): StatusCause[] {
  if (!has(env, 'valueFrom')) return [];
  const from = part(env, 'valueFrom');
  const present = Object.keys(SOURCES).filter((key) => has(from, key));
  const out = present.flatMap((key) => SOURCES[key]!(part(from, key), `${at}.${key}`));
  const fault = (why: string) => [...out, causes.invalid(at, '', why)];
  if (present.length === 0) {
    return fault(
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    );
  }
  if (text(env.value) !== '') return fault('may not be specified when `value` is not empty');
  return present.length > 1 ? fault('may not have more than one field specified at a time') : out;
}

/** Causes in the environment of a container at a path. */
export function environmentFaults(container: JsonObject, at: string): StatusCause[] {
  const variables = parts(container, 'env').flatMap((env, i) => {
    const here = `${at}.env[${i}]`;
    const name = text(env.name);
    const out = name === '' ? [causes.required(`${here}.name`)] : each(`${here}.name`, name, nameErrors(name));
    return [...out, ...validateSource(env, `${here}.valueFrom`)];
  });
  const sources = parts(container, 'envFrom').flatMap((source, i) => {
    const prefix = text(source.prefix);
    const out = prefix === '' ? [] : each(`${at}.envFrom[${i}].prefix`, prefix, nameErrors(prefix));
    const present = ['configMapRef', 'secretRef'].filter((key) => has(source, key));
    for (const key of present) {
      const name = text(part(source, key).name);
      const field = `${at}.envFrom[${i}].${key}.name`;
      out.push(...(name === '' ? [causes.required(field)] : each(field, name, dnsSubdomainErrors(name))));
    }
    if (present.length === 1) return out;
    const why =
      present.length === 0
        ? 'must specify one of: `configMapRef` or `secretRef`'
        : 'may not have more than one field specified at a time';
    return [...out, causes.invalid(`${at}.envFrom`, '', why)];
  });
  return [...variables, ...sources];
}
