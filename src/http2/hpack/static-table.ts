/** RFC 7541, A: names and values in turn; the first has the index 1. */
const ENTRIES = [
  ...[':authority', '', ':method', 'GET', ':method', 'POST', ':path', '/', ':path', '/index.html'],
  ...[':scheme', 'http', ':scheme', 'https', ':status', '200', ':status', '204', ':status', '206'],
  ...[':status', '304', ':status', '400', ':status', '404', ':status', '500', 'accept-charset', ''],
  ...['accept-encoding', 'gzip, deflate', 'accept-language', '', 'accept-ranges', '', 'accept', ''],
  ...['access-control-allow-origin', '', 'age', '', 'allow', '', 'authorization', '', 'cache-control', ''],
  ...['content-disposition', '', 'content-encoding', '', 'content-language', '', 'content-length', ''],
  ...['content-location', '', 'content-range', '', 'content-type', '', 'cookie', '', 'date', '', 'etag', ''],
  ...['expect', '', 'expires', '', 'from', '', 'host', '', 'if-match', '', 'if-modified-since', ''],
  ...['if-none-match', '', 'if-range', '', 'if-unmodified-since', '', 'last-modified', '', 'link', ''],
  ...['location', '', 'max-forwards', '', 'proxy-authenticate', '', 'proxy-authorization', '', 'range', ''],
  ...['referer', '', 'refresh', '', 'retry-after', '', 'server', '', 'set-cookie', ''],
  ...['strict-transport-security', '', 'transfer-encoding', '', 'user-agent', '', 'vary', '', 'via', ''],
  ...['www-authenticate', ''],
];

/** The names of the entries 1 to 61; the one of 0 is empty. */
export const STATIC_NAMES: readonly string[] = ['', ...ENTRIES.filter((_, i) => i % 2 === 0)];
export const STATIC_VALUES: readonly string[] = ['', ...ENTRIES.filter((_, i) => i % 2 === 1)];
/** The index of the first entry of the dynamic table. */
export const FIRST_DYNAMIC = STATIC_NAMES.length;
/** What an entry takes beside its bytes (RFC 7541, 4.1). */
export const ENTRY_OVERHEAD = 32;
