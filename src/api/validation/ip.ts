const OCTET = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const v4 = new RegExp(`^${OCTET}(\\.${OCTET}){3}$`);

/** Whether a string is an IPv4 address in dotted decimals without leading zeros. */
export function isIPv4(text: string): boolean {
  return v4.test(text);
}

/** Whether a string is an IPv6 address (RFC 4291 section 2.2), without a zone. */
export function isIPv6(text: string): boolean {
  const tail = text.slice(text.lastIndexOf(':') + 1);
  const whole = tail.includes('.') ? (isIPv4(tail) ? `${text.slice(0, -tail.length)}0:0` : '') : text;
  const halves = whole.split('::');
  if (halves.length > 2 || whole === '') return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return false;
  return halves.length === 2 ? groups.length < 8 : groups.length === 8;
}

/** Whether a string is an IPv4 or IPv6 address. */
export function isIP(text: string): boolean {
  return isIPv4(text) || isIPv6(text);
}
