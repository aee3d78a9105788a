import { labelValueErrors, qualifiedNameErrors } from '../../api/validation/labels.ts';
import { dns1035LabelErrors, dnsLabelErrors, dnsSubdomainErrors } from '../../api/validation/names.ts';
import { hasFormat } from '../../extensions/formats.ts';
import { type Definition, LIBRARY_TYPES } from '../functions.ts';
import { ArrayList, NONE, Opaque, Optional } from '../values.ts';
import { uriError } from './url.ts';

/** Kubernetes' format library, and the escaping of JSON patch keys. */

type Errors = (text: string) => string[];

class Format extends Opaque {
  readonly type = LIBRARY_TYPES.Format!;
  readonly name: string;
  readonly errors: Errors;
  readonly #size: number;

  constructor(name: string, size: number, errors: Errors) {
    super();
    this.name = name;
    this.#size = size;
    this.errors = errors;
  }

  /** Size of the pattern that stands for its cost. */
  override get size(): number {
    return this.#size;
  }

  equals(other: Opaque): boolean {
    return other instanceof Format && other.name === this.name;
  }
}

/** A prefix may end in a dash: a suffix follows. */
const asPrefix =
  (errors: Errors): Errors =>
  (text) =>
    errors(text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text);
const openApi =
  (format: string, why: string): Errors =>
  (text) =>
    hasFormat(text, format) ? [] : [why];

const uri: Errors = (text) => {
  const why = uriError(text);
  return why === undefined ? [] : [why];
};

const FORMATS: ReadonlyMap<string, Format> = new Map(
  (
    [
      ['dns1123Label', 30, dnsLabelErrors],
      ['dns1123Subdomain', 60, dnsSubdomainErrors],
      ['dns1035Label', 30, dns1035LabelErrors],
      ['qualifiedName', 60, qualifiedNameErrors],
      ['dns1123LabelPrefix', 30, asPrefix(dnsLabelErrors)],
      ['dns1123SubdomainPrefix', 60, asPrefix(dnsSubdomainErrors)],
      ['dns1035LabelPrefix', 30, asPrefix(dns1035LabelErrors)],
      ['labelValue', 40, labelValueErrors],
      ['uri', 1103, uri],
      ['uuid', 70, openApi('uuid', 'does not match the UUID format')],
      ['byte', 84, openApi('byte', 'invalid base64')],
      ['date', 71, openApi('date', 'invalid date')],
      ['datetime', 71, openApi('datetime', 'invalid datetime')],
    ] as const
  ).map(([name, size, errors]) => [name, new Format(name, size, errors)]),
);

function named(name: string): Optional {
  const format = FORMATS.get(name);
  return format === undefined ? NONE : new Optional(format);
}

function validate(format: Format, text: string): Optional {
  const errors = format.errors(text);
  return errors.length === 0 ? NONE : new Optional(new ArrayList(errors));
}

const escapeKey = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');

export const formats: readonly Definition[] = [
  ['format-validate', 'Format.validate(string): optional(list(string))', validate],
  ['format-named', 'format.named(string): optional(Format)', named],
  ...[...FORMATS].map(([name, format]): Definition => [`format.${name}`, `format.${name}(): Format`, () => format]),
];

export const jsonPatchKeys: readonly Definition[] = [
  ['string_jsonpatch_escapeKey_string', 'jsonpatch.escapeKey(string): string', escapeKey],
];
