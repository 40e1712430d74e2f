/** What a field of a response section is worth. */
export type FieldGrade =
  /** It is passed on. */
  | 'field'
  /** The pseudo-field of a response. */
  | 'status'
  /** A byte of its name or value is forbidden. It is left out, and the rest of the section is good. */
  | 'dropped'
  /** It makes the whole section malformed (RFC 9113, 8.1.1). */
  | 'malformed';

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const UPPER_CASE = /[A-Z]/;
/** RFC 9110, 5.5: visible characters, obs-text, and blanks inside. */
const VALUE = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
/** RFC 9113, 8.2.2. */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'],
]);

/** Judges a field by itself, as nghttp2 does. */
export function gradeResponseField(name: string, value: string): FieldGrade {
  if (name.startsWith(':')) return name === ':status' ? 'status' : 'malformed';
  if (UPPER_CASE.test(name) || CONNECTION_FIELDS.has(name)) return 'malformed';
  if (name === 'te' && value !== 'trailers') return 'malformed';
  if (NAME.test(name) && VALUE.test(value)) return 'field';
  // Without it, a body of any length would be whole.
  return name === 'content-length' ? 'malformed' : 'dropped';
}
