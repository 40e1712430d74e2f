import { describe, expect, it } from 'vitest';
import { ResponseReader } from '../../../../src/wire/http1/index.ts';
import { Random } from '../../../support/random.ts';
import { runs, seedOfRun } from '../../../support/runs.ts';

/** What a reader makes of the bytes, that come in pieces of this size. */
function read(text: string, lenient: boolean, pieceBytes = Number.POSITIVE_INFINITY): string {
  const said: string[] = [];
  let body = '';
  const reader = new ResponseReader(8_192, lenient);
  reader.begin('GET', {
    info: (status, fields) => void said.push(`info ${status} ${fields.join('|')}`),
    whole(status, reason, fields, whole) {
      said.push(`${status} ${reason} ${named(fields)}`);
      body += whole;
      said.push('end');
    },
    head: (status, reason, fields) => void said.push(`${status} ${reason} ${named(fields)}`),
    data(chunk, release) {
      body += chunk.toString('latin1');
      release?.();
      return true;
    },
    end: trailers => void said.push('end', ...trailers),
  });
  const bytes = Buffer.from(text, 'latin1');
  try {
    for (let at = 0; at < bytes.length && !reader.over; at += pieceBytes) {
      const piece = Buffer.from(bytes.subarray(at, at + pieceBytes));
      const lend = (from: number, to: number) => Buffer.from(piece.subarray(from, to));
      reader.read({ bytes: piece, lend, release: () => {}, keep: () => {} }, piece.length);
    }
    if (!reader.over && reader.ended()) said.push('closed');
  } catch (error) {
    return `refused: ${(error as Error).message}`;
  }
  return reader.over ? JSON.stringify([...said, body, reader.last.close]) : 'incomplete';
}

/** A length is told of where a whole response came in one read, and moved where it was said twice. */
function named(fields: readonly string[]): string {
  const pairs: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2)
    if (fields[i]?.toLowerCase() !== 'content-length') pairs.push(`${fields[i]}: ${fields[i + 1]}`);
  return pairs.join('|');
}

const OK = 'HTTP/1.1 200 OK\r\n';

describe('a lenient reader takes', () => {
  it.each([
    [
      'line ends without CR',
      'HTTP/1.1 200 OK\nA: b\nContent-Length: 2\n\nok',
      `${OK}A: b\r\nContent-Length: 2\r\n\r\nok`,
    ],
    ['some of them', `${OK}A: b\nContent-Length: 2\r\n\nok`, `${OK}A: b\r\nContent-Length: 2\r\n\r\nok`],
    [
      'interim ones',
      `HTTP/1.1 102 X\n\n${OK}Content-Length: 0\r\n\r\n`,
      `HTTP/1.1 102 X\r\n\r\n${OK}Content-Length: 0\r\n\r\n`,
    ],
    [
      'a length twice',
      `${OK}Content-Length: 2\r\ncontent-length: 2\r\n\r\nok`,
      `${OK}Content-Length: 2\r\n\r\nok`,
    ],
    ['a length twice in one', `${OK}Content-Length: 2, 2\r\n\r\nok`, `${OK}Content-Length: 2\r\n\r\nok`],
    ['blanks after sizes', chunked('2  \r\nok\r\n0\t\r\n\r\n'), chunked('2\r\nok\r\n0\r\n\r\n')],
    ['chunks without CR', chunked('2\nok\n0\n\n'), chunked('2\r\nok\r\n0\r\n\r\n')],
    ['trailers without CR', chunked('2\nok\n0\nA: b\n\n'), chunked('2\r\nok\r\n0\r\nA: b\r\n\r\n')],
  ])('%s, in one read and byte by byte, where a strict one refuses them', (_, loose, strict) => {
    expect(read(loose, false)).toMatch(/^refused/);
    for (const size of [Number.POSITIVE_INFINITY, 1, 3, 7]) {
      const [got, right] = [read(loose, true, size), read(strict, false, size)];
      expect(got).toBe(right);
      expect(right).toContain('end');
    }
  });
});

function chunked(body: string): string {
  return `${OK}Transfer-Encoding: chunked\r\n\r\n${body}`;
}

