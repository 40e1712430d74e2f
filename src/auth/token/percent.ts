/** Printable ASCII without the percent sign. */
const PLAIN = /^[\x21-\x24\x26-\x7e]*$/;

/**
 * Encodes text for a header field: the percent sign and everything outside 0x21-0x7e become `%XX` of their UTF-8 bytes.
 * Different texts stay different.
 */
export function percentEncode(text: string): string {
  if (PLAIN.test(text)) return text;
  let out = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    const plain = byte >= 0x21 && byte <= 0x7e && byte !== 0x25;
    out += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}
