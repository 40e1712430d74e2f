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

/** Announces a restriction that began here; `shareRestrictions` handles those of other gateways. */
export function announceRestriction(board: Board, restriction: AnonymousRestriction): void {
  board.post(factOf(restriction));
}

/** Applies restrictions that other gateways announce. */
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

/** Shares not-before marks, so that one learnt by any gateway applies at all of them. */
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

/** The value is always 0, so of two facts about one restriction the one that lasts longer wins. */
function factOf({ kind, reason, digest, forMs }: AnonymousRestriction): Fact {
  return { name: `${RESTRICTION}:${kind}:${reason}:${digest}`, value: 0, forMs };
}
