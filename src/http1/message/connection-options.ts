const NONE: readonly string[] = [];

/**
 * The field names, in lower case, that a `Connection` value declares to belong to this hop only; `close` and
 * `keep-alive` are no fields and left out. RFC 9110, 7.6.1.
 */
export function connectionTokens(value: string): readonly string[] {
  if (value === 'keep-alive' || value === 'close' || value === 'Keep-Alive') return NONE;
  return membersOf(value).filter(token => token !== '' && token !== 'close' && token !== 'keep-alive');
}

/** Whether a `Connection` value holds this option, given in lower case. RFC 9110, 7.6.1: their letter case says nothing. */
export function hasToken(value: string, option: string): boolean {
  return value === option || membersOf(value).includes(option);
}

function membersOf(value: string): string[] {
  return value.toLowerCase().split(',').map(withoutBlanks);
}

/**
 * RFC 9110, 5.6.3: only spaces and tabs are blanks; what else JavaScript would trim (0xa0) is a part of the text. By hand, since
 * a pattern for the blanks at an end takes quadratic time over many in the middle.
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
