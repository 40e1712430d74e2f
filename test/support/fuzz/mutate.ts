import type { Random } from '../random.ts';

/** Bytes at which parsers have been known to disagree. */
const SPICE = [
  ...[
    '\r',
    '\n',
    '\r\n',
    '\n\n',
    '\r\n\r\n',
    '\r\r\n',
    '\0',
    '\t',
    ' ',
    '  ',
    '\x0b',
    '\x0c',
    '\x7f',
    '\x80',
    '\xff',
  ],
  ...[
    ':',
    ';',
    ',',
    '"',
    '%',
    '%00',
    '%2f',
    '%2e',
    '/',
    '//',
    '/../',
    '\\',
    '#',
    '?',
    '@',
    '*',
    '0',
    '00',
    '1',
    '-',
    '+',
  ],
  ...[
    'chunked',
    'identity',
    'Content-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Connection: close\r\n',
  ],
  ...[
    'Host: other.test\r\n',
    'HTTP/1.1',
    'HTTP/1.0',
    '0\r\n\r\n',
    'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n',
    '_',
    ' \r\n ',
  ],
];

/** The bytes with one to three small wounds. Never empty. */
export function mutate(bytes: Buffer, random: Random): Buffer {
  let mutated = bytes;
  for (let wounds = 1 + random.below(3); wounds > 0; wounds--) mutated = wound(mutated, random);
  return mutated.length === 0 ? Buffer.from('\n') : mutated;
}

function wound(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, at + 1 + random.below(random.chance(0.8) ? 3 : 40));
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (random.below(8)) {
    case 0: // another byte
      return Buffer.concat([before, random.bytes(1), after.subarray(1)]);
    case 1: // one bit
      return flipped(bytes, Math.min(at, bytes.length - 1), 1 << random.below(8));
    case 2: // some bytes less
      return Buffer.concat([before, bytes.subarray(to)]);
    case 3: // some bytes twice
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    case 4: // a digit changed
      return Buffer.from(
        bytes.toString('latin1').replace(/\d/g, d => (random.chance(0.2) ? `${random.below(10)}` : d)),
        'latin1',
      );
    case 5: // a line twice, at another place
      return withLineAgain(bytes, random);
    default: // something that parsers read differently
      return Buffer.concat([before, Buffer.from(random.pick(SPICE), 'latin1'), after]);
  }
}

function flipped(bytes: Buffer, at: number, mask: number): Buffer {
  const copy = Buffer.from(bytes);
  if (copy.length > 0) copy[at] = (copy[at] ?? 0) ^ mask;
  return copy;
}

function withLineAgain(bytes: Buffer, random: Random): Buffer {
  const lines = bytes.toString('latin1').split('\r\n');
  lines.splice(random.below(lines.length), 0, random.pick(lines));
  return Buffer.from(lines.join('\r\n'), 'latin1');
}
