import { Violation } from './violation.ts';

/** Header or trailer fields as they came: name, value, name, value. One character is one byte (latin-1). */
export type WireFields = readonly string[];

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const FIELD_LINE = new RegExp(`^(${TOKEN}):[ \\t]*([\\t\\x20-\\x7e\\x80-\\xff]*)$`);

/**
 * The fields of a header or trailer section, its lines already split at CRLF. Refuses everything that two readers could
 * understand differently: bare CR or LF, folded lines, blanks before the colon, control bytes (RFC 9112 section 5).
 */
export function parseFields(lines: readonly string[]): string[] {
  const fields: string[] = [];
  for (const line of lines) {
    const match = FIELD_LINE.exec(line);
    if (match === null) throw new Violation(`field line ${JSON.stringify(line.slice(0, 200))}`);
    fields.push(match[1] ?? '', (match[2] ?? '').replace(/[ \t]+$/, ''));
  }
  return fields;
}

/** All values of that name, in any letter case, in their order. */
export function values(fields: WireFields, name: string): string[] {
  const lower = name.toLowerCase();
  const found: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i]?.toLowerCase() === lower) found.push(fields[i + 1] ?? '');
  }
  return found;
}

/** The value of a field that may come once; undefined without it. Throws where it came twice. */
export function value(fields: WireFields, name: string): string | undefined {
  const found = values(fields, name);
  if (found.length > 1) throw new Violation(`${name} came ${found.length} times`);
  return found[0];
}

/** The names as they were written. */
export function names(fields: WireFields): string[] {
  return fields.filter((_, i) => i % 2 === 0);
}
