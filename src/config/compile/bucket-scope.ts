import { GRPC, type RoutePattern } from '../../routing/index.ts';
import type { BucketModel, ScopeReason } from '../model/index.ts';

/**
 * Says what the scope of a bucket follows from, unless the bucket says it itself: how many routes its lines of limits.yaml cover. A
 * parameter stands for the values of one route. A wildcard covers many: `/v1/**` whole paths, and `package.Service/*` methods, which
 * are the routes of gRPC.
 */
export function scopeReason(lines: readonly RoutePattern[]): ScopeReason {
  if (lines.length > 1) return 'several_lines';
  return lines.some(coversSeveral) ? 'wildcard' : 'one_line';
}

/** @param written what the bucket says itself */
export function scopeOf(
  written: BucketModel['scope'] | undefined,
  reason: ScopeReason,
): BucketModel['scope'] {
  return written ?? (reason === 'one_line' ? 'user' : 'shared');
}

function coversSeveral({ methods, segments }: RoutePattern): boolean {
  const last = segments.at(-1)?.kind;
  return last === 'rest' || (methods?.[0] === GRPC && last === 'parameter');
}
