import { GrowingBytes } from '../../core/index.ts';
import type { BodyTerms } from '../../http1/index.ts';
import { type Exchange, SERVED, type Served } from '../exchange/index.ts';
import { bodyTooLarge } from '../responses/index.ts';

/**
 * The body is small, so one deadline covers all of it. `readWhole` limits the size of the data but not of its framing, which a
 * client cannot control; the deadline limits that well enough.
 */
const BODY_TERMS: BodyTerms = { maxBytes: null, minBytesPerS: null, deadlineMs: 10_000 };

/** Reads the whole body, then answers. If the client disconnects before the end of the body, nothing is done for it. */
export function readWhole(exchange: Exchange, maxBytes: number, then: (body: Buffer) => Served): Served {
  if (exchange.bodyLength === 0) return then(Buffer.alloc(0));
  if (exchange.bodyLength !== 'chunked' && exchange.bodyLength > maxBytes)
    return exchange.answerError(bodyTooLarge());
  const joined = new GrowingBytes(maxBytes);
  let whole: Buffer = Buffer.alloc(0);
  exchange.downstream.body(BODY_TERMS).start({
    chunk: bytes => {
      if (!exchange.response.isAwaited) return true;
      if (whole.length + bytes.length > maxBytes) exchange.answerError(bodyTooLarge());
      else whole = joined.join(whole, bytes);
      return true;
    },
    end: () => {
      if (exchange.response.isAwaited) then(whole);
    },
    fail: () => {},
  });
  // The body ends, breaks off with its connection, or misses the deadline above, which its listener answers.
  return SERVED;
}

/** Answers with what a promise brings, which has to settle. Does nothing if the client has gone by then. */
export function answerLater<Outcome>(
  exchange: Exchange,
  outcome: Promise<Outcome>,
  reply: (outcome: Outcome) => Served,
): Served {
  outcome.then(
    value => {
      if (exchange.response.isAwaited) exchange.contain(() => reply(value));
    },
    (fault: unknown) => {
      if (exchange.response.isAwaited) exchange.fault(fault);
    },
  );
  // One of both answers.
  return SERVED;
}
