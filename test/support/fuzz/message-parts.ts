import type { Random } from '../random.ts';

const TOKEN_CHARACTERS = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const NAMES = ['X-A', 'Set-Cookie', 'Date', 'ETag', 'Content-Type', 'Via', 'Vary', 'Server', '__proto__'];
const CONNECTIONS = ['keep-alive', 'close', 'Keep-Alive, X-A', 'X-A', 'upgrade'];

/** Up to this many field lines, each with its CRLF. */
export function fieldLines(random: Random, most: number): string {
  let lines = '';
  for (let count = random.below(most + 1); count > 0; count--) {
    if (random.chance(0.1)) lines += `Connection: ${random.pick(CONNECTIONS)}\r\n`;
    else lines += `${fieldName(random)}:${blanks(random)}${text(random, 10)}${blanks(random)}\r\n`;
  }
  return lines;
}

function fieldName(random: Random): string {
  if (random.chance(0.7)) return random.pick(NAMES);
  let name = '';
  for (let length = 1 + random.below(6); length > 0; length--)
    name += TOKEN_CHARACTERS[random.below(TOKEN_CHARACTERS.length)];
  return name;
}

/** Visible characters and bytes above 0x7f, with a blank inside now and then. */
export function text(random: Random, most: number): string {
  let value = '';
  for (let length = random.below(most + 1); length > 0; length--) {
    const code = random.chance(0.2) ? 0x80 + random.below(0x80) : 0x21 + random.below(0x5e);
    value += random.chance(0.1) && value !== '' && length > 1 ? ' ' : String.fromCharCode(code);
  }
  return value;
}

/** What may surround a field's value. */
export function blanks(random: Random): string {
  return random.pick([' ', ' ', ' ', '', '  ', '\t', ' \t ']);
}

/** Mostly short, so that every split can be tried; sometimes longer than one read. */
export function bodyText(random: Random): string {
  if (random.chance(0.01))
    return random
      .bytes(1 + random.below(100))
      .toString('latin1')
      .repeat(1 + random.below(3_000));
  if (random.chance(0.05)) return random.bytes(random.below(6_000)).toString('latin1');
  if (random.chance(0.1)) return random.pick(['0\r\n\r\n', 'HTTP/1.1 200 OK\r\n\r\n', '\r\n\r\n']);
  return random.bytes(random.below(24)).toString('latin1');
}

/** A body in chunks of all sizes, some with extensions, some with trailers. */
export function inChunks(body: string, random: Random): string {
  let chunks = '';
  for (let at = 0; at < body.length; ) {
    const size = 1 + random.below(random.chance(0.3) ? 4 : body.length - at);
    const piece = body.slice(at, at + size);
    chunks += `${chunkSize(piece.length, random)}${extension(random)}\r\n${piece}\r\n`;
    at += size;
  }
  const trailers = random.chance(0.2) ? fieldLines(random, 2) : '';
  return `${chunks}${random.pick(['0', '0', '00'])}${extension(random)}\r\n${trailers}\r\n`;
}

function chunkSize(size: number, random: Random): string {
  const digits = size.toString(16);
  const cased = random.chance(0.3) ? digits.toUpperCase() : digits;
  return random.chance(0.1) ? `0${cased}` : cased;
}

function extension(random: Random): string {
  return random.chance(0.93) ? '' : random.pick([';a', ';a=b', ';a="b c"', ';a;b=1', ';a="\\""']);
}
