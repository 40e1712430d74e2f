import { isIPv4, isIPv6 } from 'node:net';

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/**
 * Parses `host:port`: a name, an IPv4 address or a bracketed IPv6 address, and a port from 0 to 65535.
 *
 * @param defaultPort used if `:port` is missing; undefined: the port is required
 * @returns the host without brackets; undefined: the text is not `host:port`
 */
export function parseHostPort(text: string, defaultPort?: number): HostPort | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
  if (match === null) return undefined;
  const [, v6, name, digits] = match;
  const port = digits === undefined ? defaultPort : Number(digits);
  if (port === undefined || port > 65535) return undefined;
  if (v6 !== undefined) return isIPv6(v6) ? { host: v6, port } : undefined;
  return name !== undefined && isHost(name) ? { host: name, port } : undefined;
}

/** Formats `host:port`, with an IPv6 address in brackets. */
export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function isHost(name: string): boolean {
  if (isIPv4(name)) return true;
  // RFC 1123, 2.1 limits the lengths. Underscores are not allowed in host names, but many service names have them.
  if (name.length > 253 || !/^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?\.?$/.test(name)) return false;
  const labels = name.replace(/\.$/, '').split('.');
  // A name that ends in a number is a mistyped IPv4 address: `256.1.1.1`, `10.1`, `0x7f.1`.
  if (/^(\d+|0[xX][0-9A-Fa-f]*)$/.test(labels.at(-1) ?? '')) return false;
  return labels.every(label => label.length > 0 && label.length <= 63);
}
