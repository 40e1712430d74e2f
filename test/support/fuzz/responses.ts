import type { Random } from '../random.ts';
import { mutate } from './mutate.ts';

/** What an upstream sends for one request. */
export interface FuzzResponse {
  readonly method: 'GET' | 'HEAD';
  readonly bytes: Buffer;
  /** Nothing was changed: it is a response that every reader takes. */
  readonly plain: boolean;
}

const STATUS_LINES = [
  ...[
    'HTTP/1.1 200 OK',
    'HTTP/1.1 200 OK',
    'HTTP/1.1 404 Not Found',
    'HTTP/1.1 500 Oh no',
    'HTTP/1.1 200 ',
    'HTTP/1.0 200 OK',
  ],
  ...['HTTP/1.1 204 No Content', 'HTTP/1.1 304 Not Modified', 'HTTP/1.1 299 a\xe9b'],
];
const FIELDS = [
  ...[
    'X-A: b',
    'X-A:',
    'x-a:b',
    'X-B: \xe9\xff',
    'Set-Cookie: a=b; Path=/',
    'Set-Cookie: c=d',
    'Connection: keep-alive',
  ],
  ...[
    'Connection: close',
    'Connection: X-A',
    'Keep-Alive: timeout=5',
    'Trailer: X-T',
    'Date: x',
    'Via: 1.1 other',
  ],
];
const INTERIM = ['HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', 'HTTP/1.1 102 Processing\r\n\r\n'];
const BODIES = [
  '',
  'hello',
  'x'.repeat(700),
  'HTTP/1.1 200 OK\r\nContent-Length: 8\r\nX-Answer: 0\r\n\r\npoisoned',
  '0\r\n\r\n',
];

/** A typical response, often mutated, with `number` in its X-Answer. The same for the same random numbers. */
export function fuzzResponse(number: number, random: Random): FuzzResponse {
  const method = random.chance(0.1) ? 'HEAD' : 'GET';
  const text = plainResponse(number, method, random);
  const plain = random.chance(0.3);
  const bytes = Buffer.from(text, 'latin1');
  return { method, plain, bytes: plain ? bytes : mutate(bytes, random) };
}

function plainResponse(number: number, method: string, random: Random): string {
  const lines = [random.pick(STATUS_LINES), `X-Answer: ${number}`];
  for (let count = random.below(4); count > 0; count--) lines.push(random.pick(FIELDS));
  const interim = random.chance(0.1) ? random.pick(INTERIM) : '';
  const withoutBody = method === 'HEAD' || / (204|304) /.test(lines[0] ?? '');
  const body = random.pick(BODIES);
  const framing = lines[0]?.startsWith('HTTP/1.0') ? random.below(2) : random.below(4);
  if (/ 204 /.test(lines[0] ?? '')) return `${interim}${lines.join('\r\n')}\r\n\r\n`;
  if (framing === 0)
    return `${interim}${[...lines, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${withoutBody ? '' : body}`;
  if (framing === 1) return `${interim}${lines.join('\r\n')}\r\n\r\n${withoutBody ? '' : body}`;
  const chunks = body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`;
  const trailer = random.chance(0.2) ? 'X-T: u\r\n' : '';
  return `${interim}${[...lines, 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n${withoutBody ? '' : `${chunks}0\r\n${trailer}\r\n`}`;
}
