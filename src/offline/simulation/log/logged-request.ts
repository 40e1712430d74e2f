import type { CountedRequest, LimitsModel } from '../../../config/index.ts';
import { GRPC_METHOD } from '../../../config/routing/index.ts';
import type { ClaimedValues, DecisionOutcome, RestrictedBy, UncheckedLine } from '../../../core/index.ts';
import { CALL_PROTOCOLS, equivalentStatusOf, isAccessValue, jsonIn, RpcCode } from '../../../core/index.ts';
import { addressKey } from '../../../wire/http/index.ts';

/** The outcome of a request in the log. `undecided`: the limits were not checked, but the end of the request is an offence. */
type LoggedOutcome = DecisionOutcome | 'restricted' | 'blocked' | 'undecided';

/**
 * A line of the access log about a request that the limits decided on, or that counts towards a restriction. Its host is as
 * configured ('' if no configured name matches), its path has a pseudonym for each segment that the client chose, and its caller
 * and groups are pseudonyms, or the key of an address.
 */
export interface LoggedRequest extends CountedRequest {
  readonly kind: 'decide';
  /**
   * The part that the line covers: a complete request, the beginning of one that is still running, or the end of one that began
   * on an earlier line.
   */
  readonly part: 'whole' | 'begin' | 'end';
  /** When the line was written, in milliseconds since the epoch. */
  readonly writtenAtMs: number;
  readonly decidedAtMs: number;
  /** The number of the request in its gateway process. */
  readonly sequence: number;
  readonly instance: string;
  readonly keyId: string;
  readonly client: string;
  readonly bucket: string | null;
  readonly outcome: LoggedOutcome;
  /** The facts for restrictions; `null` for most lines. */
  readonly facts: RestrictionFacts | null;
  /** The status that decides whether units are returned: for a gRPC call, the HTTP equivalent of its own. 0 if none is known. */
  readonly status: number;
  readonly isOfService: boolean;
  /** The final cost, if its response was to name that; else `null`. */
  readonly price: number | null;
  /** True if it returned units: the service denied access (401, 403, 404), or the line says when. */
  readonly returned: boolean;
}

/**
 * Finds the requests that return units under other limits than those that wrote the log. Requests that the gateway refused then
 * have no response of a service, so they return none.
 */
export class Returns {
  readonly #giveBack: readonly { has(status: number): boolean }[];

  constructor({ buckets }: Pick<LimitsModel, 'buckets'>) {
    this.#giveBack = buckets.flatMap(({ giveBack }) => giveBack ?? []);
  }

