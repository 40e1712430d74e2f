import { values, type WireFields } from './fields.ts';
import { Violation } from './violation.ts';

export interface RequestLine {
  readonly method: string;
  /** Origin-form: path and query as written. */
  readonly target: string;
}

const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) (\/[\x21-\x7e]*) HTTP\/1\.1$/;

/** The request line that a gateway may send: a token, a target in origin-form, exactly HTTP/1.1, single blanks. */
export function parseRequestLine(line: string): RequestLine {
  const match = REQUEST_LINE.exec(line);
  if (match === null) throw new Violation(`request line ${JSON.stringify(line.slice(0, 200))}`);
  return { method: match[1] ?? '', target: match[2] ?? '' };
}

/** Exactly one Host of visible ASCII (RFC 9112 section 3.2). */
export function requireOneHost(fields: WireFields): void {
  const hosts = values(fields, 'host');
  if (hosts.length !== 1 || !/^[\x21-\x7e]+$/.test(hosts[0] ?? '')) {
    throw new Violation(`Host ${JSON.stringify(hosts)}`);
  }
}
