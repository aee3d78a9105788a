import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';

/** Where the module of the descriptions goes, from the root of the project (`#openapi-descriptions`, package.json). */
const OUTPUT = 'build/openapi-descriptions.js';
/** Kubernetes' JavaScript client: of this release, but without descriptions of fields that hold another type. */
const CLIENT = 'node_modules/@kubernetes/client-node/dist/gen/models';
const PARAMETERS = 'node_modules/@kubernetes/client-node/dist/gen/types/ObjectParamAPI.d.ts';
/** Types of an older release, with all descriptions and their line breaks. */
const TYPES = 'node_modules/kubernetes-types';
const DEFINITIONS = 'src/api/tables/types.json';
const INPUTS = ['package-lock.json', 'src/local/descriptions.mjs', DEFINITIONS];

const DECLARED =
  /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:'([^']+)'|"([^"]+)"|(\$?\w+)\??:|export (?:declare class|interface|type) (\w+))/g;

/** A comment as plain text: the client's generator escapes quotes, and both write the end of a comment otherwise. */
const plain = (comment) =>
  comment
    .replace(/^[ \t]*\* ?/gm, '')
    .trim()
    .replace(/\\(["'\\])/g, '$1')
    .replaceAll('*_/', '*/')
    .replaceAll('*\\/', '*/');

const textOf = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '');

/** What declarations say, by the name of the type and then of the field; the type's own is under ''. */
function read(declarations) {
  const found = new Map();
  let current = {};
  for (const [, comment, single, double, bare, type] of declarations.matchAll(DECLARED)) {
    if (type !== undefined) {
      current = { '': plain(comment) };
      found.set(type, current);
    } else current[single ?? double ?? bare] = plain(comment);
  }
  return found;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** What the client says of a definition. */
function fromClient(root, definition) {
  const [kind, version, group = ''] = definition.split('.').reverse();
  const classes = [`${capital(group)}${capital(version)}${kind}`, `${capital(version)}${kind}`];
  const name = classes.find((one) => existsSync(join(root, CLIENT, `${one}.d.ts`)));
  if (name === undefined) return {};
  const pairs = textOf(join(root, CLIENT, `${name}.js`)).matchAll(/"name": "([^"]+)",\s*"baseName": "([^"]+)"/g);
  const json = new Map([...pairs].map(([, own, base]) => [own, base]));
  const found = read(textOf(join(root, CLIENT, `${name}.d.ts`))).get(name) ?? {};
  return Object.fromEntries(Object.entries(found).map(([field, text]) => [json.get(field) ?? field, text]));
}

/** What the types say of a definition; `files` keeps those that were read. */
function fromTypes(root, definition, files) {
  const [kind, version, group] = definition.split('.').reverse();
  const path = [join(TYPES, group, `${version}.d.ts`), join(TYPES, `${version}.d.ts`)].find((one) =>
    existsSync(join(root, one)),
  );
  if (path === undefined) return {};
  if (!files.has(path)) files.set(path, read(textOf(join(root, path))));
  return files.get(path).get(kind) ?? {};
}

const collapsed = (text) => text.replace(/\s+/g, ' ');

/** The client's text, with the line breaks of the older one where it is the same. */
const merged = (own, older) =>
  own === undefined
    ? older
    : older !== undefined && collapsed(own) === collapsed(older)
      ? older
      : own.replace(/(?<=\S) {2}(?=[^ o])/g, '\n\n');

function describe(root) {
  const { definitions } = JSON.parse(readFileSync(join(root, DEFINITIONS), 'utf8'));
  const files = new Map();
  const out = {};
  for (const [name, definition] of Object.entries(definitions)) {
    const [own, older] = [fromClient(root, name), fromTypes(root, name, files)];
    const fields = ['', ...Object.keys(definition.properties ?? {})];
    const said = fields.map((field) => [field, merged(own[field], older[field])]).filter(([, text]) => text);
    if (said.length > 0) out[name] = Object.fromEntries(said);
  }
  return { definitions: out, parameters: parameters(root) };
}

const entities = { '&#39;': "'", '&quot;': '"', '&lt;': '<', '&gt;': '>', '&#x3D;': '=', '&#x60;': '`', '&amp;': '&' };

/** What most of the client's methods say of a parameter; those of which they say various things are left out. */
function parameters(root) {
  const said = new Map();
  const declared = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*_?(\w+)\??: (?:string|boolean|number);/g;
  for (const [, comment, name] of textOf(join(root, PARAMETERS)).matchAll(declared)) {
    const raw = comment.replace(/\* Defaults to: [\s\S]*/, '').replace(/\\(?=&)/g, '');
    const text = plain(raw).replace(/&[#\w]+;/g, (entity) => entities[entity] ?? entity);
    const texts = said.get(name) ?? new Map();
    said.set(name, texts.set(text, (texts.get(text) ?? 0) + 1));
  }
  const usual = (texts) => {
    const all = [...texts.values()].reduce((a, b) => a + b, 0);
    return [...texts].find(([, times]) => times > 0.6 * all)?.[0];
  };
  const found = [...said].map(([name, texts]) => [name, usual(texts)]);
  return Object.fromEntries(found.filter(([, text]) => text !== undefined));
}

/**
 * Writes the module that holds the descriptions of Kubernetes' API, compressed, from the comments of packages that
 * carry them. Nothing is done when it is newer than what it is made of.
 */
export function writeDescriptions(root) {
  const output = join(root, OUTPUT);
  const newest = Math.max(...INPUTS.map((path) => statSync(join(root, path)).mtimeMs));
  if (existsSync(output) && statSync(output).mtimeMs > newest) return;
  const packed = deflateRawSync(JSON.stringify(describe(root)), { level: 9 }).toString('base64');
  mkdirSync(join(root, 'build'), { recursive: true });
  const temporary = `${output}.${process.pid}`;
  writeFileSync(temporary, `export default ${JSON.stringify(packed)};\n`);
  renameSync(temporary, output);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeDescriptions(join(import.meta.dirname, '../..'));
