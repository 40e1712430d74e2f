/**
 * Header or trailer fields as they travel: name, value, name, value, in the order and letter case of the wire. Every
 * character of a string is one byte (latin-1), so bytes above 0x7f pass unharmed.
 */
export type Fields = readonly string[];

/** Names of fields, in lower case. */
export type FieldNames = ReadonlySet<string>;

export const NO_NAMES: FieldNames = new Set();

/** The value of the first field of that name (given in lower case), or undefined. */
export function firstValue(fields: Fields, lowerName: string): string | undefined {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i];
    if (name?.length === lowerName.length && name.toLowerCase() === lowerName) return fields[i + 1];
  }
  return undefined;
}
