const NONE: readonly string[] = [];
const KEEP_ALIVE: readonly string[] = ['keep-alive'];
const CLOSE: readonly string[] = ['close'];

/** The options of a `Connection` value, in lower case: they ignore letter case (RFC 9110, 7.6.1). Empty ones are left out. */
export function connectionOptions(value: string): readonly string[] {
  // Nearly all values are one of these.
  if (value === 'keep-alive' || value === 'Keep-Alive') return KEEP_ALIVE;
  if (value === 'close') return CLOSE;
  return value
    .toLowerCase()
    .split(',')
    .map(withoutBlanks)
    .filter(option => option !== '');
}

/** Those of the options that name fields, which end at this hop; `close` and `keep-alive` name none. */
export function hopFieldNames(options: readonly string[]): readonly string[] {
  if (options === KEEP_ALIVE || options === CLOSE) return NONE;
  return options.filter(option => option !== 'close' && option !== 'keep-alive');
}

/**
 * Trims spaces and tabs only (RFC 9110, 5.6.3), where `trim` would also drop 0xa0. Written by hand: a pattern for trailing
 * blanks takes quadratic time over a value with many blanks in the middle.
 */
function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}
