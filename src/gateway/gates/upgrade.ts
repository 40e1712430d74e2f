import type { ForwardRoute } from '../../config/index.ts';
import { mayConnect } from '../../http/index.ts';
import { judgeHandshake } from '../../websocket/index.ts';
import type { Exchange } from '../exchange/index.ts';
import { badRequest, foreignOrigin, otherVersion, upgradeNotServed } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Accepts only upgrades that the route serves. They have their own pool because they last long. */
export function judgeUpgrade(exchange: Exchange): GateResult {
  const { downstream, destination } = exchange;
  if (downstream.framing.upgrade === 'none') return null;
  exchange.protocol = downstream.framing.upgrade;
  const { route } = destination;
  if (route?.kind !== 'forward' || route.websocket === null) return upgradeNotServed();
  const fault = judgeHandshake(downstream.method, exchange.bodyLength, exchange.head.kept);
  if (fault === 'version') return otherVersion();
  if (fault !== null) return badRequest(fault.refused);
  if (!mayUse(exchange, route)) return foreignOrigin();
  if (destination.kind === 'forward') exchange.destination = { ...destination, pool: route.websocket.pool };
  return null;
}

/**
 * Browsers open WebSockets without a preflight and send cookies with them. Only this check keeps other sites' pages out
 * (RFC 6455, 10.2).
 */
function mayUse({ snapshot, head, downstream }: Exchange, route: ForwardRoute): boolean {
  if (snapshot.cors === null || !route.cors) return true;
  // Reads all fields, not only those kept: naming Origin in `Connection` must not hide it (RFC 9110, 7.6.1).
  return mayConnect(snapshot.cors, downstream.fields, head.forwardedHost ?? head.host ?? '');
}
