import { type AddressKeying, addressKey, DEFAULT_KEYING } from '../../../wire/http/index.ts';
import { type ReadCounts, readLogFile } from './log-file.ts';
import { type LoggedRequest, Returns } from './logged-request.ts';

/** An event that follows the decision about a request. */
interface LaterEvent {
  /**
   * - `refund`: the request returns a unit that it had consumed
   * - `end`: it returns its place among its caller's requests in flight
   * - `offence`: it counts towards a restriction
   * - `price`: what it cost became known
   */
  readonly kind: 'refund' | 'end' | 'offence' | 'price';
  readonly decidedAtMs: number;
  readonly sequence: number;
  readonly request: LoggedRequest;
}

/** An event at `decidedAtMs`: a decision about a request, or a consequence of one. */
export type LogEvent = LoggedRequest | LaterEvent;

/**
 * How long an event waits for earlier ones. A request that lasts longer than a second is logged within two, so a decision is at
 * most this much older than the first line about it.
 */
const WINDOW_MS = 4_000;
/** Events are sorted and released once per step of this length. */
const STEP_MS = 1_000;
/** Maximum events held. If there are more, the earlier half is released. */
const MAX_HELD = 400_000;

interface Source {
  readonly pieces: AsyncGenerator<LoggedRequest[]>;
  latestMs: number;
}

export interface MergeOptions {
  /** Whether the ends of requests are events as well. Default false. */
  readonly withEnds?: boolean;
  /** Which addresses count as one. Default: as in a gateway without limits.yaml. */
  readonly keying?: AddressKeying;
  /** Which requests return units. Default: those for which the log shows a return. */
  readonly returns?: Pick<Returns, 'includes'>;
}

/** Yields the events of several logs in chronological order. Holds a few seconds of events. */
export async function* mergeLogs(
  paths: readonly string[],
  counts: ReadCounts,
  { withEnds = false, keying = DEFAULT_KEYING, returns = new Returns({ buckets: [] }) }: MergeOptions = {},
): AsyncGenerator<LogEvent[]> {
  let sources: Source[] = paths.map(path => ({ pieces: readLogFile(path, counts), latestMs: 0 }));
  let held: LogEvent[] = [];
  let releasedMs = 0;
  while (sources.length > 0) {
    const behind = sources.reduce((first, next) => (next.latestMs < first.latestMs ? next : first));
    const piece = await behind.pieces.next();
    if (piece.done === true) sources = sources.filter(source => source !== behind);
    else {
      for (const request of piece.value) {
        behind.latestMs = Math.max(behind.latestMs, request.writtenAtMs);
        hold(held, withKey(request, keying), withEnds, returns.includes(request));
      }
    }
    const safeMs = Math.min(...sources.map(({ latestMs }) => latestMs)) - WINDOW_MS;
    if (held.length > MAX_HELD || (safeMs > releasedMs + STEP_MS && sources.length > 0)) {
      held.sort(inOrder);
      const at = held.length > MAX_HELD ? MAX_HELD / 2 : firstAfter(held, safeMs);
      releasedMs = safeMs;
      yield held.slice(0, at);
      held = held.slice(at);
    }
  }
  yield held.sort(inOrder);
}

/** Identifies a caller that counts by its address as these limits would. */
function withKey(request: LoggedRequest, keying: AddressKeying): LoggedRequest {
  const { client, caller, callerClass } = request;
  const isOther = keying !== DEFAULT_KEYING && callerClass === 'address' && caller === addressKey(client);
  return isOther ? { ...request, caller: addressKey(client, keying) } : request;
}

function hold(held: LogEvent[], request: LoggedRequest, withEnds: boolean, returned: boolean): void {
  const { part, decidedAtMs, writtenAtMs, sequence, facts, price } = request;
  if (part !== 'end') held.push(request);
  // A line is written at the end, except those about requests that are still running.
  if (withEnds && part !== 'begin')
    held.push({ kind: 'end', decidedAtMs: Math.max(decidedAtMs, writtenAtMs), sequence, request });
  if (price !== null && part !== 'begin')
    held.push({ kind: 'price', decidedAtMs: Math.max(decidedAtMs, writtenAtMs), sequence, request });
  const offence = facts?.offence ?? null;
  if (returned) {
    // If the line says when the offence counted, the unit was returned just before.
    const atMs = offence?.atMs ?? facts?.returnedAtMs ?? Math.max(decidedAtMs, writtenAtMs);
    held.push({ kind: 'refund', decidedAtMs: atMs, sequence, request });
  }
  if (offence !== null) held.push({ kind: 'offence', decidedAtMs: offence.atMs, sequence, request });
}

function inOrder(one: LogEvent, other: LogEvent): number {
  if (one.decidedAtMs !== other.decidedAtMs) return one.decidedAtMs - other.decidedAtMs;
  return one.sequence - other.sequence || (one.kind < other.kind ? -1 : 1);
}

function firstAfter(sorted: readonly LogEvent[], ms: number): number {
  const at = sorted.findIndex(({ decidedAtMs }) => decidedAtMs > ms);
  return at === -1 ? sorted.length : at;
}
