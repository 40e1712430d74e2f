import { FieldGrade, type HeaderSection } from '../hpack/index.ts';

const { METHOD, SCHEME, PATH, AUTHORITY, PROTOCOL } = FieldGrade;
const PLAIN = METHOD | SCHEME | PATH;

/** Returns why a section is not a request head (RFC 9113, 8.3.1 and 8.5; RFC 8441, 4); `null` if it is one. */
export function headFlaw(
  { fields, flaw, pseudo, length }: HeaderSection,
  ends: boolean,
  offersConnect: boolean,
): string | null {
  if (flaw !== null) return flaw;
  const isConnect = fields[fields.indexOf(':method') + 1] === 'CONNECT';
  const needed = isConnect && (pseudo & PROTOCOL) === 0 ? METHOD | AUTHORITY : PLAIN;
  if ((pseudo & needed) !== needed) return 'a request without its pseudo-fields';
  if ((pseudo & PROTOCOL) !== 0 && !(isConnect && offersConnect)) return ':protocol, which is not offered';
  if (needed !== PLAIN && (pseudo & (SCHEME | PATH)) !== 0) return 'a CONNECT with a path';
  return ends && length !== null && Number(length) > 0 ? 'less than content-length says' : null;
}

/** Returns why a section is not a trailer section (RFC 9113, 8.1; RFC 9110, 6.5.1); `null` if it is one. */
export function trailerFlaw({ flaw, pseudo, length }: HeaderSection, ends: boolean): string | null {
  if (!ends) return 'a header section inside a body';
  if (pseudo > 0) return 'a pseudo-field in trailers';
  return length === null ? flaw : 'content-length in trailers';
}
