/** An invalid pattern; the message names the place and says what to write instead. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}
