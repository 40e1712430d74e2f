import { addTrace } from '../../http/index.ts';
import type { Exchange, Redirected, Served } from '../exchange/index.ts';
import { badRequest, noRoute } from '../responses/index.ts';

const HTTPS_PORT = 443;

/**
 * Sends a client on to https by a 308, with which it keeps its method and body (RFC 9110, 15.4.9). Only to a host that a certificate
 * is for: elsewhere there is no https of this gateway, and nobody can have others sent to a host of their own.
 */
export function serveRedirect(exchange: Exchange, { path, query }: Redirected): Served {
  const { redirect } = exchange.snapshot.listen;
  const host = (exchange.head.host ?? '').replace(/:\d*$/, '');
  if (redirect === null || path === '*') return exchange.answerError(noRoute());
  if (redirect.hosts.find(host) === undefined)
    return exchange.answerError(badRequest('no certificate of this gateway is for the Host'));
  const port = redirect.httpsPort === HTTPS_PORT ? '' : `:${redirect.httpsPort}`;
  const fields = ['Location', `https://${host}${port}${path}${query}`, 'Content-Length', '0'];
  addTrace(fields, exchange.requestId);
  return exchange.response.finish('answered', 308, 'Permanent Redirect', fields, '');
}
