import type { Random } from '../random.ts';

/** Bytes that frame: what comes of another one in their place is where readers disagree. */
const FRAMES = /[\r\n\t :;,=0-9]/;
const OTHERS = [
  '\r',
  '\n',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '\0',
  '\x0b',
  '\x0c',
  '\x7f',
  '\x80',
  '\x85',
  '\xa0',
  '0',
  '1',
  'f',
  'x',
  '+',
  '-',
  '"',
];
const FRAMING_LINE = /^(?:content-length|transfer-encoding|connection|host|expect):.*\r\n/gim;
const CHUNK_SIZE = /(?<=\r\n)[0-9a-f]+(?=(?:;.*)?\r\n)/gi;
const CODINGS = [
  'chunked',
  'Chunked',
  ',chunked',
  'chunked,',
  'gzip, chunked',
  'chunked, chunked',
  'identity',
  '',
  ' chunked',
  'chunked\t',
  'xchunked',
];

/** The bytes with one or two small changes where requests and bodies meet. Never empty. */
export function woundFraming(bytes: Buffer, random: Random): Buffer {
  let text = bytes.toString('latin1');
  for (let wounds = random.chance(0.8) ? 1 : 2; wounds > 0; wounds--) text = wound(text, random);
  return Buffer.from(text === '' ? '\n' : text, 'latin1');
}

function wound(text: string, random: Random): string {
  const kind = random.below(10);
  if (kind < 5) return withOtherByte(text, random);
  if (kind < 8) return withOtherLine(text, random);
  return withOtherSize(text, random);
}

/** A framing byte replaced, removed, doubled, or with another one inserted. */
function withOtherByte(text: string, random: Random): string {
  const offset = random.below(text.length);
  const found = text.slice(offset).search(FRAMES);
  const at = found < 0 ? offset : offset + found;
  const [before, byte, after] = [text.slice(0, at), text.slice(at, at + 1), text.slice(at + 1)];
  switch (random.below(5)) {
    case 0:
      return before + after;
    case 1:
      return before + byte + byte + after;
    case 2:
      return before + random.pick(OTHERS) + byte + after;
    case 3:
      return before + byte + random.pick(OTHERS) + after;
    default:
      return before + random.pick(OTHERS) + after;
  }
}

/** A framing field with another value, gone, or twice, the same or not. */
function withOtherLine(text: string, random: Random): string {
  const lines = [...text.matchAll(FRAMING_LINE)];
  if (lines.length === 0) return withOtherByte(text, random);
  const { 0: line, index } = random.pick(lines);
  const name = line.slice(0, line.indexOf(':'));
  const value = line.slice(line.indexOf(':') + 1, -2).trim();
  const other = `${name}: ${otherValue(name, value, random)}\r\n`;
  const [before, after] = [text.slice(0, index), text.slice(index + line.length)];
  switch (random.below(5)) {
    case 0:
      return before + after;
    case 1:
      return before + line + line + after;
    case 2:
      return before + line + other + after;
    case 3:
      return before + other + line + after;
    default:
      return before + other + after;
  }
}

function otherValue(name: string, value: string, random: Random): string {
  if (/^t/i.test(name)) return random.pick(CODINGS);
  if (/^content/i.test(name)) return otherNumber(value, 10, random);
  if (/^connection/i.test(name))
    return random.pick([
      'close',
      'Close',
      'close, x',
      'x,close',
      'keep-alive, close',
      'closed',
      'x-close',
      '',
    ]);
  return `${value}${random.pick(['', ',', ' ', 'x', `, ${value}`])}`;
}

function otherNumber(digits: string, radix: number, random: Random): string {
  const number = Number.parseInt(digits, radix);
  const forms = [
    (number + 1).toString(radix),
    Math.max(0, number - 1).toString(radix),
    `0${digits}`,
    `00000000000000${digits}`,
    `+${digits}`,
    `-${digits}`,
    `0x${digits}`,
    `${digits},${digits}`,
    `${digits} ${digits}`,
    `${digits}\t`,
    `${digits}${'0'.repeat(18)}`,
    '',
  ];
  return random.pick(forms);
}

function withOtherSize(text: string, random: Random): string {
  const sizes = [...text.matchAll(CHUNK_SIZE)];
  if (sizes.length === 0) return withOtherByte(text, random);
  const { 0: size, index } = random.pick(sizes);
  return text.slice(0, index) + otherNumber(size, 16, random) + text.slice(index + size.length);
}
