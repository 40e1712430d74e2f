import {
  type Answer,
  answerFraming,
  type Framing,
  header,
  MessageReader,
  Violation,
  values,
  type WireFields,
} from '../wire/index.ts';

/** What a careful reader makes of an upstream's bytes. */
export interface ReferenceAnswer {
  /**
   * - `whole`: one final answer, complete
   * - `until close`: one that is complete when the connection closes
   * - `part`: the beginning of one
   * - `refused`: no answer, or one that breaks its framing; `status` is 0 where not even its head is one
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

export function readAnswer(bytes: Buffer, method: string): ReferenceAnswer {
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
      const framing = bodiless ? 0 : answerFraming(Number(match[2]), method, found);
      untilClose = framing === 'close';
      if (match[2] === '101') throw new Violation('an upgrade that was not asked for');
      [status, fields] = [Number(match[2]), found];
      return framing;
    };
    const take = (piece: Buffer): void => {
      body += piece.toString('latin1');
    };
    const reader = new MessageReader({ head, data: take }, { chunkExtensions: true });
    const result = (kind: ReferenceAnswer['kind'], behind: number): ReferenceAnswer => ({
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

/** What is wrong with the answer that a client got, given what its upstream sent; null: nothing. */
export function judgeAnswer(answer: Answer, reference: ReferenceAnswer, plain: boolean): string | null {
  if (header(answer, 'content-type') === 'application/json') {
    if (plain) return `a plain answer became ${answer.status}`;
    return [502, 504].includes(answer.status) ? null : `an error of its own with ${answer.status}`;
  }
  if (reference.status === 0) return reference.odd ? null : 'an answer where the upstream sent none';
  if (answer.status !== reference.status) return `status ${answer.status} for ${reference.status}`;
  const marks = values(reference.fields, 'x-answer').join();
  if (values(answer.fields, 'x-answer').join() !== marks && marks !== '') return 'fields of another answer';
  const body = answer.body.toString('latin1');
  if (!reference.body.startsWith(body)) return 'a body of another answer';
  const isWhole = reference.kind === 'whole' || reference.kind === 'until close';
  if (answer.complete && !isWhole) return 'a whole answer where the upstream sent a part';
  if (answer.complete && body !== reference.body) return 'a part of the body, as if it were the whole';
  if (!answer.complete && isWhole && reference.rest === 0 && !reference.odd)
    return 'a whole answer broken off';
  return null;
}
