import { refusesSemicolons } from '../../config/index.ts';
import { type Fields, GatewayError } from '../../core/index.ts';
import { askedAddress, keepsPaths, readDestination, servicePath } from '../../wire/http/index.ts';
import type { Exchange, To } from '../exchange/index.ts';
import { errors } from '../responses/index.ts';

/**
 * Translates the `Destination` of a MOVE or COPY like the path of the request, for a service that gets other paths than clients
 * send. It must lead to the same route: a client must not reach paths of the service outside of the route.
 */
export function translateDestination(
  exchange: Exchange,
  { route }: To<'forward'>,
  fields: Fields,
): Fields | GatewayError {
  const { method } = exchange.downstream;
  const { hostHeader } = route.upstream;
  if ((method !== 'MOVE' && method !== 'COPY') || keepsPaths(route)) return fields;
  const { hostAndPort } = exchange.arrival;
  const { host } = askedAddress(exchange.head, hostAndPort, exchange.downstream.scheme);
  const sent = fields.slice();
  for (let i = 0; i + 1 < sent.length; i += 2) {
    if ((sent[i] as string).toLowerCase() !== 'destination') continue;
    const named = readDestination(sent[i + 1] as string, host);
    if (named === 'elsewhere') return elsewhere();
    if ('rejected' in named) return errors.badCall(`in Destination ${named.rejected}`);
    const { path, query, semicolon } = named.target;
    if (semicolon && refusesSemicolons(route))
      return errors.badCall('the path in Destination contains a semicolon');
    const found = exchange.snapshot.routes.find(method, exchange.host, path);
    if (found === null || !('id' in found.value) || found.value.id !== route.id) return elsewhere();
    const origin = named.scheme === '' ? '' : `${named.scheme}//${hostHeader ?? hostAndPort}`;
    sent[i + 1] = origin + servicePath(path, route) + query;
  }
  return sent;
}

/** RFC 4918, 9.8.5 and 9.9.4: the destination is in another part of the namespace, which does not accept the resource. */
function elsewhere(): GatewayError {
  return new GatewayError({
    status: 502,
    message: 'Destination leads elsewhere than the path of this request.',
  });
}
