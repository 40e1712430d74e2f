const NONE: readonly string[] = [];

/**
 * The field names, in lower case, that a `Connection` value limits to this hop; `close` and `keep-alive` are not field
 * names and left out. RFC 9110, 7.6.1.
 */
export function hopFieldNames(value: string): readonly string[] {
  if (value === 'keep-alive' || value === 'close' || value === 'Keep-Alive') return NONE;
  return optionsOf(value).filter(option => option !== '' && option !== 'close' && option !== 'keep-alive');
}

/** Whether a `Connection` value holds this option, given in lower case. Options ignore letter case (RFC 9110, 7.6.1). */
export function hasOption(value: string, option: string): boolean {
  if (value.length <= option.length) return value === option || value.toLowerCase() === option;
  return optionsOf(value).includes(option);
}

function optionsOf(value: string): string[] {
  return value.toLowerCase().split(',').map(withoutBlanks);
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
