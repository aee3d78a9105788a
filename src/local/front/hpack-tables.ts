/** The static table of HPACK (RFC 7541, appendix A); index 1 comes first. */
export const STATIC_TABLE: [name: string, value: string][] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  ...['200', '204', '206', '304', '400', '404', '500'].map((code): [string, string] => [':status', code]),
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ...(
    'accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control ' +
    'content-disposition content-encoding content-language content-length content-location content-range content-type ' +
    'cookie date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since ' +
    'last-modified link location max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after ' +
    'server set-cookie strict-transport-security transfer-encoding user-agent vary via www-authenticate'
  )
    .split(' ')
    .map((name): [string, string] => [name, '']),
];

// Lengths in bits of the codes of bytes 0 to 255 and of the end-of-string symbol (RFC 7541, appendix B). The code is
// canonical: codes count upwards by length, then by symbol.
const CODE_LENGTHS =
  '13 23 28 28 28 28 28 28 28 24 30 28 28 30 28 28 28 28 28 28 28 28 30 28 28 28 28 28 28 28 28 28 ' +
  '6 10 10 12 13 6 8 11 10 10 8 11 8 6 6 6 5 5 5 6 6 6 6 6 6 6 7 8 15 6 12 10 ' +
  '13 6 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 8 7 8 13 19 13 14 6 ' +
  '15 5 6 5 6 5 6 6 6 5 7 7 6 6 6 5 6 7 6 5 5 6 7 7 7 7 7 15 11 14 13 28 ' +
  '20 22 20 20 22 22 22 23 22 23 23 23 23 23 24 23 24 24 22 23 24 23 23 23 23 21 22 23 22 23 23 24 ' +
  '22 21 20 22 22 23 23 21 23 22 22 24 21 22 23 23 21 21 22 21 23 22 23 23 20 22 22 22 23 22 22 23 ' +
  '26 26 20 19 22 23 22 25 26 26 26 27 27 26 24 25 19 21 26 27 27 26 27 24 21 21 26 26 28 27 27 27 ' +
  '20 24 20 21 22 21 21 23 22 22 25 25 24 24 26 23 26 27 26 26 27 27 27 27 27 28 27 27 27 27 27 26 30';

const END_OF_STRING = 256;

/** A node of the decoding tree: the child for 0 and 1 bits, or the symbol of a leaf. */
interface Node {
  children: [Node | undefined, Node | undefined];
  symbol: number;
}

function codeTree(): Node {
  const lengths = CODE_LENGTHS.split(' ').map(Number);
  const symbols = lengths.map((_, symbol) => symbol).sort((a, b) => lengths[a]! - lengths[b]! || a - b);
  const root: Node = { children: [undefined, undefined], symbol: -1 };
  let code = 0;
  let length = 0;
  for (const symbol of symbols) {
    code <<= lengths[symbol]! - length;
    length = lengths[symbol]!;
    let node = root;
    for (let bit = length - 1; bit >= 0; bit--) {
      const side = ((code >> bit) & 1) as 0 | 1;
      node.children[side] ??= { children: [undefined, undefined], symbol: -1 };
      node = node.children[side];
    }
    node.symbol = symbol;
    code++;
  }
  return root;
}

/** Marks in the transition table. */
const INVALID = -1;
const NO_SYMBOL = 256;

/**
 * Transitions of a decoder that reads four bits at a time: entry `state * 16 + nibble` holds the next state in the
 * high bits and the symbol that was completed (or NO_SYMBOL) in the low nine, or is INVALID.
 */
const { transitions, accepting } = nibbleMachine(codeTree());

function nibbleMachine(root: Node): { transitions: Int32Array; accepting: Uint8Array } {
  const states: Node[] = [root];
  const index = new Map<Node, number>([[root, 0]]);
  const table: number[] = [];
  for (let state = 0; state < states.length; state++) {
    for (let nibble = 0; nibble < 16; nibble++) table.push(step(root, states, index, states[state]!, nibble));
  }
  const padding = paddingNodes(root);
  return {
    transitions: Int32Array.from(table),
    accepting: Uint8Array.from(states, (node) => (padding.has(node) ? 1 : 0)),
  };
}

function step(root: Node, states: Node[], index: Map<Node, number>, from: Node, nibble: number): number {
  let node: Node | undefined = from;
  let symbol = NO_SYMBOL;
  for (let bit = 3; bit >= 0; bit--) {
    node = node.children[((nibble >> bit) & 1) as 0 | 1];
    if (!node || node.symbol === END_OF_STRING) return INVALID;
    if (node.symbol >= 0) {
      symbol = node.symbol;
      node = root;
    }
  }
  if (!index.has(node)) {
    index.set(node, states.length);
    states.push(node);
  }
  return (index.get(node)! << 9) | symbol;
}

/** A string may end with up to seven 1 bits of the end-of-string code (section 5.2). */
function paddingNodes(root: Node): Set<Node> {
  const nodes = new Set<Node>();
  let node: Node | undefined = root;
  for (let bits = 0; bits <= 7 && node; bits++) {
    nodes.add(node);
    node = node.children[1];
  }
  return nodes;
}

const scratch = Buffer.alloc(128 * 1024);

/** Decodes a Huffman-coded string; undefined when it is malformed. The longest code for a byte has 30 bits, the shortest 5. */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string | undefined {
  const output = (end - start) * 2 <= scratch.length ? scratch : Buffer.alloc((end - start) * 2);
  let state = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    for (let nibble = byte >> 4, half = 0; half < 2; half++, nibble = byte & 15) {
      const next = transitions[state * 16 + nibble]!;
      if (next === INVALID) return undefined;
      const symbol = next & 511;
      if (symbol !== NO_SYMBOL) output[length++] = symbol;
      state = next >> 9;
    }
  }
  return accepting[state] ? output.toString('latin1', 0, length) : undefined;
}
