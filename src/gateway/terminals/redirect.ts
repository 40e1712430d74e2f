import { addTrace } from '../../http/index.ts';
import type { Exchange, Redirected } from '../exchange/index.ts';
import { badRequest, noRoute } from '../responses/index.ts';

const HTTPS_PORT = 443;

/**
 * Sends a client on to https by a 308, with which it keeps its method and body (RFC 9110, 15.4.9). Only to a host that a certificate
 * is for: elsewhere there is no https of this gateway, and nobody can have others sent to a host of their own.
 */
export function serveRedirect(exchange: Exchange, { path, query }: Redirected): void {
  const { redirect } = exchange.snapshot.listen;
  const host = (exchange.head.host ?? '').replace(/:\d*$/, '');
  if (redirect === null || path === '*') {
    exchange.answerError(noRoute());
  } else if (redirect.hosts.find(host) === undefined) {
    exchange.answerError(badRequest('no certificate of this gateway is for the Host'));
  } else {
    const port = redirect.httpsPort === HTTPS_PORT ? '' : `:${redirect.httpsPort}`;
    const fields = ['Location', `https://${host}${port}${path}${query}`, 'Content-Length', '0'];
    addTrace(fields, exchange.requestId);
    exchange.response.finish('answered', 308, 'Permanent Redirect', fields, '');
  }
}
