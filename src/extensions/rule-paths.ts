import { isObject } from '../api/object.ts';
import type { Structural } from './structural.ts';

/** Field paths of validation rules: `.spec.names['a.b']`. */

const TOKENS = /\.([^.[\]']+|'(?:\\.|[^'\\])*')|\['((?:\\.|[^'\\])*)'\]/y;
const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
};

/** The text of a quoted key; `undefined` where it escapes what cannot be. */
function unquote(text: string): string | undefined {
  let valid = true;
  const out = text.replace(/\\(.)/gs, (_all, char: string) => {
    if (!Object.hasOwn(ESCAPES, char)) valid = false;
    return ESCAPES[char] ?? '';
  });
  return valid ? out : undefined;
}

/** The path as causes show it, without its leading dot; `undefined` where it names nothing in the schema. */
export function fieldPathOf(path: string, schema: Structural): string | undefined {
  let at: Structural = schema;
  let out = '';
  TOKENS.lastIndex = 0;
  for (let from = 0; from < path.length; from = TOKENS.lastIndex) {
    TOKENS.lastIndex = from;
    const match = TOKENS.exec(path);
    const key = match?.[1] ?? (match?.[2] === undefined ? undefined : unquote(match[2]));
    if (key === undefined) return undefined;
    if (at.properties !== undefined) {
      const property = Object.hasOwn(at.properties, key) ? at.properties[key] : undefined;
      if (property === undefined) return undefined;
      out += out === '' ? key : `.${key}`;
      at = property;
    } else if (isObject(at.additionalProperties)) {
      out += `[${key}]`;
      at = at.additionalProperties as Structural;
    } else return undefined;
  }
  return out;
}
