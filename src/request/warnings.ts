/** Characters of all warnings together beyond which each is cut. */
const TOTAL = 4096;
/** Characters that a cut warning has. */
const ITEM = 256;

const utf8 = new TextEncoder();

/** Header values are bytes: what is beyond ASCII goes as UTF-8. */
function bytesOf(text: string): string {
  let ascii = true;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7e) ascii = false;
  return ascii ? text : Array.from(utf8.encode(text), (byte) => String.fromCharCode(byte)).join('');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a header value has none
const CONTROLS = /[\u0000-\u001f\u007f]/g;
const quoted = (text: string) => `299 - "${text.replace(/["\\]/g, '\\$&').replace(CONTROLS, '')}"`;

/** The values of the Warning headers that tell these texts (RFC 7234): each once, cut when they are too long together. */
export function warningHeaders(texts: readonly string[]): string[] {
  const unique = [...new Set(texts)].filter((text) => text !== '');
  const total = unique.reduce((sum, text) => sum + [...text].length, 0);
  const shown: string[] = [];
  let written = 0;
  for (const text of unique) {
    const cut = total > TOTAL ? [...text].slice(0, ITEM).join('') : text;
    if (written >= TOTAL) break;
    written += [...cut].length;
    shown.push(bytesOf(quoted(cut)));
  }
  return shown;
}
