import { METHODS } from 'node:http';
import type { Random } from '../random.ts';
import { blanks, bodyText, fieldLines, inChunks } from './message-parts.ts';
import { mutate } from './mutate.ts';
import { woundFraming } from './wound-framing.ts';

const USUAL_METHODS = ['GET', 'GET', 'POST', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'];
const OTHER_METHODS = METHODS.filter(method => method !== 'CONNECT');
const CONNECTIONS = ['keep-alive', 'Keep-Alive', 'keep-alive, X-A', 'X-A', 'upgrade', 'TE, X-A'];
const EMPTY_LINES = ['\r\n', '\r\n', '\r\n\r\n'];
/** Node's server skips them before a request as well; ours refuses them. */
const ODD_LINES = ['\n', '\r', '\r\r\n', '\n\r', '\r\n\n'];
/** What a target of visible characters is made of, without those that the gateway refuses in a path. */
const PATH_CHARACTERS = 'abcXYZ019-._~!$&\'()*+,;=:@[]{}|^`"<>';

/** What a client sends on a connection. */
export interface WireRequests {
  readonly bytes: Buffer;
  /** Nothing was changed, only empty lines stand between requests, and every target is made of visible characters. */
  readonly plain: boolean;
}

/** One to three requests on one connection, mostly valid, sometimes mutated. The same for the same random numbers. */
export function wireRequests(random: Random): WireRequests {
  const lines = random.chance(0.95) ? EMPTY_LINES : ODD_LINES;
  let text = random.chance(0.05) ? random.pick(lines) : '';
  for (let count = 1 + random.below(3); count > 0; count--) {
    text += request(random);
    if (random.chance(0.08)) text += random.pick(lines);
  }
  const bytes = Buffer.from(text, 'latin1');
  if (random.chance(0.59)) return { bytes, plain: lines === EMPTY_LINES };
  if (random.chance(0.02)) return { bytes: withAnyTarget(bytes, random), plain: false };
  return { bytes: random.chance(0.7) ? woundFraming(bytes, random) : mutate(bytes, random), plain: false };
}

/** A first target of a few bytes, whichever. */
function withAnyTarget(bytes: Buffer, random: Random): Buffer {
  const target = random.bytes(1 + random.below(4)).toString('latin1');
  return Buffer.from(
    bytes.toString('latin1').replace(/ [^ ]* HTTP/, () => ` ${target} HTTP`),
    'latin1',
  );
}

function request(random: Random): string {
  const { method, target } = methodAndTarget(random);
  const minor = random.chance(0.06) ? 0 : 1;
  const start = `${method} ${target} HTTP/1.${minor}\r\n`;
  const host = random.chance(0.99)
    ? `${random.pick(['Host', 'Host', 'host', 'HOST'])}:${blanks(random)}a.test\r\n`
    : '';
  const before = `${start}${usualFields(random, 2)}${host}${options(random, minor)}${usualFields(random, 2)}`;
  const framing = random.below(minor === 0 ? 6 : 10);
  if (framing < 3) return `${before}\r\n`;
  const body = bodyText(random);
  if (framing < 6) {
    const name = random.pick(['Content-Length', 'content-length', 'CONTENT-LENGTH']);
    return `${before}${name}:${blanks(random)}${body.length}${blanks(random)}\r\n${usualFields(random, 1)}\r\n${body}`;
  }
  const coding = `${random.pick(['Transfer-Encoding', 'transfer-encoding'])}:${random.pick([' ', '', '  '])}${random.pick(['chunked', 'Chunked'])}\r\n`;
  return `${before}${coding}${usualFields(random, 1)}\r\n${inChunks(body, random)}`;
}

/** RFC 9112, 3.2: a path with or without a query mostly, and each other form now and then. */
function methodAndTarget(random: Random): { method: string; target: string } {
  const method = random.chance(0.8) ? random.pick(USUAL_METHODS) : random.pick(OTHER_METHODS);
  const form = random.below(100);
  if (form === 0) return { method: 'CONNECT', target: 'a.test:443' };
  if (form === 1) return { method: 'OPTIONS', target: '*' };
  if (form < 8) return { method, target: `http://a.test${path(random)}` };
  return { method, target: path(random) };
}

function path(random: Random): string {
  if (random.chance(0.5)) return random.pick(['/', '/a', '/a/b', '/a?b=c', '/%61', '/a%20b?c=%00&d']);
  let text = '/a';
  for (let length = random.below(8); length > 0; length--)
    text += PATH_CHARACTERS[random.below(PATH_CHARACTERS.length)];
  return random.chance(0.3) ? `${text}?${text}/?` : text;
}

/** Fields that say nothing about the connection or the body. */
function usualFields(random: Random, most: number): string {
  return fieldLines(random, most).replace(/^Connection: .*\r\n/gm, 'X-B:\tb\tc\r\n');
}

/** What a request may say about its connection and how it waits for a response. */
function options(random: Random, minor: number): string {
  let lines = '';
  if (random.chance(minor === 0 ? 0.6 : 0.08)) lines += `Connection: ${random.pick(CONNECTIONS)}\r\n`;
  if (random.chance(0.02)) lines += 'Connection: close\r\n';
  if (random.chance(0.04)) lines += 'Expect: 100-continue\r\n';
  if (random.chance(0.02)) lines += 'Upgrade: h2c\r\n';
  return lines;
}
