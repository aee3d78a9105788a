import {
  Composer,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  Parser,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { JsonObject, JsonValue } from '../api/object.ts';
import type { ParsedValue } from './json.ts';
import { plainValue } from './json.ts';
import { sortedMap } from './plan.ts';
import { resolvePlain, type Scalar } from './yaml-scalars.ts';

export { stringifyYaml } from './yaml-print.ts';

/** Malformed YAML; the message is of upstream's form (`yaml: line 2: …`). */
export class YamlSyntaxError extends Error {}

const CORE = 'tag:yaml.org,2002:';

/**
 * Parses the first document of a YAML 1.1 stream as sigs.k8s.io/yaml does; an empty stream is null. Each repeated key
 * is a finding in `strict` (`line 2: key "a" already set in map`), and the last one counts. Throws
 * {@link YamlSyntaxError}.
 */
export function parseYaml(text: string): ParsedValue {
  const lines = new LineCounter();
  try {
    const root = firstDocument(text, lines);
    if (root === null) return plainValue(null);
    const reader = new Reader(lines);
    const value = reader.value(root);
    return { ...plainValue(value), strict: reader.repeated };
  } catch (error) {
    if (error instanceof RangeError) throw new YamlSyntaxError('yaml: exceeded max depth');
    throw error;
  }
}

type YamlNode = ParsedNode;

function firstDocument(text: string, lines: LineCounter): YamlNode | null {
  const composer = new Composer({
    version: '1.1',
    schema: 'failsafe',
    uniqueKeys: false,
    lineCounter: lines,
    prettyErrors: false,
  });
  const tokens = new Parser(lines.addNewLine).parse(text);
  const { value: document } = composer.compose(tokens, true, text.length).next();
  if (document === undefined) return null;
  const [error] = document.errors;
  if (error !== undefined) {
    // The library takes an exhausted stack for a fault of the document's.
    if (/call stack/i.test(error.message)) throw new YamlSyntaxError('yaml: exceeded max depth');
    const { line } = lines.linePos(error.pos[0]);
    throw new YamlSyntaxError(`yaml: ${line > 1 ? `line ${line}: ` : ''}${wording(error)}`);
  }
  if (document.directives?.yaml.explicit && document.directives.yaml.version !== '1.1') {
    throw new YamlSyntaxError('yaml: found incompatible YAML document');
  }
  return document.contents as YamlNode | null;
}

const WORDINGS: ReadonlyMap<string, string> = new Map([
  ['TAB_AS_INDENT', 'found character that cannot start any token'],
  ['BAD_SCALAR_START', 'found character that cannot start any token'],
  ['BLOCK_AS_IMPLICIT_KEY', 'mapping values are not allowed in this context'],
  ['MULTILINE_IMPLICIT_KEY', 'mapping values are not allowed in this context'],
]);
const MISSING: readonly [RegExp, string][] = [
  [/^Missing closing/, 'found unexpected end of stream'],
  [/end with a }/, "did not find expected ',' or '}'"],
  [/end with a \]/, "did not find expected ',' or ']'"],
];

/** libyaml's words for the parser's errors, where it has an equal. */
function wording({ code, message }: { code: string; message: string }): string {
  return (
    WORDINGS.get(code) ?? MISSING.find(([pattern]) => pattern.test(message))?.[1] ?? (message.split('\n')[0] as string)
  );
}

/** Values read before aliases are looked at, and the share of them that may come from aliases (go-yaml's bounds). */
const MIN_ALIASED = 100;
const MIN_READ = 1000;
const MANY = 400_000;
const TOO_MANY = 4_000_000;

function allowedShare(read: number): number {
  if (read <= MANY) return 0.99;
  return read >= TOO_MANY ? 0.1 : 0.99 - (0.89 * (read - MANY)) / (TOO_MANY - MANY);
}

