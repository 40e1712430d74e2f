import type { Fields } from '../core/index.ts';

// W3C Trace Context (https://www.w3.org/TR/trace-context/).

/** What a valid `traceparent` says. */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Of the sender's span: 16 hexadecimal digits. */
  readonly spanId: string;
  /** The sender records the trace. */
  readonly sampled: boolean;
}

/** Later versions may add further parts; `ff` is not a version. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

/** Reads a `traceparent`; null: it is not valid, and neither is the `tracestate` beside it (3.3). */
export function readTraceParent(text: string): TraceParent | null {
  const [, version, traceId, spanId, flags, rest] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === '00' && rest !== undefined) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** The fields that pass a trace on. `state`: the value of `tracestate`; null if absent. */
export function traceContextFields({ traceId, spanId, sampled }: TraceParent, state: string | null): Fields {
  const parent = `00-${traceId}-${spanId}-0${sampled ? SAMPLED : 0}`;
  return state === null ? ['traceparent', parent] : ['traceparent', parent, 'tracestate', state];
}
