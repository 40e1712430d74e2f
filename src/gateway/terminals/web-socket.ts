import type { ByteStream, Fields } from '../../core/index.ts';
import { hasExtensions, judgeSwitch } from '../../websocket/index.ts';
import type { Exchange, ValidToken } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { recordOf } from '../ledger.ts';
import { upstreamFailed } from '../responses/index.ts';
import { type SocketSender, WebSocketSession } from './web-socket-session.ts';

/** A handshake that the upstream agreed to. */
export interface AgreedHandshake {
  /** The fields that went upstream, and those that came back. */
  readonly asked: Fields;
  readonly answered: Fields;
  /** Those for the client, but for the two that switch. */
  readonly out: string[];
  /** The upstream's end. */
  readonly stream: ByteStream;
}

/** Answers 101 and joins both ends. From there on the exchange is over, and a session in its place. */
export function openWebSocket(exchange: Exchange, state: GatewayState, handshake: AgreedHandshake): void {
  const { asked, answered, out, stream } = handshake;
  const { route } = exchange.destination;
  const fault = judgeSwitch(asked, answered);
  if (fault !== null || route?.kind !== 'forward' || route.websocket === null) {
    stream.destroy();
    exchange.answerError(upstreamFailed(new Error(fault ?? 'an upgrade that was not asked for')));
    return;
  }
  out.push('Connection', 'Upgrade', 'Upgrade', 'websocket');
  const session = new WebSocketSession(state, stream, {
    idleMs: route.websocket.idleMs,
    extended: hasExtensions(answered),
    closeAtExpiry: route.closeAtExpiry,
    address: exchange.arrival.address,
    sender: exchange.token === null ? null : senderOf(exchange.token),
    startedAtMs: exchange.startedAtMs,
  });
  if (!exchange.response.switchTo(out, session)) {
    stream.destroy();
    return;
  }
  // Nothing of the exchange stays: it does not count as a request any more, and may outlive many configurations.
  state.inFlight--;
  if (exchange.hasAddressPermit) state.addressPermits.giveBack(exchange.addressKey);
  state.listener.switched(route.upstream.name);
  exchange.lasted = exchange.ruling !== null;
  const record = recordOf(exchange, state.clock.monotonicMs());
  if (exchange.lasted) state.listener.lasting(record);
  session.begun(record, exchange.upstreamPermit);
}

/** The token itself is not kept. */
function senderOf({ caller, client, verifier }: ValidToken): SocketSender {
  return { caller, client, verifier };
}
