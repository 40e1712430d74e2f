import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { isLoopback } from './loopback.ts';

/** The part of a request that says who sent it. */
export interface AdminRequest {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/**
 * Whether a browser sends this for a page of another origin. Browsers name that in `Sec-Fetch-Site`; older ones send `Origin`
 * with everything but GET and HEAD. Neither can be set by a page (Fetch Standard, "forbidden request-header").
 */
export function isOfForeignPage({ headers }: AdminRequest): boolean {
  const site = headers['sec-fetch-site'];
  // "none": the person typed the address.
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin } = headers;
  return origin !== undefined && origin !== `http://${headers.host}` && origin !== `https://${headers.host}`;
}

/**
 * Whether `Host` names this machine itself. Another name may be a page's own that leads to 127.0.0.1 (DNS rebinding): to a
 * browser, the page and this listener are one origin then.
 */
export function namesLoopback({ headers: { host = '' } }: AdminRequest): boolean {
  const name = hostName(host);
  return isLocalhost(name) || isLoopback(name);
}

/**
 * Whether `Host` is a name that may be a page's own. A page can lead no address elsewhere, and a browser always sends `Host`; proxies
 * on this machine may send the address that they were asked at, and simple health checks nothing.
 */
export function mayBeNameOfPage({ headers: { host } }: AdminRequest): boolean {
  if (host === undefined) return false;
  const name = hostName(host);
  return !isLocalhost(name) && isIP(name) === 0;
}

/** The name or address in a `Host`, without brackets and port; '' if it is none. */
function hostName(host: string): string {
  const name = /^(\[[0-9A-Fa-f:.]+\]|[^:]+)(?::\d{1,5})?$/.exec(host)?.[1] ?? '';
  return name.replace(/^\[|\]$/g, '');
}

function isLocalhost(name: string): boolean {
  return name.toLowerCase() === 'localhost';
}
