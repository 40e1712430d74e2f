import type { BucketLimits, BucketModel, CallerClass } from './limits-model.ts';
import type { RouteModel } from './route-model.ts';

// What the policies of a route mean for one request. The gates decide by them, `weir check` and `weir explain` report them.

/** Whether a semicolon in a path is refused. Only a route that says so lets it pass, so it never reaches a missing route. */
export function refusesSemicolons(route: RouteModel | null): boolean {
  return route?.semicolons !== 'pass';
}

/** The classes that callers of a route may have, after authentication. */
export function callerClassesOf(
  authentication: RouteModel['authentication'],
  hasBots: boolean,
): readonly CallerClass[] {
  const known: readonly CallerClass[] = hasBots ? ['user', 'bot'] : ['user'];
  switch (authentication) {
    case 'required':
      return known;
    case 'optional':
      return [...known, 'address'];
    case 'none':
      return ['address'];
  }
}

/**
 * Whether requests of a class draw on buckets. A request without the token that its route requires draws only on the global
 * limit of its address.
 */
export function drawsOnBuckets(
  authentication: RouteModel['authentication'],
  callerClass: CallerClass,
): boolean {
  return authentication !== 'required' || callerClass !== 'address';
}

/** What this caller draws on in the bucket: by a roll-out, some callers draw on it in shadow. */
export function limitsFor(bucket: BucketModel, caller: string): BucketLimits {
  const { rollout } = bucket;
  return rollout === null || rollout.share.includes(caller) ? bucket : rollout.others;
}
