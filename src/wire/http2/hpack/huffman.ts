import { compressionFault } from '../http2-fault.ts';

/**
 * The lengths in bits of the codes of bytes 0 to 255 and EOS (RFC 7541, B): one letter each, `A` for 5. The code is canonical: in
 * order of length, then of symbol, each code is the previous one plus 1. So the lengths define it.
 */
const LENGTHS = [
  'ISXXXXXXXTZXXZXXXXXXXXZXXXXXXXXXBFFHIBDGFFDGDBBBAAABBBBBBBCDKBHF',
  'IBCCCCCCCCCCCCCCCCCCCCCCDCDIOIJBKABABABBBACCBBBABCBAABCCCCCKGJIX',
  'PRPPRRRSRSSSSSTSTTRSTSSSSQRSRSSTRQPRRSSQSRRTQRSSQQRQSRSSPRRRSRRS',
  'VVPORSRUVVVWWVTUOQVWWVWTQQVVXWWWPTPQRQQSRRUUTTVSVWVVWWWWWXWWWWWV',
  'Z',
].join('');
const MIN_BITS = 5;
const EOS = 256;

/** Entries of a node of the tree: one for each value of the next 8 bits. See `NODES`. */
const NODE_ENTRIES = 256;

/**
 * The tree, node after node. An entry above 0 ends a code: the symbol times 16, plus how many of the 8 bits belong to it. An
 * entry below 0 continues the code in the node of that number. 0 marks an invalid code.
 */
const NODES: Int16Array = makeNodes();

function makeNodes(): Int16Array {
  const nodes: number[] = new Array(NODE_ENTRIES).fill(0);
  let code = 0;
  for (let bits = MIN_BITS; bits <= 30; bits++, code *= 2)
    for (let symbol = 0; symbol <= EOS; symbol++) {
      if (LENGTHS.charCodeAt(symbol) - 65 + MIN_BITS !== bits) continue;
      // RFC 7541, 5.2: a string that contains EOS is an error.
      if (symbol !== EOS) addCode(nodes, symbol, code, bits);
      code++;
    }
  return Int16Array.from(nodes);
}

function addCode(nodes: number[], symbol: number, code: number, bits: number): void {
  let node = 0;
  let left = bits;
  for (; left > 8; left -= 8) {
    const at = node * NODE_ENTRIES + ((code >>> (left - 8)) & 0xff);
    if (nodes[at] === 0) {
      nodes[at] = -nodes.length / NODE_ENTRIES;
      for (let i = 0; i < NODE_ENTRIES; i++) nodes.push(0);
    }
    node = -(nodes[at] as number);
  }
  const first = node * NODE_ENTRIES + ((code << (8 - left)) & 0xff);
  nodes.fill(symbol * 16 + left, first, first + (1 << (8 - left)));
}

/** The buffer for decoding short strings. */
const room: Buffer = Buffer.allocUnsafeSlow(1_024);

/** Decodes a Huffman-coded string to text of one byte per character. Throws Http2Fault. */
export function decodeHuffman(bytes: Uint8Array, from: number, to: number): string {
  const most = Math.ceil(((to - from) * 8) / MIN_BITS);
  // A long string gets its own buffer, which is not kept.
  const text = most <= room.length ? room : Buffer.allocUnsafeSlow(most);
  let length = 0;
  let node = 0;
  let window = 0;
  let bits = 0;
  /** How many bits were read since the last symbol. */
  let open = 0;
  for (let at = from; at < to; at++) {
    window = ((window << 8) | (bytes[at] as number)) & 0xffff;
    bits += 8;
    open += 8;
    while (bits >= 8) {
      const entry = NODES[node + ((window >>> (bits - 8)) & 0xff)] as number;
      if (entry > 0) {
        text[length++] = entry >> 4;
        bits -= entry & 15;
        open = bits;
        node = 0;
      } else {
        if (entry === 0) throw compressionFault('an unknown Huffman code');
        bits -= 8;
        node = -entry * NODE_ENTRIES;
      }
    }
  }
  // The remaining bits may contain one or two more codes, then padding.
  while (bits > 0) {
    const entry = NODES[node + ((window << (8 - bits)) & 0xff)] as number;
    if (entry <= 0 || (entry & 15) > bits) break;
    text[length++] = entry >> 4;
    bits -= entry & 15;
    open = bits;
    node = 0;
  }
  // RFC 7541, 5.2: padding is shorter than a byte, and all ones.
  const ones = (1 << bits) - 1;
  if (open > 7 || (window & ones) !== ones) throw compressionFault('an unknown Huffman code');
  return text.toString('latin1', 0, length);
}
