import { type Expr, qualifiedName } from './ast.ts';
import { SyntaxIssue } from './issues.ts';
import { type Token, tokenize } from './lexer.ts';
import { expandMacro } from './macros.ts';

const RESERVED: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);
const OPERAND =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const RELATIONS: ReadonlySet<string> = new Set(['<', '<=', '>=', '>', '==', '!=', 'in']);
/** Operators by how tightly they bind, loosest first. */
const LEVELS: readonly ReadonlySet<string>[] = [RELATIONS, new Set(['+', '-']), new Set(['*', '/', '%'])];
const MAX_INT = 2n ** 63n - 1n;
/** Deeper nesting is refused, as upstream's recursion limit does. */
const MAX_DEPTH = 250;
/** Longest source, in code points. */
const MAX_SOURCE = 100_000;

/** Which macros an environment has. */
export type MacroFilter = (name: string, args: number, member: boolean) => boolean;

class Parser {
  readonly #tokens: readonly Token[];
  readonly #macros: MacroFilter;
  #i = 0;
  #depth = 0;

  constructor(source: string, macros: MacroFilter) {
    this.#tokens = tokenize(source);
    this.#macros = macros;
  }

  parse(): Expr {
    const expr = this.#expr();
    const rest = this.#peek();
    if (rest.kind === 'end') return expr;
    const what = rest.kind === 'op' && rest.text !== '(' ? 'mismatched' : 'extraneous';
    throw new SyntaxIssue(rest.at, `Syntax error: ${what} input '${rest.text}' expecting <EOF>`);
  }

