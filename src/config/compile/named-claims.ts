import { isClaimed, type Quota } from '../../limits/index.ts';
import { claimsIn } from '../policies/index.ts';
import type { BucketConfig, LimitsConfig } from '../schema/index.ts';
import type { GatewayConfig } from '../settings/index.ts';

/**
 * Returns the claims that routes and limits read from verified tokens, in addition to those that `access_tokens` names: each once
 * and in order. Callers keep these of their tokens.
 */
export function namedClaims({ routes }: GatewayConfig, limits: LimitsConfig): readonly string[] {
  const { groups, numbers } = claimsInLimits(limits);
  const ofRoutes = routes.flatMap(({ request_headers: edits }) => claimsIn(edits));
  return inOrder([...ofRoutes, ...groups, ...numbers]);
}

/** The claims that limits depend on: those that distinguish groups, and those that set numbers. Each once, in order. */
export function claimsInLimits({ buckets }: Pick<LimitsConfig, 'buckets'>): {
  readonly groups: readonly string[];
  readonly numbers: readonly string[];
} {
  const quotas = Object.values(buckets).flatMap(bucket =>
    typeof bucket.shadow === 'boolean' ? [bucket] : [bucket, bucket.shadow],
  );
  return {
    groups: inOrder(quotas.flatMap(({ group }) => group?.claim ?? [])),
    numbers: inOrder(quotas.flatMap(numberClaims)),
  };
}

function numberClaims({ user, bot, classes = {} }: Pick<BucketConfig, 'user' | 'bot' | 'classes'>): string[] {
  return [user, bot, ...Object.values(classes)].flatMap((quota: Quota | undefined) =>
    quota !== undefined && isClaimed(quota) ? [quota.claim] : [],
  );
}

function inOrder(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}
