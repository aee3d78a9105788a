import { RE2JS } from 're2js';

/** Regular expressions as Go (RE2) reads them. They are users', so they are matched in time linear in the text. */

const PERL_ONLY = /\(\?(?:[=!]|<[=!]|>)/;

const REPEATS = /(?<!\\)\{(\d+)(,(\d*))?\}/g;
/** Go repeats a part of a pattern at most so often. */
const MAX_REPEATS = 1000;

/** Compiles a Go pattern; undefined for one that does not compile. */
export function compilePattern(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return undefined;
  }
}

/** Walks over a pattern outside of escapes; tells what is open at its end, or what is closed too often. */
function unbalanced(pattern: string): 'group' | 'class' | 'closing' | undefined {
  let depth = 0;
  let inClass = false;
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i];
    if (char === '\\') i++;
    else if (inClass) inClass = char !== ']' || pattern[i - 1] === '[';
    else if (char === '[') inClass = true;
    else if (char === '(') depth++;
    else if (char === ')' && --depth < 0) return 'closing';
  }
  if (inClass) return 'class';
  return depth > 0 ? 'group' : undefined;
}

/** What Go says of a pattern that it cannot compile; `undefined` for one that it can. */
export function patternError(pattern: string): string | undefined {
  const tell = (why: string, part = pattern) => `error parsing regexp: ${why}: \`${part}\``;
  const perl = PERL_ONLY.exec(pattern)?.[0];
  if (perl !== undefined) return tell('invalid or unsupported Perl syntax', perl);
  const reference = /(?:^|[^\\])(?:\\\\)*(\\[1-9])/.exec(pattern)?.[1];
  if (reference !== undefined) return tell('invalid escape sequence', reference);
  switch (unbalanced(pattern)) {
    case 'closing':
      return tell('unexpected )');
    case 'group':
      return tell('missing closing )');
    case 'class':
      return tell('missing closing ]', pattern.slice(pattern.lastIndexOf('[')));
    default:
  }
  const operator = /^(?:\(\?:|\((?!\?))*([*+?])/.exec(pattern)?.[1];
  if (operator !== undefined) return tell('missing argument to repetition operator', operator);
  for (const [repeat, least = '', , most = ''] of pattern.matchAll(REPEATS)) {
    const tooMany = Math.max(Number(least), Number(most)) > MAX_REPEATS;
    if (tooMany || (most !== '' && Number(most) < Number(least))) return tell('invalid repeat count', repeat);
  }
  return compilePattern(pattern) === undefined ? tell('invalid or unsupported syntax') : undefined;
}