  #peek(): Token {
    return this.#tokens[this.#i]!;
  }

  #take(): Token {
    const token = this.#tokens[this.#i]!;
    if (token.kind !== 'end') this.#i++;
    return token;
  }

  #isOp(text: string): boolean {
    const token = this.#peek();
    return token.kind === 'op' && token.text === text;
  }

  #accept(text: string): Token | undefined {
    return this.#isOp(text) ? this.#take() : undefined;
  }

  #expect(text: string): Token {
    const token = this.#accept(text);
    if (token !== undefined) return token;
    const { at, text: found } = this.#peek();
    throw new SyntaxIssue(at, `Syntax error: mismatched input '${found}' expecting '${text}'`);
  }

  #expr(): Expr {
    if (++this.#depth > MAX_DEPTH) {
      throw new SyntaxIssue(this.#peek().at, `expression recursion limit exceeded: ${MAX_DEPTH}`);
    }
    const condition = this.#logical('||', '_||_', () => this.#logical('&&', '_&&_', () => this.#binary(0)));
    const op = this.#accept('?');
    let out = condition;
    if (op !== undefined) {
      const yes = this.#logical('||', '_||_', () => this.#logical('&&', '_&&_', () => this.#binary(0)));
      this.#expect(':');
      const no = this.#expr();
      out = { kind: 'call', name: '_?_:_', args: [condition, yes, no], at: op.at };
    }
    this.#depth--;
    return out;
  }

  /** Chains of `&&` and `||` become balanced trees, as upstream's parser makes them. */
  #logical(op: string, name: string, operand: () => Expr): Expr {
    const terms = [operand()];
    const places: number[] = [];
    for (let token = this.#accept(op); token !== undefined; token = this.#accept(op)) {
      places.push(token.at);
      terms.push(operand());
    }
    const tree = (low: number, high: number): Expr => {
      const mid = Math.floor((low + high + 1) / 2);
      const left = mid === low ? terms[mid]! : tree(low, mid - 1);
      const right = mid === high ? terms[mid + 1]! : tree(mid + 1, high);
      return { kind: 'call', name, args: [left, right], at: places[mid]! };
    };
    return places.length === 0 ? terms[0]! : tree(0, places.length - 1);
  }

  #binary(level: number): Expr {
    const ops = LEVELS[level];
    if (ops === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (;;) {
      const token = this.#peek();
      if (token.kind !== 'op' || !ops.has(token.text)) return left;
      this.#take();
      const name = token.text === 'in' ? '@in' : `_${token.text}_`;
      left = { kind: 'call', name, args: [left, this.#binary(level + 1)], at: token.at };
    }
  }

  #unary(): Expr {
    const first = this.#peek();
    const op = first.kind === 'op' && (first.text === '!' || first.text === '-') ? first.text : undefined;
    if (op === undefined) return this.#member(this.#primary());
    const next = this.#tokens[this.#i + 1];
    if (op === '-' && next?.kind === 'literal' && (typeof next.value === 'bigint' || typeof next.value === 'number')) {
      this.#i += 2;
      return this.#member({ kind: 'literal', value: -next.value, at: first.at });
    }
    let count = 0;
    while (this.#accept(op) !== undefined) count++;
    const operand = this.#unaryOperand();
    if (count % 2 === 0) return operand;
    return { kind: 'call', name: op === '!' ? '!_' : '-_', args: [operand], at: first.at };
  }

  #unaryOperand(): Expr {
    if (this.#isOp('!') || this.#isOp('-')) throw this.#noOperand();
    return this.#member(this.#primary());
  }

  #noOperand(): SyntaxIssue {
    const { at, text } = this.#peek();
    return new SyntaxIssue(at, `Syntax error: mismatched input '${text}' expecting ${OPERAND}`);
  }

  #primary(): Expr {
    const token = this.#take();
    if (token.kind === 'literal') {
      if (typeof token.value === 'bigint' && token.value > MAX_INT) {
        throw new SyntaxIssue(token.at, 'invalid int literal');
      }
      return { kind: 'literal', value: token.value, at: token.at };
    }
    if (token.kind === 'ident') return this.#identifier(token, '');
    if (token.kind === 'op') {
      if (token.text === '(') {
        const inner = this.#expr();
        this.#expect(')');
        return inner;
      }
      if (token.text === '[') return this.#list(token.at);
      if (token.text === '{') return this.#map(token.at);
      if (token.text === '.') {
        const name = this.#peek();
        if (name.kind === 'ident') {
          this.#take();
          return this.#identifier(name, '.');
        }
      }
      this.#i--;
    }
    throw this.#noOperand();
  }

  #identifier(token: Token, dot: '' | '.'): Expr {
    if (RESERVED.has(token.text)) throw new SyntaxIssue(token.at, `reserved identifier: ${token.text}`);
    const name = dot + token.text;
    const open = this.#accept('(');
    if (open !== undefined) return this.#call(name, undefined, open.at);
    return { kind: 'ident', name, at: token.at };
  }

  #call(name: string, target: Expr | undefined, at: number): Expr {
    const args: Expr[] = [];
    while (!this.#isOp(')')) {
      args.push(this.#expr());
      if (this.#accept(',') === undefined) break;
    }
    this.#expect(')');
    if (this.#macros(name, args.length, target !== undefined)) {
      const expanded = expandMacro(name, target, args, at);
      if (expanded !== undefined) return expanded;
    }
    return { kind: 'call', name, target, args, at };
  }

  #member(start: Expr): Expr {
    let expr = start;
    for (;;) {
      const dot = this.#accept('.');
      if (dot !== undefined) {
        expr = this.#selection(expr, dot.at);
        continue;
      }
      const bracket = this.#accept('[');
      if (bracket !== undefined) {
        const name = this.#accept('?') === undefined ? '_[_]' : '_[?_]';
        const index = this.#expr();
        this.#expect(']');
        expr = { kind: 'call', name, args: [expr, index], at: bracket.at };
      } else if (this.#isOp('{') && qualifiedName(expr) !== undefined) {
        expr = this.#struct(qualifiedName(expr)!, this.#take().at);
      } else return expr;
    }
  }

  #selection(operand: Expr, at: number): Expr {
    const optional = this.#accept('?') !== undefined;
    const token = this.#take();
    if (token.kind !== 'ident') {
      if (token.kind !== 'end') this.#i--;
      throw new SyntaxIssue(
        token.at,
        `Syntax error: no viable alternative at input '.${token.text === '<EOF>' ? '' : token.text}'`,
      );
    }
    if (optional) {
      const field: Expr = { kind: 'literal', value: token.text, at: token.at };
      return { kind: 'call', name: '_?._', args: [operand, field], at };
    }
    const open = token.escaped ? undefined : this.#accept('(');
    if (open !== undefined) return this.#call(token.text, operand, open.at);
    return { kind: 'select', operand, field: token.text, test: false, at };
  }

  #list(at: number): Expr {
    const elements: Expr[] = [];
    const optional = new Set<number>();
    while (!this.#isOp(']')) {
      if (this.#accept('?') !== undefined) optional.add(elements.length);
      elements.push(this.#expr());
      if (this.#accept(',') === undefined) break;
    }
    this.#expect(']');
    return { kind: 'list', elements, optional, at };
  }

  #map(at: number): Expr {
    const entries = this.#fields(() => this.#expr());
    return { kind: 'map', entries: entries.map(({ name, ...rest }) => ({ ...rest, key: name })), at };
  }

  #struct(name: string, at: number): Expr {
    const fields = this.#fields(() => {
      const token = this.#take();
      if (token.kind !== 'ident') {
        throw new SyntaxIssue(token.at, `Syntax error: mismatched input '${token.text}' expecting IDENTIFIER`);
      }
      return token.text;
    });
    return { kind: 'struct', name, fields, at };
  }

  #fields<T>(read: () => T): { at: number; name: T; value: Expr; optional: boolean }[] {
    const out: { at: number; name: T; value: Expr; optional: boolean }[] = [];
    while (!this.#isOp('}')) {
      const optional = this.#accept('?') !== undefined;
      const name = read();
      const { at } = this.#expect(':');
      out.push({ at, name, value: this.#expr(), optional });
      if (this.#accept(',') === undefined) break;
    }
    this.#expect('}');
    return out;
  }
}

/** Parses an expression, macros expanded. Throws a {@link SyntaxIssue}. */
export function parse(source: string, macros: MacroFilter): Expr {
  if (source.length > MAX_SOURCE) {
    const size = [...source].length;
    if (size > MAX_SOURCE) {
      throw new SyntaxIssue(0, `expression code point size exceeds limit: size: ${size}, limit ${MAX_SOURCE}`);
    }
  }
  return new Parser(source, macros).parse();
}
