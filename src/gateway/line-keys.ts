import type { LimitRole } from '../limits/index.ts';
import type { Claim } from '../runtime/index.ts';

/** Names the counter of one of a request's limits. Only the main value may hold any character, so it is last. */
export function lineKey({ bucket, caller, main }: Claim, role: LimitRole): string {
  if (role === 'global') return `g\0${caller}`;
  const name = bucket === null ? '' : bucket.name;
  return role === 'caller' ? `c\0${name}\0${caller}\0${main}` : `r\0${name}\0${main}`;
}

/** Those of all its limits. */
export function lineKeys(claim: Claim): string[] {
  return ROLES.filter(role => claim.set[role] !== null).map(role => lineKey(claim, role));
}

const ROLES = ['global', 'caller', 'resource'] as const;
