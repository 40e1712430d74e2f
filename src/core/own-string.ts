/** The engine copies shorter substrings by itself. */
const CUT_FROM = 13;

/**
 * Copies a text that is to be kept: a substring keeps the whole string alive, so a map of ten thousand addresses could hold
 * ten thousand request heads. Only for well-formed text, which is all that fields and decoded paths can hold.
 */
export function ownString(text: string): string {
  return text.length < CUT_FROM ? text : Buffer.from(text, 'utf8').toString('utf8');
}
