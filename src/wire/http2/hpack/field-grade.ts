/** How a field is treated. Grades of pseudo-fields are above 0, one bit each. */
export const FieldGrade = {
  /** The field is passed on. */
  FIELD: 0,
  /** A byte of its name or value is forbidden: the field is left out, and the section stays valid. */
  DROPPED: -1,
  /** The field makes the whole section malformed (RFC 9113, 8.1.1). */
  MALFORMED: -2,
  /** Passed on, and the codec needs its value: `content-length`, or `priority` of a request. */
  LENGTH: -3,
  PRIORITY: -4,
  METHOD: 0x1,
  SCHEME: 0x2,
  PATH: 0x4,
  AUTHORITY: 0x8,
  PROTOCOL: 0x10,
  STATUS: 0x20,
} as const;
export type FieldGrade = (typeof FieldGrade)[keyof typeof FieldGrade];

const { FIELD, DROPPED, MALFORMED } = FieldGrade;
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const UPPER_CASE = /[A-Z]/;
/** A field value: visible characters, obs-text, and blanks inside (RFC 9110, 5.5). */
const VALUE = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
const LENGTH = /^\d{1,15}$/;
/** RFC 3986, 3.1. */
const SCHEME = /^[a-z][a-z0-9+.-]*$/i;
/** Fields that belong to an HTTP/1.1 connection (RFC 9113, 8.2.2). */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'],
]);
const REQUEST_PSEUDO: ReadonlyMap<string, FieldGrade> = new Map([
  [':method', FieldGrade.METHOD],
  [':scheme', FieldGrade.SCHEME],
  [':path', FieldGrade.PATH],
  [':authority', FieldGrade.AUTHORITY],
  [':protocol', FieldGrade.PROTOCOL],
]);

/** Grades a field of a response on its own, as nghttp2 does. */
export function gradeResponseField(name: string, value: string): FieldGrade {
  if (name.startsWith(':')) return name === ':status' ? FieldGrade.STATUS : MALFORMED;
  if (UPPER_CASE.test(name) || belongsToConnection(name, value)) return MALFORMED;
  if (NAME.test(name) && VALUE.test(value)) return FIELD;
  // If content-length were dropped, a body of any length would count as complete.
  return name === 'content-length' ? MALFORMED : DROPPED;
}

/** Grades a field of a request on its own, as strictly as over HTTP/1.1: what is refused there is malformed. */
export function gradeRequestField(name: string, value: string): FieldGrade {
  if (!VALUE.test(value)) return MALFORMED;
  if (name.startsWith(':')) {
    if (name === ':scheme' && !SCHEME.test(value)) return MALFORMED;
    // RFC 9113, 8.3.1: only the value of :authority may be empty.
    return (value === '' && name !== ':authority' ? null : REQUEST_PSEUDO.get(name)) ?? MALFORMED;
  }
  if (!NAME.test(name) || belongsToConnection(name, value)) return MALFORMED;
  if (name === 'content-length') return LENGTH.test(value) ? FieldGrade.LENGTH : MALFORMED;
  return name === 'priority' ? FieldGrade.PRIORITY : FIELD;
}

function belongsToConnection(name: string, value: string): boolean {
  return CONNECTION_FIELDS.has(name) || (name === 'te' && value !== 'trailers');
}
