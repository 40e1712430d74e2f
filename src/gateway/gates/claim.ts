import { type Claim, claimOn } from '../../runtime/index.ts';
import { drawsAs, type Exchange } from '../exchange/index.ts';

/** The limits that an exchange draws on; null if the value of the main parameter is ambiguous. */
export function claimOf(exchange: Exchange): Claim | null {
  const { destination, dialect, token, snapshot, downstream, callerKey: caller } = exchange;
  const { path } = destination;
  const callerClass = token === null ? 'address' : token.caller.kind;
  const draws = drawsAs(callerClass, destination);
  const method = dialect.routedMethod(downstream);
  return claimOn(snapshot.limits, { method, path, callerClass, caller, draws });
}
