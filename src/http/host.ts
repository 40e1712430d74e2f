// RFC 9110, 7.2 and RFC 3986, 3.2: a name or IPv4 address (reg-name without escapes), or a bracketed IPv6 address, then
// perhaps a port. No user, no comma, no path: proxies and backends disagree about those.
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** Whether a `Host` value names one place, read the same by everyone. */
export function isPlainHost(host: string): boolean {
  return host.length <= 255 && HOST.test(host);
}
