import { RE2JS } from 're2js';
import type { Definition } from '../functions.ts';
import { ArrayList, Fault } from '../values.ts';

/** Regular expressions in RE2's syntax, in time linear in the text: patterns come from users. */

/** Compiles a pattern. Throws an Error whose message is RE2's. */
export const compileRegex = (pattern: string): RE2JS => RE2JS.compile(pattern);

function compiled(pattern: string, prefix: string): RE2JS {
  try {
    return compileRegex(pattern);
  } catch (error) {
    throw new Fault(`${prefix}${error instanceof Error ? error.message : String(error)}`);
  }
}

const matches = (text: string, pattern: string): boolean => compiled(pattern, '').matcher(text).find();

function find(text: string, pattern: string): string {
  const matcher = compiled(pattern, 'Illegal regex: ').matcher(text);
  return matcher.find() ? (matcher.group() ?? '') : '';
}

/** At most `limit` matches; all of them where it is negative. */
function findAll(text: string, pattern: string, limit = -1n): ArrayList {
  const matcher = compiled(pattern, 'Illegal regex: ').matcher(text);
  const out: string[] = [];
  let end = -1;
  while ((limit < 0n || BigInt(out.length) < limit) && matcher.find()) {
    const isEmptyAfterMatch = matcher.start() === matcher.end() && matcher.start() === end;
    if (!isEmptyAfterMatch) out.push(matcher.group() ?? '');
    end = matcher.end();
  }
  return new ArrayList(out);
}

export const regexes: readonly Definition[] = [
  ['matches', 'matches(string, string): bool', matches],
  ['matches_string', 'string.matches(string): bool', matches],
  ['string_find_string', 'string.find(string): string', find],
  ['string_find_all_string', 'string.findAll(string): list(string)', findAll],
  ['string_find_all_string_int', 'string.findAll(string, int): list(string)', findAll],
];
