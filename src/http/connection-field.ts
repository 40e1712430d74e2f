const NONE: readonly string[] = [];

/**
 * The field names, in lower case, that a `Connection` value declares to belong to this hop only; `close` and
 * `keep-alive` are no fields and left out. RFC 9110, 7.6.1.
 */
export function connectionTokens(value: string): readonly string[] {
  if (value === 'keep-alive' || value === 'close' || value === 'Keep-Alive') return NONE;
  return value
    .toLowerCase()
    .split(',')
    .map(token => token.trim())
    .filter(token => token !== '' && token !== 'close' && token !== 'keep-alive');
}

/** Whether a `Connection` value holds this option, given in lower case. RFC 9110, 7.6.1: their letter case says nothing. */
export function hasToken(value: string, option: string): boolean {
  return (
    value === option ||
    value
      .toLowerCase()
      .split(',')
      .some(token => token.trim() === option)
  );
}
