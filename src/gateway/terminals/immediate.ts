import { addTrace, askedMethod, preflightFields } from '../../http/index.ts';
import { isRoutable } from '../../routing/index.ts';
import type { Exchange, OptionsHere, PreflightHere, Redirected, Served } from '../exchange/index.ts';
import { addOwnFields, badRequest, noRoute, USUAL_METHODS } from '../responses/index.ts';

/** Serves an OPTIONS that goes no further: lists the methods. */
export function serveOptions(exchange: Exchange, { route, path }: OptionsHere): Served {
  const { routes } = exchange.snapshot;
  // OPTIONS is one of them, since this answers it.
  const isServed = (method: string) =>
    route === null || method === 'OPTIONS' || routes.find(method, path) !== null;
  const fields = ['Allow', USUAL_METHODS.filter(isServed).join(', ')];
  addOwnFields(fields, exchange, exchange.rate);
  return exchange.response.finish('answered', 204, 'No Content', fields, '');
}

/** Answers a preflight. Allows no method if it asks for one that the route does not serve. */
export function servePreflight(exchange: Exchange, destination: PreflightHere): Served {
  const { kept } = exchange.head;
  const asked = askedMethod(kept);
  const served = asked !== null && serves(exchange, destination, asked) ? asked : null;
  const fields = [...preflightFields(destination.cors, kept, served)];
  addTrace(fields, exchange.requestId);
  return exchange.response.finish('answered', 204, 'No Content', fields, '');
}

function serves({ snapshot }: Exchange, { route, path }: PreflightHere, method: string): boolean {
  if (route.kind !== 'forward') return route.methods.includes(method);
  return isRoutable(method) && snapshot.routes.find(method, path)?.value === route;
}

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
