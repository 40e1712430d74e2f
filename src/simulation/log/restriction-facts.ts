import { isAccessValue, type RestrictedBy, RpcCode, type UncheckedLine } from '../../core/index.ts';

/** What few lines tell. */
export interface RestrictionFacts {
  /** What refused the request before its limits were asked; `null` if nothing did. */
  readonly restrictedBy: RestrictedBy | null;
  /** Its token was not looked at. */
  readonly isCallerUnknown: boolean;
  readonly isPreflight: boolean;
  /** Its caller was under `never_restrict`. */
  readonly isSpared: boolean;
  /** A pseudonym; '' if it called none. */
  readonly webhook: string;
  /** How it counted towards a restriction; `null` if it did not. */
  readonly offence: Offence | null;
  /** When it returned the unit that it drew on a resource limit, if the line tells. */
  readonly returned: LoggedMoment | null;
}

/** When something happened between the decisions about other requests. */
export interface LoggedMoment {
  readonly atMs: number;
  /** The number of the latest request by then. */
  readonly after: number;
}

/** How a request counted towards a restriction. */
export interface Offence extends LoggedMoment {
  readonly reason: 'invalid_requests' | 'webhook_not_found';
  /** The line does not say when it counted, so that is when the line was written: it is of an earlier version. */
  readonly isGuessed: boolean;
}

/** What every line tells of the request. */
export interface CommonFacts {
  readonly status: unknown;
  readonly method: string;
  readonly sequence: number;
  readonly writtenAtMs: number;
}

/** A decision comes before its line, by no more than this; the clocks of a shared store may differ a little. */
const MAX_BEHIND_MS = 86_400_000;
const MAX_AHEAD_MS = 60_000;

/** Tells whether something that a line tells of may have happened at this moment. */
export function isMoment(value: unknown, writtenAtMs: number): value is number {
  if (!isAccessValue('decidedAt', value)) return false;
  return value <= writtenAtMs + MAX_AHEAD_MS && value >= writtenAtMs - MAX_BEHIND_MS;
}

/**
 * Tells what refused a request that never came to the limits; `null` if the line tells of nothing. `undecided`: nothing did that a
 * replay could ask again, but it counts.
 */
export function outcomeBefore({
  restricted,
  offenceAt,
}: UncheckedLine): 'restricted' | 'blocked' | 'undecided' | null {
  if (isAccessValue('restricted', restricted))
    return restricted.startsWith('blocked') ? 'blocked' : 'restricted';
  return isAccessValue('offenceAt', offenceAt) ? 'undecided' : null;
}

/** Reads what few lines tell; `null` if this one tells nothing of the kind. */
export function restrictionFacts(rare: UncheckedLine, common: CommonFacts): RestrictionFacts | null {
  const { restricted, preflight, spared, webhook } = rare;
  const offence = offenceOf(rare, common);
  const returned = momentOf(rare.returnedAt, rare.returnedAfter, common);
  const isRestricted = isAccessValue('restricted', restricted);
  const isPreflight = preflight === true;
  const isSpared = spared === true;
  const name = isAccessValue('webhook', webhook) ? webhook : '';
  if (!isRestricted && !isPreflight && !isSpared && name === '' && offence === null && returned === null)
    return null;
  return {
    restrictedBy: isRestricted ? restricted : null,
    isCallerUnknown: rare.callerUnknown === true,
    isPreflight,
    isSpared,
    webhook: name,
    offence,
    returned,
  };
}

function offenceOf(rare: UncheckedLine, common: CommonFacts): Offence | null {
  const { grpcStatus, preflight } = rare;
  const { status, sequence, writtenAtMs } = common;
  const isNotFound = status === 404 || grpcStatus === RpcCode.notFound;
  const reason = isNotFound ? 'webhook_not_found' : 'invalid_requests';
  const moment = momentOf(rare.offenceAt, rare.offenceAfter, common);
  if (moment !== null) return { reason, ...moment, isGuessed: false };
  const isOld = preflight !== true && mayBeOld(common);
  return isOld ? { reason, atMs: writtenAtMs, after: sequence, isGuessed: true } : null;
}

function momentOf(
  atMs: unknown,
  after: unknown,
  { sequence, writtenAtMs }: CommonFacts,
): LoggedMoment | null {
  if (!isMoment(atMs, writtenAtMs) || !isAccessValue('offenceAfter', after) || after < sequence) return null;
  return { atMs, after };
}

/** Today's lines say when such a request counted, or that it was a preflight. The scope of a service's 429 cannot be guessed. */
function mayBeOld({ status, method }: CommonFacts): boolean {
  return (status === 401 || status === 403) && method !== 'OPTIONS';
}
