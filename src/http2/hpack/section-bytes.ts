import { ENTRY_OVERHEAD } from './static-table.ts';

/** The size of a header section, names and values in turn, as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113, 6.5.2). */
export function sectionBytes(fields: readonly string[]): number {
  let bytes = (fields.length / 2) * ENTRY_OVERHEAD;
  for (const text of fields) bytes += text.length;
  return bytes;
}
