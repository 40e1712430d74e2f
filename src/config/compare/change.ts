import type { Difference, Effect } from '../difference.ts';

/** One difference between two configurations, for people to read. */
export interface Change {
  readonly effect: Effect;
  /** What changes, as the operator names it: `bucket messages.write`, `POST /v1/things`, `caps.requests`. */
  readonly subject: string;
  /** What holds from now on, and what held before. Contains no secret and no value of a variable. */
  readonly text: string;
}

/** A change with its weight among those of one effect. */
export type WeighedChange = Change & Pick<Difference, 'left'>;

const ORDER: readonly Effect[] = ['stricter', 'mixed', 'looser', 'neutral'];

/** Sorts changes: the strictest first. */
export function worstFirst(changes: readonly WeighedChange[]): Change[] {
  return changes
    .toSorted((a, b) => ORDER.indexOf(a.effect) - ORDER.indexOf(b.effect) || a.left - b.left)
    .map(({ effect, subject, text }) => ({ effect, subject, text }));
}

/** The effect of several changes that go together. */
export function togetherOf(effects: readonly Effect[]): Effect {
  const tighter = effects.some(effect => effect === 'stricter' || effect === 'mixed');
  const wider = effects.some(effect => effect === 'looser' || effect === 'mixed');
  if (tighter) return wider ? 'mixed' : 'stricter';
  return wider ? 'looser' : 'neutral';
}

/** Whether any request that passed may be refused. */
export function isStricter(changes: readonly Change[]): boolean {
  return changes.some(({ effect }) => effect === 'stricter' || effect === 'mixed');
}

/** Formats a change as one line: `stricter: bucket messages: 3 in 1s, before 10 in 5s`. */
export function formatChange({ effect, subject, text }: Change): string {
  return `${effect}: ${subject}: ${text}`;
}
