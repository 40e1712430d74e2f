import { isOfFile } from '../../config/index.ts';
import { askedAddress, mayUseCookies, type TokenPlaces } from '../../wire/http/index.ts';
import type { Destination, Exchange } from '../exchange/index.ts';
import { errors } from '../responses/index.ts';

/**
 * Step 5: takes the token from where the route lets it be besides `Authorization`. From here on the target has none, whatever the
 * method and whether it counts.
 */
export function takeToken(exchange: Exchange, destination: Destination): Destination {
  const { route, query, kind } = destination;
  const places = isOfFile(route) ? route.tokenFrom : null;
  if (places === null || !isOfFile(route)) return destination;
  // The redirect repeats the query, and the client needs the token in it.
  if (kind === 'slash') return destination;
  const cleared = { ...destination, query: places.cutQuery(query) };
  const [token, second] = route.acceptsTokens ? tokensOf(exchange, places, query) : [];
  if (token === undefined) return cleared;
  if (second !== undefined || exchange.head.authorization !== null)
    return { ...cleared, refusal: destination.refusal ?? errors.badRequest('two tokens came') };
  const { identity } = exchange.snapshot;
  exchange.placedToken = identity === null ? null : `${identity.schemes[0]} ${token}`;
  return cleared;
}

function tokensOf(exchange: Exchange, places: TokenPlaces, query: string): string[] {
  const { downstream, head, arrival, snapshot } = exchange;
  // All fields, not only those that remain: `Connection` must not hide `Origin` (RFC 9110, 7.6.1).
  const { fields, method, framing, scheme } = downstream;
  const isWebSocket = framing.upgrade !== 'none';
  if (!isWebSocket && method !== 'GET' && method !== 'HEAD') return [];
  const own = askedAddress(head, arrival.hostAndPort, scheme);
  const cookies = mayUseCookies(fields, isWebSocket, own, snapshot.cors?.origins ?? NO_ORIGINS);
  return places.tokensIn({ query, fields, isWebSocket, cookies });
}

const NO_ORIGINS: ReadonlySet<string> = new Set();
