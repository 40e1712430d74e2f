import { type ForwardRoute, MIN_BODY_RATE } from '../../config/index.ts';
import type { BodySource } from '../../core/index.ts';
import type { Exchange } from '../exchange/index.ts';
import { errors } from '../responses/index.ts';
import { AwaitedBody } from './awaited-body.ts';
import { BufferedBody } from './buffered-body.ts';
import { KeptBody } from './kept-body.ts';

/**
 * The body for the upstream; `null` for none. `awaited` and `buffered`: the same body, if it is held back by the client or
 * buffered.
 */
export function bodyFor(exchange: Exchange, route: ForwardRoute) {
  const awaited = isAwaited(exchange, route) ? awaitedBody(exchange, route) : null;
  const buffered = isBuffered(exchange, route) ? bufferedBody(exchange, route) : null;
  // Preflights need no token, so only their fields are forwarded, without a body.
  const hasBody = exchange.bodyLength !== 0 && !exchange.destination.isPreflight;
  const body = hasBody
    ? keptBody(buffered ?? awaited ?? translatedBody(exchange, route), exchange, route)
    : null;
  return { body, awaited, buffered };
}

/** Whether the client waits for a 100 before it sends the body, and the service decides when to send one. */
function isAwaited(exchange: Exchange, route: ForwardRoute): boolean {
  const { downstream, bodyLength } = exchange;
  const { passesExpect } = route;
  if (!passesExpect || bodyLength === 0 || isBuffered(exchange, route)) return false;
  return downstream.framing.expectation === 'continue';
}

/** Whether the body is read to its end before the request is sent. */
function isBuffered({ bodyLength, translation, destination }: Exchange, { upstream }: ForwardRoute): boolean {
  const { bufferBytes } = upstream;
  if (bufferBytes === 0 || bodyLength === 0 || translation !== null || destination.isPreflight) return false;
  return bodyLength === 'chunked' || bodyLength <= bufferBytes;
}

function bufferedBody(exchange: Exchange, route: ForwardRoute): BufferedBody {
  const { downstream } = exchange;
  return new BufferedBody(downstream.body(route.body), route.upstream.bufferBytes, {
    keeps: bytes => downstream.keeps(bytes),
    ready: () => exchange.contain(() => exchange.upstreamLeg?.bodyReady()),
  });
}

function awaitedBody(exchange: Exchange, route: ForwardRoute): AwaitedBody {
  return new AwaitedBody(translatedBody(exchange, route), exchange.clock, act => exchange.contain(act));
}

/** Makes the body for the upstream: a short one can be sent again. */
function keptBody(body: BodySource, { bodyLength }: Exchange, route: ForwardRoute): BodySource {
  const { replayBytes } = route.upstream;
  const isLong = replayBytes === 0 || (bodyLength !== 'chunked' && bodyLength > replayBytes);
  return isLong ? body : new KeptBody(body, replayBytes);
}

function translatedBody(exchange: Exchange, { body: terms }: ForwardRoute): BodySource {
  const { downstream, translation } = exchange;
  if (translation === null) return downstream.body(terms);
  const body = downstream.body({ ...terms, minBytesPerS: MIN_BODY_RATE });
  return translation.requestBody(body, why => exchange.fault(errors.badCall(why)));
}
