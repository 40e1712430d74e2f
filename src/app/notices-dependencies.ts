import { NOTICE_BUDGET, type NoticesDependencies, SeenNotices, VerificationBudget } from '../auth/index.ts';
import type { Clock } from '../core/index.ts';

/**
 * What the notices of all providers share.
 *
 * @param claim whether no other gateway has claimed a name for so many milliseconds
 */
export function noticesDependencies(
  clock: Clock,
  listener: NoticesDependencies['listener'],
  claim: (name: string, forMs: number) => Promise<boolean>,
): NoticesDependencies {
  return {
    clock,
    listener,
    budget: new VerificationBudget(NOTICE_BUDGET, clock),
    seen: new SeenNotices({ clock, claim }),
  };
}
