import { isClaimed, type Quota } from '../../limits/index.ts';
import { claimsIn } from '../policies/index.ts';
import type { BucketConfig, LimitsConfig } from './limits-schema.ts';

/**
 * Returns the claims that routes and limits read from verified tokens, in addition to those that `access_tokens` names: each once
 * and in order. Callers keep these of their tokens.
 */
export function namedClaims(
  { routes }: { readonly routes: readonly { readonly request_headers?: Parameters<typeof claimsIn>[0] }[] },
  limits: LimitsConfig,
): readonly string[] {
  const { groups, numbers } = claimsInLimits(limits);
  const ofRoutes = routes.flatMap(({ request_headers: edits }) => claimsIn(edits));
  return [...new Set([...ofRoutes, ...groups, ...numbers])].sort();
}

/** The claims that limits depend on: those that distinguish groups, and those that set numbers. Each once, in order. */
export function claimsInLimits({ buckets }: Pick<LimitsConfig, 'buckets'>): {
  readonly groups: readonly string[];
  readonly numbers: readonly string[];
} {
  const groups = new Set<string>();
  const numbers = new Set<string>();
  const note = ({ user, bot, group, classes }: Partial<BucketConfig>) => {
    if (group !== undefined) groups.add(group.claim);
    noteQuota(user);
    noteQuota(bot);
    if (classes !== undefined) Object.values(classes).forEach(noteQuota);
  };
  const noteQuota = (quota: Quota | undefined) => {
    if (quota !== undefined && isClaimed(quota)) numbers.add(quota.claim);
  };
  for (const bucket of Object.values(buckets)) {
    note(bucket);
    if (typeof bucket.shadow !== 'boolean') note(bucket.shadow);
  }
  return { groups: [...groups].sort(), numbers: [...numbers].sort() };
}