class Reader {
  readonly repeated: string[] = [];
  readonly #lines: LineCounter;
  readonly #anchors = new Map<string, YamlNode>();
  readonly #open = new Set<YamlNode>();
  #aliasDepth = 0;
  #aliased = 0;
  #read = 0;

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  value(node: YamlNode | null): JsonValue {
    this.#count();
    if (node === null) return null;
    if (isAlias(node)) return this.#through(node.source, (target) => this.value(target));
    this.#anchor(node);
    if (isScalar(node)) return finite(scalar(node));
    return this.#within(node, () => {
      if (isSeq(node)) return (node as YAMLSeq<YamlNode>).items.map((item) => this.value(item));
      const out = new Map<string, JsonValue>();
      this.#pairs(node as YAMLMap<YamlNode, YamlNode | null>, out);
      return sortedMap([...out]) as JsonObject;
    });
  }

  #count(): void {
    this.#read++;
    if (this.#aliasDepth > 0) this.#aliased++;
    if (this.#aliased > MIN_ALIASED && this.#read > MIN_READ && this.#aliased / this.#read > allowedShare(this.#read)) {
      throw new YamlSyntaxError('yaml: document contains excessive aliasing');
    }
  }

  #anchor(node: YamlNode): void {
    const { anchor } = node as { anchor?: string };
    if (anchor !== undefined) this.#anchors.set(anchor, node);
  }

  #through<T>(name: string, read: (target: YamlNode) => T): T {
    const target = this.#anchors.get(name);
    if (target === undefined) throw new YamlSyntaxError(`yaml: unknown anchor '${name}' referenced`);
    if (this.#open.has(target)) throw new YamlSyntaxError(`yaml: anchor '${name}' value contains itself`);
    this.#aliasDepth++;
    const value = read(target);
    this.#aliasDepth--;
    return value;
  }

  #within<T>(node: YamlNode, read: () => T): T {
    this.#open.add(node);
    const value = read();
    this.#open.delete(node);
    return value;
  }

  #pairs(map: YAMLMap<YamlNode, YamlNode | null>, out: Map<string, JsonValue>): void {
    for (const { key, value } of map.items) {
      if (isMergeKey(key)) {
        this.#merge(value, out);
        continue;
      }
      const name = this.#key(key);
      const read = this.value(value);
      const { text, shown } = name;
      if (out.has(text)) this.repeated.push(`line ${this.#lineOf(key)}: key ${shown} already set in map`);
      out.set(text, read);
    }
  }

  #merge(node: YamlNode | null, out: Map<string, JsonValue>): void {
    if (node !== null && isAlias(node)) this.#through(node.source, (target) => this.#merge(target, out));
    else if (isMap(node)) {
      this.#anchor(node);
      this.#within(node, () => this.#pairs(node as YAMLMap<YamlNode, YamlNode | null>, out));
    } else if (isSeq(node)) {
      for (const item of (node as YAMLSeq<YamlNode>).items.toReversed()) this.#merge(item, out);
    } else throw new YamlSyntaxError('yaml: map merge requires map or sequence of maps as the value');
  }

  /** A key as JSON has it, and as Go shows it in an error. */
  #key(node: YamlNode): { text: string; shown: string } {
    const target = isAlias(node) ? this.#through(node.source, (found) => found) : node;
    if (target !== null && !isScalar(target)) throw new YamlSyntaxError('yaml: invalid map key');
    if (target !== null) this.#anchor(target);
    const value = target === null ? null : scalar(target);
    if (value === null) throw new YamlSyntaxError('unsupported map key of type: %!s(<nil>), key: <nil>');
    return { text: keyText(value), shown: typeof value === 'string' ? JSON.stringify(value) : keyText(value) };
  }

  #lineOf(node: YamlNode): number {
    return this.#lines.linePos(node.range?.[0] ?? 0).line;
  }
}

function isMergeKey(key: YamlNode): boolean {
  return (
    isScalar(key) && key.value === '<<' && key.type === 'PLAIN' && (key.tag === undefined || key.tag === `${CORE}merge`)
  );
}

function scalar(node: { value: unknown; type?: string; tag?: string }): Scalar {
  const text = String(node.value);
  const { tag } = node;
  if (tag === undefined) return node.type === 'PLAIN' ? resolvePlain(text) : text;
  if (tag === `${CORE}binary`) return binary(text);
  if (!tag.startsWith(CORE) || tag === `${CORE}str` || tag === `${CORE}timestamp`) return text;
  const value = resolvePlain(text);
  if (WANTED.get(tag.slice(CORE.length))?.includes(value === null ? 'null' : typeof value) !== true) {
    throw new YamlSyntaxError(`yaml: cannot decode !!str \`${text}\` as a !!${tag.slice(CORE.length)}`);
  }
  return value;
}

const WANTED: ReadonlyMap<string, string[]> = new Map([
  ['bool', ['boolean']],
  ['int', ['number', 'bigint']],
  ['float', ['number', 'bigint']],
  ['null', ['null']],
]);

function binary(text: string): string {
  try {
    const bytes = Uint8Array.from(atob(text.replace(/\s/g, '')), (c) => c.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  } catch {
    throw new YamlSyntaxError('yaml: !!binary value contains invalid base64 data');
  }
}

function keyText(value: Exclude<Scalar, null>): string {
  return typeof value === 'number' && !Number.isFinite(value)
    ? nonFinite(value, '.inf', '-.inf', '.nan')
    : String(value);
}

function finite(value: Scalar): Scalar {
  if (typeof value !== 'number' || Number.isFinite(value)) return value;
  throw new YamlSyntaxError(`json: unsupported value: ${nonFinite(value, '+Inf', '-Inf', 'NaN')}`);
}

function nonFinite(value: number, positive: string, negative: string, none: string): string {
  return Number.isNaN(value) ? none : value > 0 ? positive : negative;
}
