import type { Random } from '../random.ts';
import { mutate } from './mutate.ts';

const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'QUERY'];
const TARGETS = [
  ...[
    '/',
    '/a',
    '/a/b?c=d',
    '/%61',
    '/a%3ab',
    '/a?b=/../c',
    '/a;b',
    '/a/../b',
    '//a',
    '/a%2fb',
    '*',
    '/a#b',
    '/\xe9',
  ],
  ...[
    'http://gateway.test/a',
    'http://other.test/a',
    '/a/%2e%2e/b',
    '/...',
    '/a\\b',
    '/a/',
    '/a',
    '/%41/%62/',
    '/A;x/b',
    '/a%3B/b?a',
    '/aa/b',
    '/a/a/b',
    '/A',
    '/%zz',
    '/%7e',
  ],
];
const FIELDS = [
  ...[
    'X-Forwarded-For: forged',
    'x_forwarded_for: forged',
    'X-Forwarded-Proto: forged',
    'X-Forwarded-Host: forged',
  ],
  ...[
    'Forwarded: for=forged',
    'X-Real-IP: forged',
    'True-Client-IP: forged',
    'X-Request-Id: forged',
    'Proxy: forged',
  ],
  ...[
    'X-Auth-Subject: forged',
    'X-HTTP-Method-Override: forged',
    'X-Original-URL: /forged',
    'X_Rewrite_URL: /forged',
  ],
  ...[
    'X.Forwarded~For: forged',
    "X'Real'IP: forged",
    'X!Auth|Subject: forged',
    'Content.Length: 3',
    'Transfer~Encoding: chunked',
  ],
  ...[
    'Connection: X-Forwarded-For, X-Request-Id',
    'Connection: close',
    'Connection: keep-alive',
    'Connection: Host',
  ],
  ...[
    'TE: trailers',
    'Trailer: X-Forwarded-For',
    'Keep-Alive: timeout=5',
    'Proxy-Connection: keep-alive',
    'Upgrade: h2c',
  ],
  ...[
    'Expect: 100-continue',
    'Cookie: a=b',
    'X-Long: '.padEnd(300, 'x'),
    'X-High: \xe9\xff',
    'Accept: */*',
    'X-Empty:',
  ],
];
const BODIES = [
  '',
  'hello',
  'GET /smuggled HTTP/1.1\r\nHost: gateway.test\r\n\r\n',
  '0\r\n\r\n',
  'x'.repeat(500),
];

/** A request like many, seldom quite right, often mutated: the same for the same random numbers. */
export function fuzzRequest(random: Random): Buffer {
  const bytes = Buffer.from(plainRequest(random), 'latin1');
  return random.chance(0.65) ? mutate(bytes, random) : bytes;
}

function plainRequest(random: Random): string {
  const target = random.chance(0.6) ? '/a/b' : random.pick(TARGETS);
  const lines = [
    `${random.pick(METHODS)} ${target} HTTP/1.${random.chance(0.95) ? 1 : 0}`,
    'Host: gateway.test',
  ];
  for (let count = random.below(4); count > 0; count--) lines.push(random.pick(FIELDS));
  const body = random.pick(BODIES);
  switch (random.below(4)) {
    case 0:
      return `${[...lines, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`;
    case 1:
      return `${[...lines, 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n${chunks(body, random)}`;
    default:
      return `${lines.join('\r\n')}\r\n\r\n`;
  }
}

function chunks(body: string, random: Random): string {
  let text = '';
  for (let at = 0; at < body.length; ) {
    const chunk = body.slice(at, at + 1 + random.below(body.length));
    const extension = random.chance(0.1) ? ';a=b' : '';
    text += `${chunk.length.toString(16)}${extension}\r\n${chunk}\r\n`;
    at += chunk.length;
  }
  const trailer = random.chance(0.1) ? 'X-Forwarded-For: forged\r\n' : '';
  return `${text}0\r\n${trailer}\r\n`;
}
