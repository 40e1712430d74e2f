import type { TraceRecord } from '../../core/index.ts';
import { type RequestHead, readTraceParent } from '../../wire/http/index.ts';

/** An exchange's place in a trace. */
export interface Trace extends TraceRecord {
  /** The received `tracestate`; `null` if there was none. */
  readonly state: string | null;
}

const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;
/** Hexadecimal digits of a trace id's random part that fit a number (OpenTelemetry, probability sampling). */
const SAMPLING_DIGITS = 13;
const SAMPLING_AT = TRACE_DIGITS - 14;
const SAMPLING_RANGE = 16 ** SAMPLING_DIGITS;

/**
 * Continues the trace of a trusted proxy, including its sampling decision, or begins one. The head only has a trace if a trusted
 * proxy sent it.
 *
 * @param share the share of new traces that are recorded, 0 to 1
 * @param hex returns that many random bytes in hexadecimal
 */
export function beginTrace(head: RequestHead, share: number, hex: (bytes: number) => string): Trace {
  const parent = head.traceParent === null ? null : readTraceParent(head.traceParent);
  const ids = hex((TRACE_DIGITS + 2 * SPAN_DIGITS) / 2);
  const traceId = parent === null ? ids.slice(0, TRACE_DIGITS) : parent.traceId;
  return {
    traceId,
    parentId: parent === null ? null : parent.spanId,
    spanId: ids.slice(TRACE_DIGITS, TRACE_DIGITS + SPAN_DIGITS),
    upstreamSpanId: ids.slice(TRACE_DIGITS + SPAN_DIGITS),
    sampled: parent === null ? isSampled(traceId, share) : parent.sampled,
    state: parent === null ? null : head.traceState,
  };
}

/** Derives the decision from the id, so that all services with the same share agree. */
function isSampled(traceId: string, share: number): boolean {
  const random = Number.parseInt(traceId.slice(SAMPLING_AT, SAMPLING_AT + SAMPLING_DIGITS), 16);
  return random >= (1 - share) * SAMPLING_RANGE;
}
