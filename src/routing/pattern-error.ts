/** A pattern that cannot be meant; the message names the place and what to write instead. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}
