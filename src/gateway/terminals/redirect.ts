import { addTrace } from '../../http/index.ts';
import type { Exchange, Redirected, Served } from '../exchange/index.ts';
import { badRequest, noRoute } from '../responses/index.ts';

const HTTPS_PORT = 443;

/**
 * Redirects a client to https with 308, which keeps the method and body (RFC 9110, 15.4.9). Redirects only to hosts that a
 * certificate covers: other hosts have no https here, and an attacker must not be able to redirect clients to a host of choice.
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
