/** Shorter pieces are copied by the engine itself. */
const CUT_FROM = 13;

/**
 * A copy of a text, for who keeps it: a piece that was cut from a longer string keeps the whole of that alive, so a map of
 * ten thousand addresses could hold ten thousand heads of requests. For well-formed text, which is all that a request's fields and decoded
 * paths can hold.
 */
export function ownString(text: string): string {
  return text.length < CUT_FROM ? text : Buffer.from(text, 'utf8').toString('utf8');
}
