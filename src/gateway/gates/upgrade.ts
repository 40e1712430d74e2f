import type { ForwardRoute } from '../../config/index.ts';
import { mayConnect } from '../../http/index.ts';
import { judgeHandshake } from '../../websocket/index.ts';
import type { Exchange } from '../exchange/index.ts';
import { badRequest, foreignOrigin, otherVersion, upgradeNotServed } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** An upgrade has to be one that its route serves. It draws on a pool of its own, since it stays for long. */
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
 * Browsers ask nobody before they open a WebSocket, and send cookies along: only this keeps the pages of others out
 * (RFC 6455, 10.2).
 */
function mayUse({ snapshot, head }: Exchange, route: ForwardRoute): boolean {
  if (snapshot.cors === null || !route.cors) return true;
  return mayConnect(snapshot.cors, head.kept, head.forwardedHost ?? head.host ?? '');
}
