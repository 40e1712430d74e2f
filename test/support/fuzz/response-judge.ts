import {
  type Framing,
  header,
  MessageReader,
  type Response,
  responseFraming,
  Violation,
  values,
  type WireFields,
} from '../wire/index.ts';

/** What a careful reader makes of an upstream's bytes. */
export interface ReferenceResponse {
  /**
   * - `whole`: one final response, complete
   * - `until close`: one that is complete when the connection closes
   * - `part`: the beginning of one
   * - `refused`: no response, or one that breaks its framing; `status` is 0 where not even its head is one
   */
  readonly kind: 'whole' | 'until close' | 'part' | 'refused';
  readonly status: number;
  readonly fields: WireFields;
  readonly body: string;
  /** Bytes behind its end. */
  readonly rest: number;
  /** It has something that readers may take in more than one way, so that a gateway may also refuse it. */
  readonly odd: boolean;
}

const STATUS_LINE = /^HTTP\/(\d\.\d) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;

export function readResponse(bytes: Buffer, method: string): ReferenceResponse {
  let rest: Buffer | null = bytes;
  // RFC 9112 section 2.2 lets a reader take a bare LF for the end of a line, and undici's does; and of a reason phrase
  // that came in two reads it knows only the second part.
  let odd = /(^|[^\r])\n|\r(?!\n)|^HTTP[^\r\n]*[\x00-\x1f\x7f]/m.test(bytes.toString('latin1'));
  for (;;) {
    let status = 0;
    let fields: WireFields = [];
    let untilClose = false;
    let body = '';
    const head = (startLine: string, found: WireFields): Framing => {
      const match = STATUS_LINE.exec(startLine);
      if (match === null) throw new Violation('status line');
      odd ||= match[1] !== '1.1' || match[3] === undefined || Number(match[2]) > 599 || match[2] === '100';
      const bodiless = Number(match[2]) < 200 || match[2] === '204';
      const framing = bodiless ? 0 : responseFraming(Number(match[2]), method, found);
      untilClose = framing === 'close';
      if (match[2] === '101') throw new Violation('an upgrade that was not requested');
      [status, fields] = [Number(match[2]), found];
      return framing;
    };
    const take = (piece: Buffer): void => {
      body += piece.toString('latin1');
    };
    const reader = new MessageReader({ head, data: take }, { chunkExtensions: true });
    const result = (kind: ReferenceResponse['kind'], behind: number): ReferenceResponse => ({
      ...{ kind, status, fields, body, rest: behind, odd },
    });
    try {
      const trimmed = withoutEmptyLines(rest);
      odd ||= trimmed.length < rest.length;
      rest = reader.push(trimmed);
    } catch (error) {
      if (error instanceof Violation) return result('refused', 0);
      throw error;
    }
    if (rest === null) return result(untilClose ? 'until close' : 'part', 0);
    if (status >= 200) return result('whole', rest.length);
  }
}

function withoutEmptyLines(bytes: Buffer): Buffer {
  let at = 0;
  while (bytes[at] === 13 || bytes[at] === 10) at++;
  return bytes.subarray(at);
}

/** What is wrong with the response that a client got, given what its upstream sent; null: nothing. */
export function judgeResponse(
  response: Response,
  reference: ReferenceResponse,
  plain: boolean,
): string | null {
  if (header(response, 'content-type') === 'application/json') {
    if (plain) return `a plain response became ${response.status}`;
    // A service's own 429 may get the body of the gateway's (contract, 4.8).
    const may = reference.status === 429 ? [429, 502, 504] : [502, 504];
    return may.includes(response.status) ? null : `an error of its own with ${response.status}`;
  }
  if (reference.status === 0) return reference.odd ? null : 'a response where the upstream sent none';
  if (response.status !== reference.status) return `status ${response.status} for ${reference.status}`;
  const marks = values(reference.fields, 'x-answer').join();
  if (values(response.fields, 'x-answer').join() !== marks && marks !== '')
    return 'fields of another response';
  const body = response.body.toString('latin1');
  // RFC 9110, 15.3.6: the gateway leaves out whatever an upstream sends behind the head of a 205.
  if (response.status === 205) return body === '' ? null : 'a 205 with a body';
  if (!reference.body.startsWith(body)) return 'a body of another response';
  const isWhole = reference.kind === 'whole' || reference.kind === 'until close';
  if (response.complete && !isWhole) return 'a whole response where the upstream sent a part';
  if (response.complete && body !== reference.body) return 'a part of the body, as if it were the whole';
  if (!response.complete && isWhole && reference.rest === 0 && !reference.odd)
    return 'a whole response broken off';
  return null;
}
