/**
 * String formats that kube-apiserver checks in CRD schemas; every other format is accepted unseen. Prototype-free, so
 * that no hostile name matches.
 */
const formats: Record<string, (text: string) => boolean> = Object.assign(Object.create(null), {
  bsonobjectid: (s: string) => /^[0-9a-f]{24}$/i.test(s),
  byte: (s: string) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(s),
  cidr: (s: string) => isCidr(s),
  creditcard: (s: string) => /^\d{13,19}$/.test(s.replace(/[^0-9]/g, '')),
  date: (s: string) => /^\d{4}-\d{2}-\d{2}$/.test(s) && !Number.isNaN(Date.parse(`${s}T00:00:00Z`)),
  'date-time': (s: string) =>
    /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(s) &&
    !Number.isNaN(Date.parse(s.toUpperCase())),
  datetime: (s: string) => formats['date-time']!(s),
  duration: (s: string) =>
    /^[-+]?(0|(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/.test(s) ||
    /^\d+\s*(ns|nanos?|us|micros?|ms|millis?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)$/i.test(
      s,
    ),
  email: (s: string) => /^[^\s@<>]+@[^\s@<>]+$/.test(s),
  hexcolor: (s: string) => /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.test(s),
  hostname: (s: string) =>
    s.length <= 255 &&
    /^([a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*\.?$/.test(s),
  ipv4: (s: string) => isIPv4(s),
  ipv6: (s: string) => isIPv6(s),
  isbn: (s: string) => /^(97[89])?\d{9}[\dX]$/.test(s.replace(/[\s-]/g, '')),
  isbn10: (s: string) => /^\d{9}[\dX]$/.test(s.replace(/[\s-]/g, '')),
  isbn13: (s: string) => /^97[89]\d{10}$/.test(s.replace(/[\s-]/g, '')),
  mac: (s: string) => /^([0-9a-f]{2}([:-])){5}[0-9a-f]{2}$/i.test(s) || /^([0-9a-f]{4}\.){2}[0-9a-f]{4}$/i.test(s),
  rgbcolor: (s: string) => /^rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)$/.test(s),
  ssn: (s: string) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(s),
  uri: (s: string) => /^([a-z][a-z0-9+.-]*:|\/)/i.test(s) && URL.canParse(s, 'http://localhost'),
  uuid: (s: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(s),
  uuid3: (s: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(s),
  uuid4: (s: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(s),
  uuid5: (s: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(s),
});

/** Whether a string has the format; true for formats that are not checked. */
export function hasFormat(text: string, format: string): boolean {
  return formats[format]?.(text) ?? true;
}

function isIPv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((p) => /^(0|[1-9]\d{0,2})$/.test(p) && Number(p) <= 255);
}

function isIPv6(text: string): boolean {
  return text.includes(':') && /^[0-9a-fA-F:.]+$/.test(text) && URL.canParse(`http://[${text}]/`);
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false;
  return (isIPv4(address) && Number(bits) <= 32) || (isIPv6(address) && Number(bits) <= 128);
}
