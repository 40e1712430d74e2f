import type { GatewayError } from '../../core/index.ts';
import { type Exchange, errors } from '../../gateway/index.ts';
import type { ListenerState } from './client-connection.ts';
import type { Http1Downstream } from './http1-downstream.ts';

/** After the last response, further bytes from the client are discarded until it pauses for this long. */
const LINGER_MS = 2_000;
/** Lingering ends after this time, even if the client keeps sending. */
const LINGER_MAX_MS = 5_000;
/** How long an exchange may stall after the client closed its side: it may have closed only its sending half. */
const HALF_CLOSED_MS = 1_000;
/** How long an idle connection is kept while draining: its client may just have sent a request. */
const DRAIN_IDLE_MS = 1_000;
/** An idle connection is kept this much longer than announced, to serve a request sent at the last moment. */
const KEEP_ALIVE_GRACE_MS = 1_000;

interface Wait {
  readonly nowMs: number;
  /** How long no byte was transferred. */
  readonly waitedMs: number;
  /** True if the body misses its rate or its deadline. */
  readonly isTooSlow: boolean;
  readonly readsTooSlowly: boolean;
  /** True if a part of a head has arrived. */
  readonly insideHead: boolean;
  readonly halfClosed: boolean;
}

/**
 * - an error: the client is late; answer with this
 * - `close`: the client is late; close without a response
 * - `not awaited`: the gateway is not waiting for the client, so its time restarts
 * - `null`: the client is in time
 */
type Lateness = GatewayError | 'close' | 'not awaited' | null;

export function clientLateness(phase: Http1Phase, state: ListenerState, wait: Wait): Lateness {
  const { nowMs, waitedMs, isTooSlow } = wait;
  switch (phase.name) {
    case 'head':
      return latenessOfHead(phase.sinceMs, state, wait);
    case 'exchange':
      return latenessInExchange(phase.downstream, state, wait);
    case 'discarding body':
      return closeIf(isTooSlow || waitedMs > state.timeouts.clientBodyIdleMs);
    case 'lingering':
      return closeIf(waitedMs >= LINGER_MS || nowMs - phase.sinceMs >= LINGER_MAX_MS);
    case 'closed':
      return closeIf(waitedMs >= LINGER_MS);
  }
}

function latenessOfHead(
  sinceMs: number | null,
  { timeouts, draining }: ListenerState,
  { nowMs, waitedMs, insideHead }: Wait,
): Lateness {
  if (sinceMs !== null && nowMs - sinceMs > timeouts.clientHeaderMs) return errors.clientTooSlow();
  const idleMs = draining ? DRAIN_IDLE_MS : timeouts.keepAliveMs + KEEP_ALIVE_GRACE_MS;
  return closeIf(!insideHead && waitedMs > idleMs);
}

function latenessInExchange(
  { awaitsReader, awaitsClient }: Http1Downstream,
  { timeouts }: ListenerState,
  { waitedMs, isTooSlow, readsTooSlowly, halfClosed }: Wait,
): Lateness {
  if (isTooSlow) return errors.bodyTooSlow();
  if (halfClosed) return closeIf(waitedMs >= HALF_CLOSED_MS);
  if (awaitsReader) return closeIf(readsTooSlowly);
  if (!awaitsClient) return 'not awaited';
  return waitedMs > timeouts.clientBodyIdleMs ? errors.clientTooSlow() : null;
}

function closeIf(late: boolean): Lateness {
  return late ? 'close' : null;
}

/**
 * What a client's connection over HTTP/1.1 is doing.
 *
 * - `head` to `exchange`: a head is complete
 * - `head` to `lingering`: the bytes are not a request, or came too late; an error was sent
 * - `exchange` to `head`: the response is delivered, and the request was read to its end
 * - `exchange` to `discarding body`: the response is delivered, and some of the request has yet to come
 * - `exchange` to `lingering`: the response was the last on this connection, and the client may still be sending
 * - `exchange` to `closed`: the response was the last, and nothing is unread; or a WebSocket takes the socket
 * - `discarding body` to `head`: the body has ended
 * - `discarding body` to `lingering`: the rest of the body is malformed or too large
 * - any to `closed`: the client has disconnected, is late or holds too much
 */
export type Http1Phase =
  /**
   * Waiting for a request, or inside its head, which began at `sinceMs`. For the first head that is when the connection was
   * accepted: a client that sends nothing is also slow.
   */
  | { readonly name: 'head'; readonly sinceMs: number | null }
  /** A request is being answered. Its body may still be coming in. */
  | { readonly name: 'exchange'; readonly exchange: Exchange; readonly downstream: Http1Downstream }
  /** The request was answered before the end of its body, which is read and discarded. */
  | { readonly name: 'discarding body' }
  /** The last response was sent. Further bytes are read and discarded: left unread, they would reset the connection. */
  | { readonly name: 'lingering'; readonly sinceMs: number }
  /** Nothing is read any more, and the socket is closed or closing. */
  | { readonly name: 'closed' };

export const BETWEEN_REQUESTS: Http1Phase = { name: 'head', sinceMs: null };
export const DISCARDING_BODY: Http1Phase = { name: 'discarding body' };
export const CLOSED: Http1Phase = { name: 'closed' };
