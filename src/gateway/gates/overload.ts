import type { Exchange } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import { errors } from '../responses/index.ts';
import type { GateResult } from './gate.ts';

/** Step 3: refuses requests while the process is too overloaded to serve them in time. */
export function pressure(_exchange: Exchange, { overload }: GatewayState): GateResult {
  return overload.admits() ? null : errors.fallenBehind();
}

/** Step 3: enforces the caps on requests in flight, in total and per address. */
export function capacity(exchange: Exchange, { permits }: GatewayState): GateResult {
  const { requests, requestsPerAddress } = exchange.snapshot.caps;
  const none = permits.take(
    exchange.addressKey,
    requests,
    requestsPerAddress,
    exchange.arrival.client.owners,
  );
  if (none !== null) return errors.overloaded(none === 'share taken' ? 'requests_per_address' : 'requests');
  exchange.hasPermit = true;
  return null;
}
