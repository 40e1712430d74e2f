import {
  CALLER_CLASSES,
  type CallerClass,
  DECISION_OUTCOMES,
  type DecisionOutcome,
  DRAWS,
  type Draws,
} from '../../core/index.ts';
import { addressKey } from '../../http/index.ts';
import { GRPC_METHOD } from '../../routing/index.ts';
import { isMoment } from './is-moment.ts';
import {
  outcomeBefore,
  type RareMembers,
  type RestrictionFacts,
  restrictionFacts,
} from './restriction-facts.ts';

/** `undecided`: it never came to the limits, and no restriction refused it; it is the `end` of something that counts. */
export type LoggedOutcome = DecisionOutcome | 'restricted' | 'blocked' | 'undecided';

/** A line of the access log about a request that the limits decided on, or that counts for restrictions. */
export interface LoggedRequest {
  readonly kind: 'decide';
  /** It began, and its end is told by another line. Or this is that line. */
  readonly part: 'whole' | 'begin' | 'end';
  /** When the line was written, in milliseconds since the epoch. */
  readonly writtenAtMs: number;
  readonly decidedAtMs: number;
  /** The number of the request in its process. */
  readonly sequence: number;
  readonly instance: string;
  readonly keyId: string;
  /** What its route was looked up by. */
  readonly method: string;
  /** With pseudonyms for what the client chose. */
  readonly path: string;
  readonly callerClass: CallerClass;
  /** The address. */
  readonly client: string;
  /** A pseudonym, or the key of an address. */
  readonly caller: string;
  readonly draws: Draws;
  readonly bucket: string | null;
  readonly outcome: LoggedOutcome;
  /** Null for most. */
  readonly facts: RestrictionFacts | null;
  /** Its service denied access, so that a unit of a resource limit was returned. */
  readonly denied: boolean;
}

/** What a line of a log is. `early`: a request refused with 429 before the limits were asked. */
export type LogLine = LoggedRequest | 'early' | 'other' | 'broken';

const CLASSES: ReadonlySet<unknown> = new Set(CALLER_CLASSES);
const OUTCOMES: ReadonlySet<unknown> = new Set(DECISION_OUTCOMES);
const DRAW_WORDS: ReadonlySet<unknown> = new Set(DRAWS);
const PARTS: Readonly<Record<string, 'whole' | 'begin'>> = { access: 'whole', admission: 'begin' };

/**
 * Reads a line. `other`: it tells of no decision. `broken`: it is no line of this gateway's log, or lacks what a replay needs,
 * such as those of earlier versions.
 */
export function readLogLine(line: string): LogLine {
  const isObject = line.startsWith('{"') && line.endsWith('}');
  if (!isObject) return 'broken';
  if (!line.includes(',"decision":"') && !line.includes(',"restricted":"') && !line.includes(',"offenceAt":'))
    return line.includes('"status":429') ? undecided(membersOf(line)) : 'other';
  const members = membersOf(line);
  if (members === null) return 'broken';
  const { time } = members;
  return requestOf(members, members, typeof time === 'string' ? Date.parse(time) : Number.NaN);
}

/** What a line without a decision is; null: it is broken. */
export function undecided(members: Pick<LineMembers, 'type' | 'status'> | null): 'early' | 'other' {
  return members?.type === 'access' && members.status === 429 ? 'early' : 'other';
}

/** What a replay needs of a line, as it was found there. */
export interface LineMembers {
  type?: unknown;
  instance?: unknown;
  keyId?: unknown;
  requestId?: unknown;
  sequence?: unknown;
  protocol?: unknown;
  method?: unknown;
  path?: unknown;
  client?: unknown;
  class?: unknown;
  caller?: unknown;
  bucket?: unknown;
  decision?: unknown;
  decidedAt?: unknown;
  draws?: unknown;
  lasted?: unknown;
  status?: unknown;
  /** Only whether it is a number. */
  upstreamMs?: unknown;
}

function membersOf(line: string): (LineMembers & RareMembers & { readonly time?: unknown }) | null {
  try {
    const value: unknown = JSON.parse(line);
    return value !== null && typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

/** Makes a request of the members of a line. `rare`: those of them that few lines have; null: this one has none. */
export function requestOf(members: LineMembers, rare: RareMembers | null, writtenAtMs: number): LogLine {
  const { decision, draws } = members;
  // Of a path that no route takes, the line tells nothing, and it leads to no bucket.
  const isUnserved = members.path === undefined && (draws === 'global' || draws === 'none');
  const known = isUnserved ? { ...members, path: '' } : members;
  if (decision !== undefined) return built(known, isOutcome(decision) ? decision : null, rare, writtenAtMs);
  const outcome = rare === null ? null : outcomeBefore(rare);
  if (rare === null || outcome === null) return undecided(members);
  // Of a path that no route takes, the line tells nothing.
  const place = isText(members.path) ? {} : { path: '', draws: 'none' };
  const decidedAt = members.decidedAt ?? rare.offenceAt;
  return built({ ...members, ...place, decidedAt, bucket: null }, outcome, rare, writtenAtMs);
}

/** `outcome`: null if the line has none that is known. */
function built(
  members: LineMembers,
  outcome: LoggedOutcome | null,
  rare: RareMembers | null,
  writtenAtMs: number,
): LogLine {
  const { type, method, path, client, instance, keyId, sequence, decidedAt, bucket } = members;
  const { draws = 'all', status, upstreamMs, protocol, caller, class: callerClass } = members;
  const part = typeof type === 'string' && Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  if (part === undefined) return 'other';
  if (!isText(method) || !isText(path) || !isText(client) || !isText(instance) || !isText(keyId))
    return 'broken';
  if (!isText(members.requestId) || !isMoment(decidedAt, writtenAtMs)) return 'broken';
  if (typeof sequence !== 'number' || !Number.isSafeInteger(sequence)) return 'broken';
  if (!isClass(callerClass) || outcome === null || !isDraws(draws)) return 'broken';
  if (bucket !== null && !isText(bucket)) return 'broken';
  return {
    kind: 'decide',
    part: members.lasted === true || outcome === 'undecided' ? 'end' : part,
    writtenAtMs,
    decidedAtMs: decidedAt,
    sequence,
    instance,
    keyId,
    method: protocol === 'grpc' ? GRPC_METHOD : method,
    path,
    client,
    callerClass,
    caller: isText(caller) ? caller : addressKey(client),
    draws,
    bucket,
    outcome,
    facts:
      rare === null && status !== 401 && status !== 403
        ? null
        : restrictionFacts(rare ?? {}, { status, method, sequence, writtenAtMs }),
    denied: typeof upstreamMs === 'number' && (status === 401 || status === 403 || status === 404),
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isClass(value: unknown): value is CallerClass {
  return CLASSES.has(value);
}

function isOutcome(value: unknown): value is LoggedOutcome {
  return OUTCOMES.has(value);
}

function isDraws(value: unknown): value is Draws {
  return DRAW_WORDS.has(value);
}
