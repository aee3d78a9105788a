import { labelValueErrors, qualifiedNameErrors } from '../api/validation/labels.ts';
import type { Requirement } from '../keyspace/types.ts';
import type { Resource } from '../registry/resource.ts';
import { badRequest } from '../status/status.ts';

type Token = { kind: 'symbol' | 'word' | 'end'; text: string };
const SYMBOLS = ['==', '!=', '=', '!', '(', ')', ',', '>', '<'];

function tokens(text: string): Token[] {
  const out: Token[] = [];
  let i = 0;
  while (i < text.length) {
    if (/\s/.test(text.charAt(i))) {
      i++;
      continue;
    }
    const symbol = SYMBOLS.find((s) => text.startsWith(s, i));
    if (symbol !== undefined) {
      out.push({ kind: 'symbol', text: symbol });
      i += symbol.length;
      continue;
    }
    let end = i;
    while (end < text.length && !/[\s=!(),<>]/.test(text.charAt(end))) end++;
    out.push({ kind: 'word', text: text.slice(i, end) });
    i = end;
  }
  return out;
}

class LabelSelectorParser {
  readonly #tokens: Token[];
  #at = 0;
  constructor(text: string) {
    this.#tokens = tokens(text);
  }
  #peek(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '' };
  }
  #next(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }

  parse(): Requirement[] {
    const out: Requirement[] = [];
    if (this.#peek().kind === 'end') return out;
    for (;;) {
      const first = this.#peek();
      if (first.kind !== 'word' && first.text !== '!')
        throw badRequest(`found '${first.text}', expected: !, identifier, or 'end of string'`);
      out.push(this.#requirement());
      const separator = this.#next();
      if (separator.kind === 'end') return out;
      if (separator.text !== ',') throw badRequest(`found '${separator.text}', expected: ',' or 'end of string'`);
      const following = this.#peek();
      if (following.kind !== 'word' && following.text !== '!')
        throw badRequest(`found '${following.text}', expected: identifier after ','`);
    }
  }

  #requirement(): Requirement {
    const negated = this.#peek().text === '!' && this.#next() !== undefined;
    const key = this.#next();
    if (key.kind !== 'word') throw unparsable(`found '${key.text}', expected: identifier`);
    const keyErrors = qualifiedNameErrors(key.text);
    if (keyErrors.length > 0)
      throw unparsable(`<nil>: Invalid value: ${JSON.stringify(key.text)}: ${keyErrors.join('; ')}`);
    if (negated) return { op: 'notExists', key: key.text };
    const operator = this.#peek();
    if (operator.kind === 'end' || operator.text === ',') return { op: 'exists', key: key.text };
    this.#next();
    switch (operator.text) {
      case '=':
      case '==':
      case '!=':
        return values(key.text, operator.text === '!=' ? 'notIn' : 'in', [this.#exactValue()]);
      case 'in':
      case 'notin':
        return values(key.text, operator.text === 'in' ? 'in' : 'notIn', this.#valueList());
      case '>':
      case '<':
        return comparison(key.text, operator.text === '>' ? 'gt' : 'lt', this.#exactValue());
      default:
        throw unparsable(`found '${operator.text}', expected: in, notin, =, ==, !=, gt, lt`);
    }
  }

  #exactValue(): string {
    const token = this.#peek();
    if (token.kind === 'end' || token.text === ',') return '';
    if (token.kind === 'word') return this.#next().text;
    throw unparsable(`found '${token.text}', expected: identifier`);
  }

  #valueList(): string[] {
    const open = this.#next();
    if (open.text !== '(') throw unparsable(`found '${open.text}' expected: '('`);
    const out = new Set<string>();
    for (;;) {
      const token = this.#next();
      if (token.kind === 'word') {
        out.add(token.text);
        const after = this.#next();
        if (after.text === ')') return [...out].sort();
        if (after.text !== ',') throw unparsable(`found '${after.text}', expected: ',' or ')'`);
      } else if (token.text === ')' || token.text === ',') {
        out.add('');
        if (token.text === ')') return [...out].sort();
      } else throw unparsable(`found '${token.text}', expected: ',', or identifier`);
    }
  }
}

const unparsable = (why: string) => badRequest(`unable to parse requirement: ${why}`);

function values(key: string, op: 'in' | 'notIn', list: string[]): Requirement {
  for (const [i, value] of list.entries()) {
    const errors = labelValueErrors(value);
    if (errors.length > 0)
      throw unparsable(`values[${i}][${key}]: Invalid value: ${JSON.stringify(value)}: ${errors.join('; ')}`);
  }
  return { op, key, values: list };
}

function comparison(key: string, op: 'gt' | 'lt', text: string): Requirement {
  if (!/^[-+]?\d+$/.test(text))
    throw unparsable(
      `values[0]: Invalid value: ${JSON.stringify(text)}: for 'Gt', 'Lt' operators, the value must be an integer`,
    );
  return { op, key, value: Number(text) };
}

/**
 * Parses a `labelSelector` query parameter (equality, sets, existence, comparisons) into requirements that must all
 * hold. Throws 400 with upstream's wording.
 */
export function parseLabelSelector(text: string): Requirement[] {
  return new LabelSelectorParser(text).parse();
}

function splitTerms(text: string): string[] {
  const out: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text.charAt(i) === '\\') i++;
    else if (text.charAt(i) === ',') {
      out.push(text.slice(start, i));
      start = i + 1;
    }
  }
  out.push(text.slice(start));
  return out.filter((t) => t !== '');
}

/**
 * Parses a `fieldSelector` query parameter: comma-separated `path=value`, `path==value`, `path!=value`, with
 * backslash escapes in values. Fields that the resource does not select by are refused with 400.
 */
export function parseFieldSelector(text: string, resource: Resource): Requirement[] {
  return splitTerms(text).map((term) => {
    const match = /^(.*?)(!=|==|=)(.*)$/s.exec(term);
    if (match === null) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, key = '', operator, raw = ''] = match;
    if (!resource.fields.includes(key)) throw badRequest(resource.unknownFieldMessage.replaceAll('<field>', key));
    const value = raw.replace(/\\([\\,=])/g, '$1');
    return { op: operator === '!=' ? 'notIn' : 'in', key, values: [value] };
  });
}
