import { describe, expect, test } from 'vitest';
import { StreamWaits } from '../../../../../src/edge/server/http2/http2-downstream.ts';
import { NO_TERMS } from '../../../../../src/wire/http1/index.ts';

const READ_TERMS = { clientReadMs: 2_000, minBytesPerS: 10 };

/** A stream in some state, swept twice a second. */
class Swept {
  readonly stream = { unsent: 0, sendWindow: 0, sentBytes: 0 };
  readonly requestBody = { terms: NO_TERMS, flows: true, bytes: 0, wasPaused: false, done: false };
  readonly exchange: { dialect: { isPaced: boolean } };
  bytesReceived = 0;
  awaitsClient = false;
  isAnsweredEarly = false;
  readonly #waits = new StreamWaits();
  #nowMs = 0;

  constructor(isPaced = true) {
    this.exchange = { dialect: { isPaced } };
  }

  /** What the sweeps of so much time find; `between` happens before each. */
  during(ms: number, between: () => void = () => {}): unknown {
    for (const end = this.#nowMs + ms; this.#nowMs < end; ) {
      this.#nowMs += 500;
      between();
      const late = this.#waits.lateness(this.#nowMs, this, 1_000, READ_TERMS);
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
    swept.stream.unsent = 100;
    expect(swept.during(2_500)).toBeNull();
    expect(swept.during(1_000)).toBe('reset');
  });

  test('is reset when its client takes a byte now and then, and less than min_read_rate', () => {
    const swept = new Swept();
    swept.stream.unsent = 100_000;
    expect(swept.during(10_000, () => swept.stream.sentBytes++)).toBe('reset');
  });

  test('is not late while its client takes as much as min_read_rate on average', () => {
    const swept = new Swept();
    swept.stream.unsent = 100_000;
    let sweeps = 0;
    const takesInBursts = () => {
      if (++sweeps % 2 === 0) swept.stream.sentBytes += 12;
    };
    expect(swept.during(60_000, takesInBursts)).toBeNull();
  });

  test('is not late while it waits for something else than its own window', () => {
    const swept = new Swept();
    swept.stream.unsent = 100_000;
    swept.stream.sendWindow = 1;
    expect(swept.during(60_000)).toBeNull();
  });

  test('is answered 408 when its body pauses for client_body, and not while it comes', () => {
    const swept = new Swept();
    swept.awaitsClient = true;
    expect(swept.during(30_000, () => swept.bytesReceived++)).toBeNull();
    expect(swept.during(2_000)).toMatchObject({ status: 408 });
  });

  test('is answered 408 when its body misses its rate, and not while the upstream holds it up', () => {
    const swept = new Swept();
    swept.requestBody.terms = { ...NO_TERMS, minBytesPerS: 100 };
    const held = () => {
      swept.requestBody.wasPaused = true;
    };
    expect(swept.during(60_000, held)).toBeNull();
    expect(swept.during(40_000)).toMatchObject({ status: 408, message: expect.stringContaining('slowly') });
  });

  test('is not late for a slow body that is complete', () => {
    const swept = new Swept();
    swept.requestBody.terms = { ...NO_TERMS, minBytesPerS: 100 };
    expect(swept.during(30_500)).toBeNull();
    swept.requestBody.done = true;
    expect(swept.during(30_000)).toBeNull();
  });

  test('may send as it likes where its dialect sets no pace, as that of a gRPC call, but has to read', () => {
    const swept = new Swept(false);
    swept.awaitsClient = true;
    expect(swept.during(1_000_000)).toBeNull();
    swept.stream.unsent = 100;
    expect(swept.during(10_000)).toBe('reset');
  });

  test('that was answered before its end has a second left, however long it waited before', () => {
    const swept = new Swept();
    swept.awaitsClient = true;
    expect(swept.during(1_000)).toBeNull();
    swept.isAnsweredEarly = true;
    expect(swept.during(1_000)).toBeNull();
    expect(swept.during(500)).toBe('enough');
  });
});
