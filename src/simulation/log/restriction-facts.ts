import { RESTRICTED_BY, type RestrictedBy, RpcCode } from '../../core/index.ts';
import { isMoment } from './is-moment.ts';

/** What few lines tell. */
export interface RestrictionFacts {
  /** What refused the request before its limits were asked; null: nothing. */
  readonly restrictedBy: RestrictedBy | null;
  /** Its token was not looked at. */
  readonly isCallerUnknown: boolean;
  readonly isPreflight: boolean;
  /** Its caller was under `never_restrict`. */
  readonly isSpared: boolean;
  /** A pseudonym; '' if it called none. */
  readonly webhook: string;
  /** Null: it counted towards no restriction. */
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

/** The members that few lines have, as they were found there. */
export interface RareMembers {
  restricted?: unknown;
  callerUnknown?: unknown;
  preflight?: unknown;
  spared?: unknown;
  webhook?: unknown;
  offenceAt?: unknown;
  offenceAfter?: unknown;
  returnedAt?: unknown;
  returnedAfter?: unknown;
  grpcStatus?: unknown;
}

/** What every line tells of the request. */
export interface CommonFacts {
  readonly status: unknown;
  readonly method: string;
  readonly sequence: number;
  readonly writtenAtMs: number;
}

const RESTRICTED: ReadonlySet<unknown> = new Set(RESTRICTED_BY);

/** What refused a request that never came to the limits; `undecided`: nothing did that a replay could ask again, but it counts. */
export function outcomeBefore({
  restricted,
  offenceAt,
}: RareMembers): 'restricted' | 'blocked' | 'undecided' | null {
  if (isRestrictedBy(restricted)) return restricted.startsWith('blocked') ? 'blocked' : 'restricted';
  return isNumber(offenceAt) ? 'undecided' : null;
}

/** Null: the line tells nothing of the kind. */
export function restrictionFacts(rare: RareMembers, common: CommonFacts): RestrictionFacts | null {
  const { restricted, preflight, spared, webhook } = rare;
  const offence = offenceOf(rare, common);
  const returned = momentOf(rare.returnedAt, rare.returnedAfter, common);
  const isRestricted = isRestrictedBy(restricted);
  const isPreflight = preflight === true;
  const isSpared = spared === true;
  const name = typeof webhook === 'string' ? webhook : '';
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

function offenceOf(rare: RareMembers, common: CommonFacts): Offence | null {
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
  if (!isMoment(atMs, writtenAtMs) || !isNumber(after) || after < sequence) return null;
  return { atMs, after };
}

/** Of each such request, today's lines say when it counted, or that it was a preflight. The scope of a service's 429 cannot be guessed. */
function mayBeOld({ status, method }: CommonFacts): boolean {
  return (status === 401 || status === 403) && method !== 'OPTIONS';
}

function isRestrictedBy(value: unknown): value is RestrictedBy {
  return RESTRICTED.has(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}
