/**
 * Header or trailer fields: name, value, name, value, in the order and letter case of the wire. Every character of a string is
 * one byte (latin-1), so bytes above 0x7f pass unharmed.
 */
export type Fields = readonly string[];

/** Names of fields, in lower case. */
export type FieldNames = ReadonlySet<string>;

export const NO_NAMES: FieldNames = new Set();

/** The value of the first field with that name (given in lower case), or undefined. */
export function firstValue(fields: Fields, lowerName: string): string | undefined {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i];
    if (name?.length === lowerName.length && name.toLowerCase() === lowerName) return fields[i + 1];
  }
  return undefined;
}

/** The values of all fields with that name (given in lower case), in order. */
export function allValues(fields: Fields, lowerName: string): string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    if (name.length === lowerName.length && name.toLowerCase() === lowerName)
      values.push(fields[i + 1] as string);
  }
  return values;
}

/** The members of a list that may span several fields (RFC 9110, 5.6.1), without empty ones. */
export function listMembers(fields: Fields, lowerName: string): string[] {
  const members = allValues(fields, lowerName).flatMap(value => value.split(','));
  return members.map(member => member.trim()).filter(member => member !== '');
}

/**
 * Returns the fields in a new array, without those whose name `isDropped` selects. It gets names in the letter case of the wire.
 */
export function withoutFields(fields: Fields, isDropped: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    if (!isDropped(name)) kept.push(name, fields[i + 1] as string);
  }
  return kept;
}

/** The longest wait announced to clients: longer than a month of 31 days in which clocks are set back. */
export const MAX_RETRY_AFTER_MS = 32 * 86_400_000;
/** The longest wait that every client can keep: `Retry-After` in 16 bits. */
export const MAX_COMMON_WAIT_MS = 65_535_000;

/** The field `Retry-After` for a wait: whole seconds. */
export function retryAfterField(waitMs: number): Fields {
  return ['Retry-After', String(Math.min(MAX_RETRY_AFTER_MS / 1_000, wholeSeconds(waitMs)))];
}

/** Rounds a wait up to whole seconds, at least 1: a client that comes back earlier is refused again. */
export function wholeSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1_000));
}
