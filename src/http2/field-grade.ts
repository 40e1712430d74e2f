/** What becomes of a field of a response. */
export type FieldGrade =
  /** The field is passed on. */
  | 'field'
  /** The field is `:status`. */
  | 'status'
  /** A byte of its name or value is forbidden: the field is left out, and the section stays valid. */
  | 'dropped'
  /** The field makes the whole section malformed (RFC 9113, 8.1.1). */
  | 'malformed';

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const UPPER_CASE = /[A-Z]/;
/** A field value: visible characters, obs-text, and blanks inside (RFC 9110, 5.5). */
const VALUE = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
/** Fields that belong to a connection of HTTP/1.1 (RFC 9113, 8.2.2). */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'],
]);

/** Judges a field by itself, as nghttp2 does. */
export function gradeResponseField(name: string, value: string): FieldGrade {
  if (name.startsWith(':')) return name === ':status' ? 'status' : 'malformed';
  if (UPPER_CASE.test(name) || CONNECTION_FIELDS.has(name)) return 'malformed';
  if (name === 'te' && value !== 'trailers') return 'malformed';
  if (NAME.test(name) && VALUE.test(value)) return 'field';
  // If content-length were dropped, a body of any length would count as whole.
  return name === 'content-length' ? 'malformed' : 'dropped';
}
