import { isObject } from '../api/object.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from '../api/validation/names.ts';
import type { Structural } from './structural.ts';

const CREDIT_CARD =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
/** A lone name with at most one dash behind its first character, or names that end in one of letters. */
const HOSTNAME =
  /^(?:[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?|(?:[a-zA-Z0-9\p{S}\p{L}](?:[-a-zA-Z0-9\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$/u;
const ATOM = '[^\\s@<>()\\[\\],:;\\\\".]+';
const ADDRESS = `(?:${ATOM}(?:\\.${ATOM})*|"(?:[^"\\\\]|\\\\.)*")@${ATOM}(?:\\.${ATOM})*`;
const EMAIL = new RegExp(`^(?:${ADDRESS}|[^<>@]*<${ADDRESS}>)$`);

/**
 * String formats that kube-apiserver checks in CRD schemas, by their names without dashes; every other format is
 * accepted unseen. Prototype-free, so that no hostile name matches.
 */
const formats: Record<string, (text: string) => boolean> = Object.assign(Object.create(null), {
  bsonobjectid: (s: string) => /^[0-9a-f]{24}$/i.test(s),
  byte: (s: string) => s !== '' && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(s),
  cidr: (s: string) => isCidr(s),
  creditcard: (s: string) => CREDIT_CARD.test(s.replace(/[^0-9]/g, '')),
  date: (s: string) => isDate(s),
  datetime: (s: string) => isDateTime(s),
  duration: (s: string) => isDuration(s),
  email: (s: string) => EMAIL.test(s),
  hexcolor: (s: string) => /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.test(s),
  hostname: (s: string) => s.length <= 255 && HOSTNAME.test(s) && s.split('.').every((label) => label.length <= 63),
  ipv4: (s: string) => isIPv4(s),
  ipv6: (s: string) => isIPv6(s),
  isbn: (s: string) => isIsbn10(s) || isIsbn13(s),
  isbn10: (s: string) => isIsbn10(s),
  isbn13: (s: string) => isIsbn13(s),
  k8slongname: (s: string) => dnsSubdomainErrors(s).length === 0,
  k8sshortname: (s: string) => dnsLabelErrors(s).length === 0,
  mac: (s: string) => isMac(s),
  password: () => true,
  rgbcolor: (s: string) => isRgb(s),
  ssn: (s: string) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(s),
  uri: (s: string) => /^([a-z][a-z0-9+.-]*:|\/)/i.test(s) && URL.canParse(s, 'http://localhost'),
  uuid: (s: string) => UUID.test(s),
  uuid3: (s: string) => UUID.test(s) && s.replaceAll('-', '')[12] === '3',
  uuid4: (s: string) => UUID.test(s) && /^.{12}4.{3}[89ab]/i.test(s.replaceAll('-', '')),
  uuid5: (s: string) => UUID.test(s) && /^.{12}5.{3}[89ab]/i.test(s.replaceAll('-', '')),
});

/** Whether a string has the format; true for formats that are not checked. */
export function hasFormat(text: string, format: string): boolean {
  return formats[plain(format)]?.(text) ?? true;
}

const plain = (format: string) => format.replaceAll('-', '');

/** Formats of the other types that have any. */
const NUMBER_FORMATS: Readonly<Record<string, readonly string[]>> = {
  integer: ['int32', 'int64'],
  number: ['float', 'double'],
};

function isKnown(type: string, format: string): boolean {
  if (type === '' || type === 'string') return formats[plain(format)] !== undefined;
  return Object.hasOwn(NUMBER_FORMATS, type) && NUMBER_FORMATS[type]!.includes(format);
}

/** Formats in a schema that nothing checks, each once. */
export function unknownFormats(schema: Structural, found = new Set<string>()): Set<string> {
  const { type = '', format = '', items, not, additionalProperties } = schema;
  if (format !== '' && !isKnown(type, format)) found.add(format);
  const inner = [items, not, additionalProperties].filter(isObject) as Structural[];
  inner.push(...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? []));
  for (const one of [...inner, ...Object.values(schema.properties ?? {})]) unknownFormats(one, found);
  return found;
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** A day and a time of day; an offset may be any two pairs of digits. */
function isDateTime(text: string): boolean {
  const [day = '', time = ''] = text.toLowerCase().split('t');
  const parts = /^(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/.exec(time);
  return isDate(day) && parts !== null && parts[1]! <= '23' && parts[2]! <= '59' && parts[3]! <= '59';
}

const SHORT_UNITS: ReadonlySet<string> = new Set(['ns', 'us', 'µs', 'ms', 's', 'm', 'h', 'hr', 'd', 'w', 'wk']);
const LONG_UNITS = ['nano', 'micro', 'milli', 'sec', 'min', 'hour', 'day', 'week'];

/** A duration as Go writes them, or any text with a number of units in it. */
function isDuration(text: string): boolean {
  if (/^[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/.test(text)) return true;
  return [...text.matchAll(/\d+\s*([A-Za-zµ]+)/g)].some(([, word = '']) => {
    const unit = word.toLowerCase();
    return SHORT_UNITS.has(unit) || LONG_UNITS.some((long) => unit.startsWith(long));
  });
}

function isMac(text: string): boolean {
  const separator = text[2] === ':' || text[2] === '-' ? text[2] : '.';
  const digits = separator === '.' ? 4 : 2;
  const groups = text.split(separator);
  return (
    [6, 8, 20].includes((groups.length * digits) / 2) &&
    groups.every((group) => group.length === digits && /^[0-9a-f]+$/i.test(group))
  );
}

function isRgb(text: string): boolean {
  const parts = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text);
  return parts?.slice(1).every((part) => Number(part) <= 255) ?? false;
}

const digitsOf = (text: string) => [...text.replace(/[\s-]/g, '')];

function isIsbn10(text: string): boolean {
  const digits = digitsOf(text);
  if (!/^\d{9}[\dX]$/.test(digits.join(''))) return false;
  return digits.reduce((sum, d, i) => sum + (d === 'X' ? 10 : Number(d)) * (10 - i), 0) % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = digitsOf(text);
  if (!/^\d{13}$/.test(digits.join(''))) return false;
  return digits.reduce((sum, d, i) => sum + Number(d) * (i % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

function isIPv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((p) => /^\d{1,3}$/.test(p) && Number(p) <= 255);
}

function isIPv6(text: string): boolean {
  return text.includes(':') && /^[0-9a-fA-F:.]+$/.test(text) && URL.canParse(`http://[${text}]/`);
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false;
  return (isIPv4(address) && Number(bits) <= 32) || (isIPv6(address) && Number(bits) <= 128);
}
