import type { NoticeFlaw } from '../../core/index.ts';
import { type JsonObject, member } from '../token/index.ts';

/** The notice is refused. */
export interface Flawed {
  readonly kind: 'flawed';
  readonly flaw: NoticeFlaw;
  /** The claim that is missing or of the wrong type; null: the flaw is another. Named by our rules, never by the notice. */
  readonly claim: string | null;
}

export function flawed(flaw: Exclude<NoticeFlaw, 'claim'>): Flawed {
  return { kind: 'flawed', flaw, claim: null };
}

export function lacks(claim: string): Flawed {
  return { kind: 'flawed', flaw: 'claim', claim };
}

/** Ids are kept in memory by their digest, so their length hardly matters; providers' have some 40 characters. */
const MAX_ID_LENGTH = 512;

/** The claim that tells a notice from every other, or null. */
export function idClaim(claims: JsonObject, name: string): string | null {
  const id = member(claims, name);
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH ? id : null;
}

/** A claim that is a whole number of seconds since the epoch, or null. */
export function secondsClaim(claims: JsonObject, name: string): number | null {
  const value = member(claims, name);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
