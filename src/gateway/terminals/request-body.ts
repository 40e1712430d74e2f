import { type ForwardRoute, MIN_BODY_RATE } from '../../config/index.ts';
import type { BodySource } from '../../core/index.ts';
import type { Exchange } from '../exchange/index.ts';
import { errors } from '../responses/index.ts';
import { AwaitedBody } from './awaited-body.ts';
import { BufferedBody } from './buffered-body.ts';
import { KeptBody } from './kept-body.ts';

/**
 * The body for the upstream: a short one can be sent again. `null` for none.
 *
 * @param special the same as `awaitedBody` or `bufferedBody` has made it, if it is such a one
 */
export function bodyFor(
  exchange: Exchange,
  route: ForwardRoute,
  special: BodySource | null,
): BodySource | null {
  const { bodyLength, destination } = exchange;
  // Preflights need no token, so only their fields are forwarded, without a body.
  if (bodyLength === 0 || destination.isPreflight) return null;
  const body = special ?? translatedBody(exchange, route);
  const { replayBytes } = route.upstream;
  const isLong = replayBytes === 0 || (bodyLength !== 'chunked' && bodyLength > replayBytes);
  return isLong ? body : new KeptBody(body, replayBytes);
}

/** The body if its client waits for the service's word before it sends it, else `null`. */
export function awaitedBody(exchange: Exchange, route: ForwardRoute): AwaitedBody | null {
  const { downstream, bodyLength, clock } = exchange;
  if (!route.passesExpect || bodyLength === 0 || isBuffered(exchange, route)) return null;
  if (downstream.framing.expectation !== 'continue') return null;
  return new AwaitedBody(translatedBody(exchange, route), clock, act => exchange.contain(act));
}

/** The body if it is read whole before the upstream is asked, else `null`. */
export function bufferedBody(exchange: Exchange, route: ForwardRoute): BufferedBody | null {
  const { downstream } = exchange;
  if (!isBuffered(exchange, route)) return null;
  return new BufferedBody(downstream.body(route.body), route.upstream.bufferBytes, {
    keeps: bytes => downstream.keeps(bytes),
    ready: () => exchange.contain(() => exchange.upstreamLeg?.bodyReady()),
  });
}

function isBuffered({ bodyLength, translation, destination }: Exchange, { upstream }: ForwardRoute): boolean {
  const { bufferBytes } = upstream;
  if (bufferBytes === 0 || bodyLength === 0 || translation !== null || destination.isPreflight) return false;
  return bodyLength === 'chunked' || bodyLength <= bufferBytes;
}

function translatedBody(exchange: Exchange, { body: terms }: ForwardRoute): BodySource {
  const { downstream, translation } = exchange;
  if (translation === null) return downstream.body(terms);
  const body = downstream.body({ ...terms, minBytesPerS: MIN_BODY_RATE });
  return translation.requestBody(body, why => exchange.fault(errors.badCall(why)));
}
