import { value, values, type WireFields } from './fields.ts';
import { Violation } from './violation.ts';

/** How long a body is: a number of bytes (0: no body), chunked, or until the connection closes. */
export type Framing = number | 'chunked' | 'close';

/** A request's framing, refusing every doubtful pair of headers (RFC 9112 section 6.3). */
export function requestFraming(fields: WireFields): Framing {
  return declaredFraming(fields) ?? 0;
}

/** The framing of a response with that status to a request with that method. */
export function responseFraming(status: number, method: string, fields: WireFields): Framing {
  const declared = declaredFraming(fields);
  if (status < 200 || status === 204) {
    if (declared !== undefined) throw new Violation(`${status} with a framing header (RFC 9110 section 8.6)`);
    return 0;
  }
  if (method === 'HEAD' || status === 304) return 0;
  return declared ?? 'close';
}

function declaredFraming(fields: WireFields): Framing | undefined {
  const codings = values(fields, 'transfer-encoding');
  const length = value(fields, 'content-length');
  if (codings.length > 0) {
    if (length !== undefined) throw new Violation('both Content-Length and Transfer-Encoding');
    if (codings.length > 1 || codings[0]?.toLowerCase() !== 'chunked') {
      throw new Violation(`Transfer-Encoding ${JSON.stringify(codings)}`);
    }
    return 'chunked';
  }
  if (length === undefined) return undefined;
  if (!/^(0|[1-9]\d{0,14})$/.test(length)) throw new Violation(`Content-Length ${JSON.stringify(length)}`);
  return Number(length);
}
