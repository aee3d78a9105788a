/** One command of a transcript with the output that was recorded for it. */
export interface Stanza {
  line: number;
  command: string;
  expected: string[];
}

export type Part = string | Stanza;

/**
 * Reads a transcript: comments and blank lines stand for themselves; any other line is a command, then a line `----`,
 * then its output up to a blank line.
 */
export function parseScript(text: string): Part[] {
  const lines = text.replace(/\n+$/, '').split('\n');
  const parts: Part[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!;
    if (line === '' || line.startsWith('#')) {
      parts.push(line);
      at++;
      continue;
    }
    const stanza: Stanza = { line: at + 1, command: line, expected: [] };
    at++;
    if (lines[at] === '----') at++;
    while (at < lines.length && lines[at] !== '') stanza.expected.push(lines[at++]!);
    parts.push(stanza);
  }
  return parts;
}

/** Plays every command; returns the transcript with the output that it really had. */
export function playScript(parts: readonly Part[], run: (command: string) => string[]): string {
  const lines: string[] = [];
  for (const part of parts) {
    if (typeof part === 'string') lines.push(part);
    else lines.push(part.command, '----', ...run(part.command));
  }
  return `${lines.join('\n')}\n`;
}

/** A command line: its name, then words and key=value arguments. */
export class Arguments {
  readonly name: string;
  readonly words: string[];
  readonly #values = new Map<string, string>();

  constructor(command: string) {
    const [name, ...rest] = command.split(' ').filter((word) => word !== '');
    this.name = name ?? '';
    this.words = [];
    for (const word of rest) {
      const equals = word.indexOf('=');
      if (equals < 0) this.words.push(word);
      else this.#values.set(word.slice(0, equals), word.slice(equals + 1));
    }
  }

  /** The word at a position, as a number. */
  number(position: number): number {
    return toNumber(this.words[position], `argument ${position + 1}`);
  }

  has(word: string): boolean {
    return this.words.includes(word);
  }

  optional(key: string): number | undefined {
    const value = this.#values.get(key);
    return value === undefined ? undefined : toNumber(value, key);
  }

  required(key: string): number {
    return toNumber(this.#values.get(key), key);
  }

  list(key: string): number[] {
    const value = this.#values.get(key);
    return value === undefined ? [] : value.split(',').map((item) => toNumber(item, key));
  }
}

function toNumber(value: string | undefined, what: string): number {
  const number = Number(value);
  if (value === undefined || value === '' || !Number.isFinite(number)) throw new Error(`${what} must be a number`);
  return number;
}
