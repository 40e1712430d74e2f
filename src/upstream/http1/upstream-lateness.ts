import type { OutgoingRequest } from '../../http1/index.ts';
import type { UpstreamOptions } from '../options.ts';
import type { UpstreamFailure } from '../transport.ts';

/** What a connection is doing. */
export type Phase =
  /** Being established; the request waits. */
  | 'connecting'
  /** Nothing is in flight. Any byte closes it. */
  | 'idle'
  /** A request is being sent or was sent; the head of its response is not complete. */
  | 'waiting'
  /** The body of a response is coming in. */
  | 'answering'
  | 'closed';

/** How an upstream is late: the failure to report, and what to write to the log. */
export interface Lateness {
  readonly kind: UpstreamFailure['kind'];
  readonly why: string;
}

const CONNECT: Lateness = { kind: 'connect', why: 'the connect timed out' };
const FIRST_BYTE: Lateness = { kind: 'timeout', why: 'no response came in time' };
const IDLE_BODY: Lateness = { kind: 'truncated', why: 'the response stood still for too long' };

/** Decides whether the upstream has kept a request waiting for too long; null: it is in time. */
export function lateness(
  phase: Phase,
  waitedMs: number,
  { connectTimeoutMs }: UpstreamOptions,
  request: OutgoingRequest | null,
): Lateness | null {
  switch (phase) {
    case 'connecting':
      return waitedMs > connectTimeoutMs ? CONNECT : null;
    case 'waiting':
      return waitedMs > (request?.firstByteTimeoutMs ?? Number.POSITIVE_INFINITY) ? FIRST_BYTE : null;
    case 'answering':
      return waitedMs > (request?.idleTimeoutMs ?? Number.POSITIVE_INFINITY) ? IDLE_BODY : null;
    case 'idle':
    case 'closed':
      return null;
  }
}
