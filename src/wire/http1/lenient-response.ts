import { allValues, withoutFields } from '../../core/index.ts';
import { CR, LF, MalformedMessage, PartialHead } from './message.ts';
import { type ResponseHead, readResponseHead } from './response-head.ts';

// Rewrites what old servers send against RFC 9112 before the strict readers see it: lines that end without CR, zeros before a
// length, and framing fields repeated with the same value, as when both framework and application set them. For upstreams with
// `lenient: true` only: requests are always read strictly.

/**
 * Returns the position after the first empty line, or -1 if there is none yet.
 *
 * @param from where to start
 */
export function lenientSectionEnd(bytes: Uint8Array, end: number, from = 0): number {
  for (let at = bytes.indexOf(LF, from); at >= 0 && at < end; at = bytes.indexOf(LF, at + 1)) {
    const next = bytes[at + 1] === CR ? at + 2 : at + 1;
    if (next < end && bytes[next] === LF) return next + 1;
  }
  return -1;
}

/** Ends every line of a section in CRLF. A CR elsewhere stays, and is rejected. */
export function strictSection(text: string): string {
  return text.replace(/\r?\n/g, '\r\n');
}

/** As `readResponseHead`; returns `null` until the head is complete. */
export function readLenientHead(bytes: Buffer, end: number): ResponseHead | null {
  const sectionEnd = lenientSectionEnd(bytes, end);
  if (sectionEnd < 0) return null;
  const text = strictSection(bytes.toString('latin1', 0, sectionEnd));
  const strict = Buffer.from(text, 'latin1');
  const head = readResponseHead(strict, strict.length, text);
  if (head === null) throw new MalformedMessage('a head that ends too early');
  return { ...head, fields: withoutDoubles(head.fields), bytes: sectionEnd };
}

function withoutDoubles(fields: readonly string[]): readonly string[] {
  return withOne('Transfer-Encoding', withOne('Content-Length', withoutZeros(fields)));
}

/** Joins the values of a field if all are equal. Other values stay, and are rejected. */
function withOne(name: string, fields: readonly string[]): readonly string[] {
  const said = allValues(fields, name.toLowerCase()).flatMap(value => value.split(','));
  const [first = '', ...others] = said.map(value => value.trim());
  if (others.length === 0 || others.some(other => other !== first)) return fields;
  return [...withoutFields(fields, each => each.toLowerCase() === name.toLowerCase()), name, first];
}

/** Removes zeros before a length: servers that fill it in last reserve space for it. */
function withoutZeros(fields: readonly string[]): readonly string[] {
  const isLength = (at: number) => fields[at]?.toLowerCase() === 'content-length';
  return fields.map((text, i) => (i % 2 === 1 && isLength(i - 1) ? text.replace(/^0+(?=\d)/, '') : text));
}

/** A `PartialHead` for a head whose lines may end without CR. */
export class LenientPartialHead extends PartialHead {
  protected override hasEnd(bytes: Buffer, from: number): boolean {
    return lenientSectionEnd(bytes, bytes.length, from) >= 0;
  }
}
