import type { CallerClass } from '../config/index.ts';
import type { DecisionRecord, Draws } from '../core/index.ts';
import { addressKey } from '../http/index.ts';
import { GRPC } from '../routing/index.ts';

/** A line of the access log about a request that the limits decided on. */
export interface LoggedRequest {
  /** It began, and its end is told by another line. Or this is that line. */
  readonly part: 'whole' | 'begin' | 'end';
  /** When the line was written, in milliseconds since the epoch. */
  readonly writtenAtMs: number;
  readonly decidedAtMs: number;
  /** Orders those of one process and one millisecond. */
  readonly sequence: number;
  readonly instance: string;
  readonly keyId: string;
  readonly requestId: string;
  /** What its route was looked up by. */
  readonly method: string;
  /** With pseudonyms for what the client chose. */
  readonly path: string;
  readonly callerClass: CallerClass;
  /** A pseudonym, or the key of an address. */
  readonly caller: string;
  readonly draws: Draws;
  readonly bucket: string | null;
  readonly outcome: DecisionRecord['outcome'];
  /** Its service denied access, so that a unit of a resource limit was returned. */
  readonly denied: boolean;
}

/** What a line of a log is. */
export type LogLine = LoggedRequest | 'other' | 'broken';

const CLASSES: ReadonlySet<unknown> = new Set<CallerClass>(['bot', 'user', 'address']);
const OUTCOMES: ReadonlySet<unknown> = new Set<DecisionRecord['outcome']>([
  'admitted',
  'global',
  'caller',
  'resource',
]);
const DRAWS: ReadonlySet<unknown> = new Set<Draws>(['all', 'global', 'bucket', 'none']);
const PARTS: Readonly<Record<string, 'whole' | 'begin'>> = { access: 'whole', admission: 'begin' };

/** A decision comes before its line, by no more than this; the clocks of a shared store may differ a little. */
const MAX_BEHIND_MS = 86_400_000;
const MAX_AHEAD_MS = 60_000;

/**
 * Reads a line. `other`: it tells of no decision. `broken`: it is no line of this gateway's log, or lacks what a replay needs,
 * such as those of earlier versions.
 */
export function readLogLine(line: string): LogLine {
  const isObject = line.startsWith('{"') && line.endsWith('}');
  if (!isObject) return 'broken';
  if (!line.includes(',"decision":"')) return 'other';
  const members = membersOf(line);
  return members === null ? 'broken' : requestOf(members);
}

type Members = Readonly<Record<string, unknown>>;

function membersOf(line: string): Members | null {
  try {
    const value: unknown = JSON.parse(line);
    return isMembers(value) ? value : null;
  } catch {
    return null;
  }
}

function isMembers(value: unknown): value is Members {
  return value !== null && typeof value === 'object';
}

function requestOf(members: Members): LoggedRequest | 'other' | 'broken' {
  const { type, method, path, client, instance, keyId, requestId, sequence, decidedAt, bucket } = members;
  const { decision, draws = 'all', status, upstreamMs, protocol, caller } = members;
  const part = typeof type === 'string' ? PARTS[type] : undefined;
  if (part === undefined) return 'other';
  const writtenAtMs = typeof members['time'] === 'string' ? Date.parse(members['time']) : Number.NaN;
  const isWhole =
    isText(method) &&
    isText(path) &&
    isText(client) &&
    isText(instance) &&
    isText(keyId) &&
    isText(requestId);
  if (!isWhole || !isMoment(decidedAt, writtenAtMs) || !Number.isSafeInteger(sequence)) return 'broken';
  if (!isClass(members['class']) || !isOutcome(decision) || !isDraws(draws)) return 'broken';
  if (bucket !== null && !isText(bucket)) return 'broken';
  return {
    part: members['lasted'] === true ? 'end' : part,
    writtenAtMs,
    decidedAtMs: decidedAt,
    sequence: Number(sequence),
    ...{ instance, keyId, requestId, path, draws, bucket },
    method: protocol === 'grpc' ? GRPC : method,
    callerClass: members['class'],
    caller: isText(caller) ? caller : addressKey(client),
    outcome: decision,
    denied: typeof upstreamMs === 'number' && (status === 401 || status === 403 || status === 404),
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isMoment(value: unknown, writtenAtMs: number): value is number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return false;
  return value <= writtenAtMs + MAX_AHEAD_MS && value >= writtenAtMs - MAX_BEHIND_MS;
}

function isClass(value: unknown): value is CallerClass {
  return CLASSES.has(value);
}

function isOutcome(value: unknown): value is DecisionRecord['outcome'] {
  return OUTCOMES.has(value);
}

function isDraws(value: unknown): value is Draws {
  return DRAWS.has(value);
}
