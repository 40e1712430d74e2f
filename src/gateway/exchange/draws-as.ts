import type { CallerClass } from '../../config/index.ts';
import type { Draws } from '../../core/index.ts';
import { drawsOf } from '../../runtime/index.ts';
import type { Destination } from './destination.ts';

/** What a request of a caller of this class draws on, by the policies of its route. */
export function drawsAs(
  callerClass: CallerClass,
  { kind, route, authentication, isPreflight }: Destination,
): Draws {
  // An OPTIONS about the gateway itself asks for nothing, and costs next to nothing.
  if (kind === 'options' && route === null) return 'none';
  // A preflight carries no token, so its route's policies do not apply to it.
  if (isPreflight || route === null) return 'global';
  return drawsOf(authentication, callerClass, route.kind === 'forward' && route.globalLimitExempt);
}
