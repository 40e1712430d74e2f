import {
  type CallerClass,
  type DecisionOutcome,
  type Draws,
  isAccessValue,
  type RestrictedBy,
  RpcCode,
  type UncheckedLine,
} from '../../core/index.ts';
import { addressKey } from '../../http/index.ts';
import { GRPC_METHOD } from '../../routing/index.ts';

/** What became of a request. `undecided`: neither limits nor restrictions refused it, but it counts as an offence at its end. */
type LoggedOutcome = DecisionOutcome | 'restricted' | 'blocked' | 'undecided';

/** A line of the access log about a request that the limits decided on, or that counts for restrictions. */
export interface LoggedRequest {
  readonly kind: 'decide';
  /** What the line tells: all of the request, its beginning while it lasts, or its end, with the beginning on an earlier line. */
  readonly part: 'whole' | 'begin' | 'end';
  /** When the line was written, in milliseconds since the epoch. */
  readonly writtenAtMs: number;
  readonly decidedAtMs: number;
  /** The number of the request in its process. */
  readonly sequence: number;
  readonly instance: string;
  readonly keyId: string;
  /** The method that its route was looked up by. */
  readonly method: string;
  /** The path, with pseudonyms for what the client chose. */
  readonly path: string;
  readonly callerClass: CallerClass;
  /** The address. */
  readonly client: string;
  /** The pseudonym of a caller, or the key of an address. */
  readonly caller: string;
  readonly draws: Draws;
  readonly bucket: string | null;
  readonly outcome: LoggedOutcome;
  /** What few lines tell; `null` for most. */
  readonly facts: RestrictionFacts | null;
  /** True if its service denied access, so that a unit of a resource limit was returned. */
  readonly denied: boolean;
}

/** What a line of a log is. `early`: a request refused with 429 before the limits were asked. */
type LogLine = LoggedRequest | 'early' | 'other' | 'broken';

const PARTS: Readonly<Record<string, 'whole' | 'begin'>> = { access: 'whole', admission: 'begin' };

/**
 * Reads a line. `other`: it tells of no decision. `broken`: it is no line of this gateway's log, or lacks what a replay needs,
 * such as those of earlier versions.
 */
export function readLogLine(line: string): LogLine {
  const isObject = line.startsWith('{"') && line.endsWith('}');
  if (!isObject) return 'broken';
  if (!line.includes(',"decision":"') && !line.includes(',"restricted":"') && !line.includes(',"offenceAt":'))
    return line.includes('"status":429') ? undecided(fieldsOf(line)) : 'other';
  const fields = fieldsOf(line);
  return fields === null ? 'broken' : requestOf(fields);
}

/** Tells what a line without a decision is. */
function undecided(fields: UncheckedLine | null): 'early' | 'other' {
  return fields?.type === 'access' && fields.status === 429 ? 'early' : 'other';
}

function fieldsOf(line: string): UncheckedLine | null {
  try {
    const value: unknown = JSON.parse(line);
    return value !== null && typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

function requestOf(fields: UncheckedLine): LogLine {
  const { decision, draws } = fields;
  // The line tells nothing of a path that no route takes, and such a path leads to no bucket.
  const isUnserved = fields.path === undefined && (draws === 'global' || draws === 'none');
  if (decision !== undefined) {
    const outcome = isAccessValue('decision', decision) ? decision : null;
    return built(isUnserved ? { ...fields, path: '' } : fields, outcome);
  }
  const outcome = outcomeBefore(fields);
  if (outcome === null) return undecided(fields);
  const place = isAccessValue('path', fields.path) ? {} : { path: '', draws: 'none' };
  return built(
    { ...fields, ...place, decidedAt: fields.decidedAt ?? fields.offenceAt, bucket: null },
    outcome,
  );
}

/** Makes the request of a line that has all that a replay needs. `outcome`: `null` if the line has none that is known. */
function built(fields: UncheckedLine, outcome: LoggedOutcome | null): LogLine {
  const { type, method, path, client, instance, keyId, sequence, decidedAt, bucket, draws = 'all' } = fields;
  const { status, upstreamMs, protocol, caller, class: callerClass } = fields;
  const part = typeof type === 'string' && Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  if (part === undefined) return 'other';
  const writtenAtMs = isAccessValue('time', fields.time) ? Date.parse(fields.time) : Number.NaN;
  if (!isAccessValue('method', method) || !isAccessValue('path', path)) return 'broken';
  if (!isAccessValue('client', client) || !isAccessValue('instance', instance)) return 'broken';
  if (!isAccessValue('keyId', keyId) || !isAccessValue('requestId', fields.requestId)) return 'broken';
  if (!isMoment(decidedAt, writtenAtMs) || !isAccessValue('sequence', sequence)) return 'broken';
  if (!isAccessValue('class', callerClass) || !isAccessValue('draws', draws)) return 'broken';
  if (outcome === null || !isAccessValue('bucket', bucket)) return 'broken';
  return {
    kind: 'decide',
    part: fields.lasted === true || outcome === 'undecided' ? 'end' : part,
    writtenAtMs,
    decidedAtMs: decidedAt,
    sequence,
    instance,
    keyId,
    method: protocol === 'grpc' ? GRPC_METHOD : method,
    path,
    client,
    callerClass,
    caller: isAccessValue('caller', caller) ? caller : addressKey(client),
    draws,
    bucket,
    outcome,
    facts: restrictionFacts(fields, { status, method, sequence, writtenAtMs }),
    denied: typeof upstreamMs === 'number' && (status === 401 || status === 403 || status === 404),
  };
}

/** What few lines tell. */
interface RestrictionFacts {
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
interface LoggedMoment {
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
interface CommonFacts {
  readonly status: unknown;
  readonly method: string;
  readonly sequence: number;
  readonly writtenAtMs: number;
}

/** A decision comes before its line, by no more than this; the clocks of a shared store may differ a little. */
const MAX_BEHIND_MS = 86_400_000;
const MAX_AHEAD_MS = 60_000;

/** Tells whether something that a line tells of may have happened at this moment. */
function isMoment(value: unknown, writtenAtMs: number): value is number {
  if (!isAccessValue('decidedAt', value)) return false;
  return value <= writtenAtMs + MAX_AHEAD_MS && value >= writtenAtMs - MAX_BEHIND_MS;
}

/**
 * Tells what refused a request that never came to the limits; `null` if the line tells of nothing. `undecided`: nothing did that a
 * replay could ask again, but it counts.
 */
function outcomeBefore({
  restricted,
  offenceAt,
}: UncheckedLine): 'restricted' | 'blocked' | 'undecided' | null {
  if (isAccessValue('restricted', restricted))
    return restricted.startsWith('blocked') ? 'blocked' : 'restricted';
  return isAccessValue('offenceAt', offenceAt) ? 'undecided' : null;
}

/** Reads what few lines tell; `null` if this one tells nothing of the kind. */
function restrictionFacts(rare: UncheckedLine, common: CommonFacts): RestrictionFacts | null {
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
