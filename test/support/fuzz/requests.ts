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
    '/b',
    '/b/c?d',
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
/** Of the routes with hosts, in other spellings, and what some server reads as one of them. */
const HOSTS = [
  ...[
    'a.test',
    'A.Test',
    'a.test.',
    'a.test:80',
    'a.test.:08080',
    'b.test',
    'B.TEST.:1',
    'localhost',
    '127.0.0.1',
  ],
  ...[
    'x.w.test',
    'X.W.test.',
    'x.y.w.test',
    'w.test',
    '.w.test',
    '*.w.test',
    'xn--bcher-kva.w.test',
    'a_b.w.test',
  ],
  ...[
    'a.test..',
    'a..test',
    '..a.test',
    '.',
    '',
    'a.test:',
    'a.test:80:81',
    'a.test:65536',
    'a.test:-1',
    ':80',
  ],
  ...[
    'a.test@b.test',
    'b.test@a.test',
    'u:p@a.test',
    'a.test:80@b.test',
    'a.test, b.test',
    'a.test b.test',
    'a.test\tb.test',
  ],
  ...[
    'a%2etest',
    '%61.test',
    'a.test%00',
    'a.test/b',
    'a.test/../b.test',
    'a.test#b',
    'a.test?b',
    'a.test\\b.test',
    'a.test;b',
  ],
  ...[
    '\xe4.w.test',
    'b\xc3\xbccher.w.test',
    'a\xe3\x80\x82test',
    '\xef\xbd\x81.test',
    '[::1]',
    '[::1]:80',
    '[0:0::1]',
    '[a.test]',
  ],
  ...[
    '[::1%25lo]',
    '[::1',
    '::1',
    '[::1]a.test',
    'http://a.test',
    '\ta.test\t',
    '"a.test"',
    "a.test'",
    '0x7f.1',
    '-.test',
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
  const path = random.chance(0.6) ? '/a/b' : random.pick(TARGETS);
  const host = someHost(random);
  const isAbsolute = path.startsWith('/') && random.chance(0.1);
  const target = isAbsolute ? `http://${random.chance(0.7) ? host : someHost(random)}${path}` : path;
  const lines = [`${random.pick(METHODS)} ${target} HTTP/1.${random.chance(0.95) ? 1 : 0}`, `Host: ${host}`];
  if (random.chance(0.02)) lines.push(`Host: ${someHost(random)}`);
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

function someHost(random: Random): string {
  return random.chance(0.6)
    ? random.pick(['gateway.test', 'a.test', 'b.test', 'x.w.test'])
    : random.pick(HOSTS);
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
