import type { Decision } from '../../limits/index.ts';
import type { Claim } from '../../runtime/index.ts';
import type { Exchange } from '../exchange/index.ts';
import type { GatewayState } from '../gateway-state.ts';
import type { Hold } from '../held-requests.ts';
import type { GateResult } from './gate.ts';

type Conclude = (decision: Decision) => GateResult;

/** Decides as ever, but holds a request that would be refused with a wait of at most `patienceMs`. */
export function decidePatiently(
  exchange: Exchange,
  claim: Claim,
  { limiting: { store }, held }: GatewayState,
  patienceMs: number,
  conclude: Conclude,
): GateResult | Promise<GateResult> {
  const decide = () => store.decide(claim.set, claim.caller, claim.main);
  const holding = { claim, patienceMs, decide };
  const behind = held.behindOthers(holding, conclude);
  if (behind !== null) return waitFor(exchange, behind);
  const holdOrConclude = (decision: Decision) => {
    const hold = held.afterRefusal(holding, decision, conclude);
    return hold === null ? conclude(decision) : waitFor(exchange, hold);
  };
  const decision = decide();
  return decision instanceof Promise ? decision.then(holdOrConclude) : holdOrConclude(decision);
}

function waitFor(exchange: Exchange, hold: Hold<GateResult>): Promise<GateResult> {
  // It may have ended while the store decided.
  if (exchange.response.isSettled) hold.leave();
  const heldAtMs = exchange.clock.monotonicMs();
  exchange.leaveLine = () => {
    exchange.leaveLine = null;
    exchange.heldMs = exchange.clock.monotonicMs() - heldAtMs;
    hold.leave();
  };
  return hold.result.finally(() => exchange.leaveLine?.());
}
