import type { RequestHead } from './request-head.ts';
import { clientPath, keepsPaths, type PathChange, readHost } from './target.ts';

/** The address a client sent its request to. */
export interface AskedAddress {
  readonly scheme: 'http' | 'https';
  /** A name or address, with a port if the client needed one. */
  readonly host: string;
}

/** Returns where the client sent its request, as reported to its service. A trusted proxy may have given any scheme or host. */
export function askedAddress(
  { forwardedProto, forwardedHost }: RequestHead,
  host: string,
  scheme: AskedAddress['scheme'],
): AskedAddress {
  // Several proxies write a list, the first one first; some use capitals.
  const proto = forwardedProto?.split(',', 1)[0]?.trim().toLowerCase();
  const isKnown = proto === 'http' || proto === 'https';
  const isHost = forwardedHost !== null && readHost(forwardedHost) !== null;
  return { scheme: isKnown ? proto : scheme, host: isHost ? forwardedHost : host };
}

/** The addresses of a request, as sent by the client and as sent to the service. */
export interface AddressChange {
  readonly paths: PathChange;
  /** The addresses where the service listens, as configured. */
  readonly endpoints: readonly { readonly host: string; readonly port: number }[];
  /** Where the request went, as `host:port`; `null` if that is the only address. */
  readonly endpoint: string | null;
  /** The path and query sent to the service. */
  readonly target: string;
  /** The `Host` sent to the service. */
  readonly host: string;
  readonly client: AskedAddress;
}

/** Translates fields of a response that contain an address of the service to the client's: `Location` and `Content-Location`. */
export function rewriteLocations(fields: string[], change: AddressChange): void {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    if (NAMES.test(name)) fields[i + 1] = clientLocation(fields[i + 1] as string, change);
  }
}

const NAMES = /^(?:content-)?location$/i;

/**
 * Returns the URL that a client has to request for a `Location` of the service. Returns it unchanged if it leads to another host,
 * or to a path outside the service's base, or if browsers read it differently from RFC 3986.
 */
export function clientLocation(location: string, change: AddressChange): string {
  if (/[\\\t]/.test(location)) return location;
  const [, scheme = '', authority, behind = ''] = /^(?:(https?):)?\/\/([^/?#]*)(.*)$/is.exec(location) ?? [];
  if (authority !== undefined) {
    if (!isOfService(readAuthority(authority, scheme), change)) return location;
    const path = clientReference(behind.startsWith('/') ? behind : `/${behind}`, change);
    return path === null ? location : `${change.client.scheme}://${change.client.host}${path}`;
  }
  // Another scheme, or the same path: valid for the client as well.
  if (/^[a-z][a-z0-9+.-]*:|^[?#]|^$/i.test(location)) return location;
  if (keepsPaths(change.paths)) return location;
  const reference = location.startsWith('/') ? location : folderOf(change.target) + location;
  return clientReference(reference, change) ?? location;
}

/** The base of a relative reference: the path up to its last slash. */
function folderOf(target: string): string {
  const question = target.indexOf('?');
  const path = question === -1 ? target : target.slice(0, question);
  return path.slice(0, path.lastIndexOf('/') + 1);
}

/** A host and port; `null` is the default port of http or https. */
interface Authority {
  readonly name: string;
  readonly port: number | null;
}

/** @param scheme '' if unknown: then both default ports are omitted */
function readAuthority(text: string, scheme = ''): Authority | null {
  const [, name, digits] = /^(\[[0-9a-f:.]+\]|[^:[\]@]+)(?::(\d{1,5}))?$/.exec(text.toLowerCase()) ?? [];
  if (name === undefined) return null;
  const isDefault = DEFAULT_PORTS[scheme.toLowerCase()] ?? /^(?:80|443)$/;
  return {
    name: name.replace(/^\[|\]$/g, ''),
    port: digits === undefined || isDefault.test(digits) ? null : Number(digits),
  };
}

const DEFAULT_PORTS: Readonly<Record<string, RegExp>> = { http: /^80$/, https: /^443$/ };

/**
 * True if the host is the service itself: the `Host` it received, the client's, an address where it listens, or that `Host` with
 * the port where it listens, as some servers write it.
 */
function isOfService(named: Authority | null, { host, client, endpoint, endpoints }: AddressChange): boolean {
  if (named === null) return false;
  const sent = readAuthority(host);
  const others = [client.host, ...(endpoint === null ? [] : [endpoint])].map(text => readAuthority(text));
  if ([sent, ...others].some(other => isSameAuthority(named, other))) return true;
  return endpoints.some(({ host, port }) => {
    const isPort = named.port === null ? port === 80 || port === 443 : port === named.port;
    return isPort && (named.name === host.toLowerCase() || named.name === sent?.name);
  });
}

function isSameAuthority(one: Authority, other: Authority | null): boolean {
  return other !== null && one.name === other.name && one.port === other.port;
}

/** Translates a path of the service, with query and fragment, to the client's; `null` if it is not under the base. */
function clientReference(reference: string, { paths }: AddressChange): string | null {
  const [, written = '', behind = ''] = /^([^?#]*)(.*)$/s.exec(reference) ?? [];
  const path = clientPath(withoutDots(written), paths);
  return path === null ? null : path + behind;
}

/**
 * Resolves dot segments, including escaped ones, as browsers do: otherwise a path could leave its base unnoticed. RFC 3986,
 * 5.2.4.
 */
function withoutDots(path: string): string {
  if (!/\/(?:\.|%2e)/i.test(path)) return path;
  const kept: string[] = [];
  const segments = path.split('/').slice(1);
  for (const [index, segment] of segments.entries()) {
    const dots = segment.replace(/%2e/gi, '.');
    if (dots !== '.' && dots !== '..') kept.push(segment);
    else {
      if (dots === '..') kept.pop();
      if (index === segments.length - 1) kept.push('');
    }
  }
  return `/${kept.join('/')}`;
}