describe('a lenient reader refuses as a strict one does', () => {
  it.each([
    ['two lengths that differ', `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok!`],
    ['a list that differs', `${OK}Content-Length: 2, 3\r\n\r\nok!`],
    ['no number twice', `${OK}Content-Length: +2\r\nContent-Length: +2\r\n\r\nok`],
    [
      'length and chunks',
      `${OK}Content-Length: 2\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['a CR inside a line', `${OK}A: b\rC: d\n\n`],
    ['two CRs', `${OK}A: b\r\r\n\r\n`],
    ['a continued line', `${OK}A: b\n c\n\n`],
    ['a blank before the colon', `${OK}A : b\n\n`],
    ['blanks within a size', chunked('1 0\nx')],
    ['blanks before a size', chunked(' 2\nok\n0\n\n')],
    ['blanks without end', chunked(`2${' '.repeat(300)}\nok\n0\n\n`)],
    ['a chunk that is longer', chunked('2\nok!\n0\n\n')],
    ['a CR without LF after a size', chunked('2\rok\r\n0\r\n\r\n')],
    ['a framing trailer', chunked('2\nok\n0\nContent-Length: 5\n\n')],
    ['a NUL', `${OK}A: \0\n\n`],
  ])('%s', (_, text) => {
    for (const size of [Number.POSITIVE_INFINITY, 1]) expect(read(text, true, size)).toMatch(/^refused/);
  });

  it('a head, or trailers, without end', () => {
    expect(read(`${OK}${'A: b\n'.repeat(2_000)}`, true, 100)).toMatch(/^refused/);
    expect(read(chunked(`0\n${'A: b\n'.repeat(2_000)}`), true, 100)).toMatch(/^refused/);
  });
});

/** A random response, written strictly, and loosely in a random way. */
function randomResponse(random: Random): { strict: string; loose: string } {
  const chance = (percent: number) => random.below(100) < percent;
  const lines = [
    'HTTP/1.1 200 OK',
    ...Array.from({ length: random.below(4) }, (_, i) => `F${i}: ${'v'.repeat(random.below(600))}`),
  ];
  const body = Array.from({ length: random.below(40) }, () => 'ab\r\n0: \t5'[random.below(9)]).join('');
  const isChunked = chance(60);
  const end = () => (chance(50) ? '\n' : '\r\n');
  if (!isChunked) {
    const length = `Content-Length: ${body.length}`;
    const strict = `${[...lines, length].join('\r\n')}\r\n\r\n${body}`;
    const twice = chance(50) ? [length.toLowerCase(), length] : [length];
    return { strict, loose: `${[...lines, ...twice].map(line => line + end()).join('')}${end()}${body}` };
  }
  let [strict, loose] = ['', ''];
  for (const line of [...lines, 'Transfer-Encoding: chunked', '']) {
    strict += `${line}\r\n`;
    loose += line + end();
  }
  for (let at = 0; at < body.length; ) {
    const piece = body.slice(at, at + 1 + random.below(9));
    at += piece.length;
    const size = piece.length.toString(16);
    strict += `${size}\r\n${piece}\r\n`;
    loose += `${size}${' \t'.slice(0, random.below(3))}${end()}${piece}${end()}`;
  }
  const trailers = chance(30) ? ['T: u', ''] : [''];
  for (const line of ['0', ...trailers]) {
    strict += `${line}\r\n`;
    loose += line + end();
  }
  return { strict, loose };
}

it('reads random responses, however loosely written and in whatever pieces, as a strict reader those that are right', () => {
  const first = seedOfRun();
  for (let seed = first; seed < first + runs(3_000); seed++) {
    const random = new Random(seed);
    const { strict, loose } = randomResponse(random);
    const size = 1 + random.below(80);
    const right = read(strict, false, size);
    expect(right, `seed ${seed}`).toContain('end');
    expect(read(strict, true, size), `seed ${seed}`).toBe(right);
    expect(read(loose, true, size), `seed ${seed}`).toBe(read(strict, false, size));
  }
});

/** Without whether the connection closes: bytes behind the end may come with it or not. */
function understood(said: string): string {
  return said.replace(/,(true|false)\]$/, '');
}

it('reads mutated bytes as a strict reader does wherever that accepts them, and never lets a line end into a field', () => {
  let accepted = 0;
  const [first, cases] = [seedOfRun(), runs(6_000)];
  for (let seed = first; seed < first + cases; seed++) {
    const random = new Random(seed);
    let { loose: text } = randomResponse(random);
    for (let i = random.below(4); i > 0; i--) {
      const at = random.below(text.length + 1);
      const byte = '\r\n\t :;,0a5\0\xff'[random.below(12)] as string;
      text = text.slice(0, at) + byte + text.slice(at + random.below(2));
    }
    const size = 1 + random.below(200);
    const [strict, got] = [read(text, false, size), read(text, true, size)];
    if (!/^(refused|incomplete)/.test(strict)) expect(got, `seed ${seed}`).toBe(strict);
    if (/^(refused|incomplete)/.test(got)) continue;
    accepted++;
    // What was understood does not depend on how it came.
    expect(understood(read(text, true, 1)), `seed ${seed}`).toBe(understood(read(text, true, 2)));
    const [head = ''] = JSON.parse(got) as string[];
    expect(head, `seed ${seed}`).not.toMatch(/[\r\n\0]/);
  }
  expect(accepted).toBeGreaterThan(cases / 6);
});
