import type { IncomingHttpHeaders } from 'node:http';
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
  const name = /^(\[[0-9A-Fa-f:.]+\]|[^:]+)(?::\d{1,5})?$/.exec(host)?.[1] ?? '';
  return name.toLowerCase() === 'localhost' || isLoopback(name.replace(/^\[|\]$/g, ''));
}
