import {
  type CallerClass,
  type DecisionOutcome,
  type Draws,
  isAccessValue,
  type UncheckedLine,
} from '../../core/index.ts';
import { addressKey } from '../../http/index.ts';
import { GRPC_METHOD } from '../../routing/index.ts';
import { isMoment, outcomeBefore, type RestrictionFacts, restrictionFacts } from './restriction-facts.ts';

/** What became of a request. `undecided`: neither limits nor restrictions refused it, but it counts as an offence at its end. */
export type LoggedOutcome = DecisionOutcome | 'restricted' | 'blocked' | 'undecided';

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
export type LogLine = LoggedRequest | 'early' | 'other' | 'broken';

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
