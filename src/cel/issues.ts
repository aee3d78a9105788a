/** Faults of an expression with their places, printed as kube-apiserver prints what its compiler found. */

export interface Issue {
  /** Offset in code points. */
  at: number;
  message: string;
}

/** Longest line that is quoted. */
const MAX_SNIPPET = 16_384;

function render({ at, message }: Issue, source: readonly string[]): string {
  let line = 1;
  let start = 0;
  for (let i = 0; i < at && i < source.length; i++) {
    if (source[i] !== '\n') continue;
    line++;
    start = i + 1;
  }
  const column = at - start;
  const end = source.indexOf('\n', start);
  const snippet = source.slice(start, end === -1 ? undefined : end);
  const head = `ERROR: <input>:${line}:${column + 1}: ${message}`;
  if (snippet.length > MAX_SNIPPET) return head;
  const isWide = (char: string | undefined) => char !== undefined && char.codePointAt(0)! > 127;
  const dots = snippet.slice(0, column).map((char) => (isWide(char) ? '\uff0e' : '.'));
  const mark = isWide(snippet[column]) ? '\uff3e' : '^';
  return `${head}\n | ${snippet.join('').replaceAll('\t', ' ')}\n | ${dots.join('')}${mark}`;
}

/** All faults of a source, in the order of their places. */
export function formatIssues(issues: readonly Issue[], source: string): string {
  const chars = [...source];
  return [...issues]
    .sort((a, b) => a.at - b.at)
    .slice(0, 100)
    .map((issue) => render(issue, chars))
    .join('\n');
}

/** Thrown where an expression cannot be read any further. */
export class SyntaxIssue {
  readonly issue: Issue;

  constructor(at: number, message: string) {
    this.issue = { at, message };
  }
}
