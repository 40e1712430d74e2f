import { describe, expect, test } from 'vitest';
import type { Exchange } from '../../../../src/gateway/index.ts';
import { NO_TERMS } from '../../../../src/http1/index.ts';
import type { ListenerState } from '../../../../src/server/client-connection.ts';
import { FloodWatch } from '../../../../src/server/http2/flood-watch.ts';
import { type Http2Downstream, OpenStream } from '../../../../src/server/http2/http2-downstream.ts';
import { HeadReader } from '../../../../src/server/http2/http2-request-head.ts';

const HEAD = new HeadReader().read([':method', 'GET', ':path', '/', ':authority', 'a.test'], true, 1_000);
const STATE = { timeouts: { clientBodyIdleMs: 1_000, clientReadMs: 2_000 } } as ListenerState;

/** A stream in some state, swept twice a second. */
class Swept {
  readonly stream = { bufferSize: 0, readableLength: 0 };
  readonly body = { terms: NO_TERMS, flows: true, bytes: 0, stoodStill: false, done: false };
  readonly downstream = {
    ...{ stream: this.stream, requestBody: this.body, bytesReceived: 0, awaitsClient: false, writes: 0 },
    ...{ piecesReceived: 0, trailerBytes: 0 },
  };
  readonly open: OpenStream;
  #nowMs = 0;

  constructor(isPaced = true) {
    const exchange = { dialect: { isPaced } } as Exchange;
    this.open = new OpenStream(this.downstream as unknown as Http2Downstream, exchange, HEAD);
  }

  /** What the sweeps of so much time find; `between` happens before each. */
  during(ms: number, between: () => void = () => {}): unknown {
    for (const end = this.#nowMs + ms; this.#nowMs < end; ) {
      this.#nowMs += 500;
      between();
      const late = this.open.lateness(this.#nowMs, STATE);
      if (late !== null) return late;
    }
    return null;
  }
}

describe('a stream', () => {
  test('that waits for its upstream is never late', () => {
    expect(new Swept().during(1_000_000)).toBeNull();
  });

  test('is reset when its client takes nothing of the response for client_read', () => {
    const swept = new Swept();
    swept.stream.bufferSize = 100;
    expect(swept.during(2_500)).toBeNull();
    expect(swept.during(500)).toBe('reset');
  });

  test('is not late while its client takes something now and then', () => {
    const swept = new Swept();
    swept.stream.bufferSize = 100_000;
    expect(swept.during(30_000, () => swept.stream.bufferSize--)).toBeNull();
  });

  test('is answered 408 when its body pauses for client_body, and not while it comes', () => {
    const swept = new Swept();
    swept.downstream.awaitsClient = true;
    expect(swept.during(30_000, () => swept.downstream.bytesReceived++)).toBeNull();
    expect(swept.during(2_000)).toMatchObject({ status: 408 });
  });

  test('is answered 408 when its body misses its rate, and not while the upstream holds it up', () => {
    const swept = new Swept();
    swept.body.terms = { ...NO_TERMS, minBytesPerS: 100 };
    const held = () => {
      swept.body.stoodStill = true;
    };
    expect(swept.during(60_000, held)).toBeNull();
    expect(swept.during(40_000)).toMatchObject({ status: 408, message: expect.stringContaining('slowly') });
  });

  test('is not late for a slow body that is complete', () => {
    const swept = new Swept();
    swept.body.terms = { ...NO_TERMS, minBytesPerS: 100 };
    expect(swept.during(30_500)).toBeNull();
    swept.body.done = true;
    expect(swept.during(30_000)).toBeNull();
  });

  test('is never late where its dialect sets no pace, as that of a gRPC call', () => {
    const swept = new Swept(false);
    swept.downstream.awaitsClient = true;
    swept.stream.bufferSize = 100;
    expect(swept.during(1_000_000)).toBeNull();
  });

  test('explains the bytes of its request, and what each piece of its response makes the client send', () => {
    const swept = new Swept();
    const before = swept.open.explainedBytes;
    expect(before).toBeGreaterThan(HEAD.bytes);
    swept.downstream.bytesReceived = 1_000;
    swept.stream.readableLength = 500;
    expect(swept.open.explainedBytes).toBe(before + 1_500);
    swept.downstream.writes = 10;
    expect(swept.open.explainedBytes).toBe(before + 1_500 + 640);
    swept.downstream.trailerBytes = 2_048;
    expect(swept.open.explainedBytes).toBe(before + 1_500 + 640 + 2_048);
  });

  test('explains the head and the longest padding of each DATA frame that was read, and perhaps one for each byte that waits', () => {
    const swept = new Swept();
    const before = swept.open.explainedBytes;
    swept.downstream.piecesReceived = 100;
    expect(swept.open.explainedBytes).toBe(before + 900 + 25_600);
    expect(swept.open.waitingHeadBytes).toBe(0);
    swept.stream.readableLength = 50;
    expect(swept.open.waitingHeadBytes).toBe(450);
  });
});

describe('a client that streams for ten minutes', () => {
  const MESSAGE_BYTES = 6;
  const HEAD_BYTES = 9;

  /** Seconds after which it is cut off, or null. Each frame holds a message, or nothing. */
  function cutAfter(framesPerS: number, messageBytes: number): number | null {
    const swept = new Swept();
    const watch = new FloodWatch(0);
    const { downstream, open } = swept;
    for (let sweep = 1; sweep <= 1_200; sweep++) {
      const frames = (sweep * framesPerS) / 2;
      downstream.bytesReceived = frames * messageBytes;
      // Node hands on no piece for an empty frame.
      if (messageBytes > 0) downstream.piecesReceived = frames;
      const read = HEAD.bytes + frames * (HEAD_BYTES + messageBytes);
      if (watch.sweep(sweep * 500, read, open.explainedBytes, open.waitingHeadBytes) !== null)
        return sweep / 2;
    }
    return null;
  }

  test.each([12_000, 200_000, 1_200_000])('is never cut off for %i small messages a second', rate => {
    expect(cutAfter(rate, MESSAGE_BYTES)).toBeNull();
    expect(cutAfter(rate, 1)).toBeNull();
  });

  test('is cut off at once for as many frames that hold nothing', () => {
    expect(cutAfter(12_000, 0)).toBeLessThan(10);
    expect(cutAfter(1_200_000, 0)).toBe(0.5);
  });
});
