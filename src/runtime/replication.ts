import type { NotBeforeMarks } from '../auth/index.ts';
import {
  type AnonymousRestriction,
  RESTRICTED_KINDS,
  RESTRICTION_REASONS,
  type Restrictions,
} from '../limits/index.ts';
import type { Board, Fact } from '../redis/index.ts';

const RESTRICTION = 'restriction';
const MARK = 'mark';

/** Tells the board which restriction began here. What restrictions run elsewhere `shareRestrictions` brings. */
export function announceRestriction(board: Board, restriction: AnonymousRestriction): void {
  board.post(factOf(restriction));
}

/** Restrictions that other gateways announce hold here too. */
export function shareRestrictions(board: Board, restrictions: Restrictions): void {
  board.join(RESTRICTION, {
    learn({ name, forMs }) {
      const [kindName, reasonName, digest = ''] = name.split(':');
      const kind = RESTRICTED_KINDS.find(each => each === kindName);
      const reason = RESTRICTION_REASONS.find(each => each === reasonName);
      if (kind !== undefined && reason !== undefined && digest !== '') {
        restrictions.adopt({ kind, reason, digest, forMs });
      }
    },
    *everything() {
      for (const restriction of restrictions.running()) yield factOf(restriction);
    },
  });
}

/** Not-before marks that any gateway learns refuse tokens at all. */
export function shareMarks(board: Board, marks: NotBeforeMarks): void {
  const fact = (digest: string, markS: number, forMs: number): Fact => ({
    name: `${MARK}:${digest}`,
    value: markS,
    forMs,
  });
  marks.announceTo(({ digest, markS, forMs }) => board.post(fact(digest, markS, forMs)));
  board.join(MARK, {
    learn: ({ name, value }) => marks.adopt(name, value),
    *everything() {
      for (const { digest, markS, forMs } of marks.running()) yield fact(digest, markS, forMs);
    },
  });
}

/** Which of two ends later counts, so that the end is all there is to tell. */
function factOf({ kind, reason, digest, forMs }: AnonymousRestriction): Fact {
  return { name: `${RESTRICTION}:${kind}:${reason}:${digest}`, value: 0, forMs };
}
