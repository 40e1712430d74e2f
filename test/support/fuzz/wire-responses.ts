import type { Random } from '../random.ts';
import { blanks, bodyText, fieldLines, inChunks, text } from './message-parts.ts';
import { mutate } from './mutate.ts';

/** What an upstream sends on a connection for one request, up to its closing it. */
export interface WireResponse {
  readonly method: string;
  readonly bytes: Buffer;
}

/** A response like many or like none, mostly valid, sometimes mutated. The same for the same random numbers. */
export function wireResponse(random: Random): WireResponse {
  const method = random.chance(0.1) ? 'HEAD' : 'GET';
  let text = '';
  while (random.chance(0.12)) text += interim(random);
  text += finalResponse(method, random);
  if (random.chance(0.03)) text += 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned';
  const bytes = Buffer.from(text, 'latin1');
  return { method, bytes: random.chance(0.3) ? mutate(bytes, random) : bytes };
}

function interim(random: Random): string {
  const status = random.pick(['100 Continue', '102 Processing', '103 Early Hints', '199 ']);
  return `HTTP/1.1 ${status}\r\n${fieldLines(random, 2)}\r\n`;
}

function finalResponse(method: string, random: Random): string {
  const minor = random.chance(0.08) ? 0 : 1;
  const status = random.chance(0.15)
    ? random.pick([204, 304])
    : random.pick([200, 200, 201, 302, 404, 500, 503, 599]);
  const start = `HTTP/1.${minor} ${status} ${random.chance(0.2) ? text(random, 12) : 'OK'}\r\n`;
  const bodiless = method === 'HEAD' || status === 204 || status === 304;
  const body = bodyText(random);
  const framing = status === 204 ? 2 : random.below(minor === 0 ? 8 : 18);
  if (framing < 2) return `${start}${fieldLines(random, 3)}\r\n${bodiless ? '' : body}`;
  if (status === 204) return `${start}${fieldLines(random, 3)}\r\n`;
  if (framing < 9) {
    const length = `${random.pick(['Content-Length', 'content-length', 'CONTENT-LENGTH'])}:${blanks(random)}${body.length}`;
    return `${start}${fieldLines(random, 2)}${length}\r\n${fieldLines(random, 2)}\r\n${bodiless ? '' : body}`;
  }
  const coding = `${random.pick(['Transfer-Encoding', 'transfer-encoding'])}: ${random.pick(['chunked', 'Chunked'])}\r\n`;
  return `${start}${fieldLines(random, 2)}${coding}${fieldLines(random, 2)}\r\n${bodiless ? '' : inChunks(body, random)}`;
}