  /** Whether units may be returned because of this line. The bucket decides which ones. */
  includes({ returned, part, outcome, status }: LoggedRequest): boolean {
    const isEnded = part !== 'begin' && (outcome === 'admitted' || outcome === 'undecided');
    return returned || (isEnded && this.#giveBack.some(statuses => statuses.has(status)));
  }
}

/** A line as read. `early`: a request refused with 429 before the limits were checked. */
type LogLine = LoggedRequest | 'early' | 'other' | 'broken';

const PARTS: Readonly<Record<string, 'whole' | 'begin'>> = { access: 'whole', admission: 'begin' };

/**
 * Reads a line. `other`: a line without a decision. `broken`: not a line of a gateway's access log, or one without a field that a
 * replay needs, such as lines of earlier versions.
 */
export function readLogLine(line: string): LogLine {
  const isObject = line.startsWith('{"') && line.endsWith('}');
  if (!isObject) return 'broken';
  if (!line.includes(',"decision":"') && !line.includes(',"restricted":"') && !line.includes(',"offenceAt":'))
    return line.includes('"status":429') ? undecided(fieldsOf(line)) : 'other';
  const fields = fieldsOf(line);
  return fields === null ? 'broken' : requestOf(fields);
}

/** Classifies a line without a decision. */
function undecided(fields: UncheckedLine | null): 'early' | 'other' {
  return fields?.type === 'access' && fields.status === 429 ? 'early' : 'other';
}

function fieldsOf(line: string): UncheckedLine | null {
  const value = jsonIn(line);
  return typeof value === 'object' ? (value as UncheckedLine | null) : null;
}

function requestOf(fields: UncheckedLine): LogLine {
  const { decision, draws } = fields;
  // The log omits the path if no route matches it. Such a request consumes no bucket.
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

/** Groups and numbers in an unknown form are omitted, as if the token did not have them. */
function claimedIn({ groups, numbers }: UncheckedLine): ClaimedValues | null {
  if (groups === undefined && numbers === undefined) return null;
  return {
    groups: new Map(isAccessValue('groups', groups) ? Object.entries(groups as Record<string, string>) : []),
    numbers: new Map(
      isAccessValue('numbers', numbers) ? Object.entries(numbers as Record<string, number>) : [],
    ),
  };
}

/** Builds the request from the fields of its line, or reports the line as broken. `outcome`: `null` if unknown. */
function built(fields: UncheckedLine, outcome: LoggedOutcome | null): LogLine {
  const { type, method, path, client, instance, keyId, sequence, decidedAt, bucket, draws = 'all' } = fields;
  const { status, upstreamMs, protocol, caller, class: callerClass, host = '' } = fields;
  const part = typeof type === 'string' && Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  if (part === undefined) return 'other';
  const writtenAtMs = isAccessValue('time', fields.time) ? Date.parse(fields.time) : Number.NaN;
  if (!isAccessValue('method', method) || !isAccessValue('path', path)) return 'broken';
  if (!isAccessValue('host', host)) return 'broken';
  if (!isAccessValue('client', client) || !isAccessValue('instance', instance)) return 'broken';
  if (!isAccessValue('keyId', keyId) || !isAccessValue('requestId', fields.requestId)) return 'broken';
  if (!isMoment(decidedAt, writtenAtMs) || !isAccessValue('sequence', sequence)) return 'broken';
  if (!isAccessValue('class', callerClass) || !isAccessValue('draws', draws)) return 'broken';
  if (outcome === null || !isAccessValue('bucket', bucket)) return 'broken';
  const facts = restrictionFacts(fields, writtenAtMs);
  const isOfService = typeof upstreamMs === 'number';
  const isCall = isAccessValue('protocol', protocol) && CALL_PROTOCOLS.has(protocol);
  const told = isCall && isOfService ? statusOfCall(fields) : status;
  const denied = isOfService && (told === 401 || told === 403 || told === 404);
  return {
    kind: 'decide',
    part: fields.lasted === true || outcome === 'undecided' ? 'end' : part,
    writtenAtMs,
    decidedAtMs: decidedAt,
    sequence,
    instance,
    keyId,
    method: isCall ? GRPC_METHOD : method,
    host,
    path,
    client,
    callerClass,
    caller: isAccessValue('caller', caller) ? caller : addressKey(client),
    claimed: claimedIn(fields),
    consumes: draws,
    bucket,
    outcome,
    facts,
    status: typeof told === 'number' ? told : 0,
    price: isAccessValue('price', fields.price) ? fields.price : null,
    isOfService,
    returned: denied || (facts?.returnedAtMs ?? null) !== null,
  };
}

function statusOfCall({ grpcStatus }: UncheckedLine): number {
  return isAccessValue('grpcStatus', grpcStatus) ? equivalentStatusOf(grpcStatus) : 0;
}

interface RestrictionFacts {
  /** What refused the request before its limits were checked; `null` if nothing did. */
  readonly restrictedBy: RestrictedBy | null;
  /** True if the request was refused before its token was checked. */
  readonly isCallerUnknown: boolean;
  readonly isPreflight: boolean;
  readonly isSpared: boolean;
  /** The pseudonym of the webhook; '' if the request called none. */
  readonly webhook: string;
  /** How the request counted towards a restriction; `null` if it did not. */
  readonly offence: Offence | null;
  /** When the unit consumed of a resource limit was returned; `null` if the line does not say. */
  readonly returnedAtMs: number | null;
}

/** When, and by which rule, a request counted towards a restriction. */
export interface Offence {
  readonly atMs: number;
  readonly reason: 'invalid_requests' | 'webhook_not_found';
}

/** Maximum difference between the times of a decision and its line: the clock of a shared store may differ. */
const MAX_BEHIND_MS = 86_400_000;
const MAX_AHEAD_MS = 60_000;

/** Returns whether a value is a time consistent with that of its line. */
function isMoment(value: unknown, writtenAtMs: number): value is number {
  if (!isAccessValue('decidedAt', value)) return false;
  return value <= writtenAtMs + MAX_AHEAD_MS && value >= writtenAtMs - MAX_BEHIND_MS;
}

/**
 * Returns the outcome of a request whose limits were not checked; `null` if the line has none. `undecided`: no restriction or
 * block refused it, but it is an offence.
 */
function outcomeBefore({
  restricted,
  offenceAt,
}: UncheckedLine): 'restricted' | 'blocked' | 'undecided' | null {
  if (isAccessValue('restricted', restricted))
    return restricted.startsWith('blocked') ? 'blocked' : 'restricted';
  return isAccessValue('offenceAt', offenceAt) ? 'undecided' : null;
}

/** Reads the facts about restrictions in a line; `null` if there are none. */
function restrictionFacts(rare: UncheckedLine, writtenAtMs: number): RestrictionFacts | null {
  const { restricted, preflight, spared, webhook } = rare;
  const offence = offenceOf(rare, writtenAtMs);
  const returnedAtMs = isMoment(rare.returnedAt, writtenAtMs) ? rare.returnedAt : null;
  const isRestricted = isAccessValue('restricted', restricted);
  const isPreflight = preflight === true;
  const isSpared = spared === true;
  const name = isAccessValue('webhook', webhook) ? webhook : '';
  if (!isRestricted && !isPreflight && !isSpared && name === '' && offence === null && returnedAtMs === null)
    return null;
  const restrictedBy = isRestricted ? restricted : null;
  const isCallerUnknown = rare.callerUnknown === true;
  return { restrictedBy, isCallerUnknown, isPreflight, isSpared, webhook: name, offence, returnedAtMs };
}

function offenceOf({ status, grpcStatus, offenceAt }: UncheckedLine, writtenAtMs: number): Offence | null {
  if (!isMoment(offenceAt, writtenAtMs)) return null;
  const isNotFound = status === 404 || grpcStatus === RpcCode.notFound;
  return { reason: isNotFound ? 'webhook_not_found' : 'invalid_requests', atMs: offenceAt };
}
