import { isIPv6 } from 'node:net';

// RFC 9110, 7.2 and RFC 3986, 3.2: a name or IPv4 address (reg-name without escapes) or a bracketed IPv6 address, then
// optionally a port up to 65535. No user, comma or path: proxies and backends disagree about those.
const HOST =
  /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?:[0-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5]))?$/i;

/** Whether every server reads this `Host` value as the same host and port. */
export function isPlainHost(host: string): boolean {
  if (host.length > 255 || !HOST.test(host)) return false;
  return !host.startsWith('[') || isIPv6(host.slice(1, host.indexOf(']')));
}
