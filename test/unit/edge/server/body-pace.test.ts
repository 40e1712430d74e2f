import { describe, expect, test } from 'vitest';
import type { BodyLength } from '../../../../src/core/index.ts';
import { BodyPace } from '../../../../src/edge/server/body-pace.ts';
import { type BodyTerms, NO_TERMS, RequestBody } from '../../../../src/wire/http1/index.ts';

/** A body whose pace is watched as a connection does it. */
class Watched {
  readonly body: RequestBody;
  readonly #pace = new BodyPace();

  constructor(length: BodyLength, terms: Partial<BodyTerms>) {
    this.body = new RequestBody(length, {
      bodyStarted() {},
      bodyFlowChanged: () => (this.body.flows ? undefined : this.#pace.wasPaused()),
      bodyTooLarge() {},
    }).withTerms({ ...NO_TERMS, ...terms });
  }

  start(): this {
    this.body.start({ chunk: () => true, end() {}, fail() {} });
    return this;
  }

  read(text: string): void {
    this.body.read(Buffer.from(text, 'latin1'));
  }

  isTooSlow(nowMs: number): boolean {
    return this.#pace.isTooSlow(nowMs, this.body);
  }
}

describe('a body is too slow', () => {
  /** Whether it is found too slow at any of so many sweeps, one a second. */
  function isEverTooSlow(
    watched: Watched,
    seconds: number,
    each: (second: number) => void = () => {},
    first = 0,
  ): boolean {
    let tooSlow = false;
    for (let second = first; second < first + seconds; second++) {
      each(second);
      tooSlow ||= watched.isTooSlow(second * 1_000);
    }
    return tooSlow;
  }

  test('past its deadline, whatever comes', () => {
    const watched = () => new Watched(1_000, { deadlineMs: 10_000 }).start();
    expect(isEverTooSlow(watched(), 11)).toBe(false);
    const trickling = watched();
    expect(isEverTooSlow(trickling, 13, () => void trickling.read('x'))).toBe(true);
  });

  test('below its rate, once half a minute has gone', () => {
    const atRate = (bytes: number) => {
      const watched = new Watched(1_000_000, { minBytesPerS: 240 }).start();
      return (seconds: number) => isEverTooSlow(watched, seconds, () => void watched.read('x'.repeat(bytes)));
    };
    expect(atRate(1)(31)).toBe(false);
    expect(atRate(1)(33)).toBe(true);
    expect(atRate(230)(60)).toBe(true);
    expect(atRate(240)(600)).toBe(false);
  });

  test('by the data it brings, not counting what frames chunks', () => {
    const watched = new Watched('chunked', { minBytesPerS: 240 }).start();
    expect(isEverTooSlow(watched, 33, () => void watched.read('1;x=y\r\nx\r\n'.repeat(50)))).toBe(true);
  });

  test('not counting the time in which it is not read', () => {
    const watched = new Watched(1_000, { minBytesPerS: 240, deadlineMs: 10_000 });
    expect(isEverTooSlow(watched, 100)).toBe(false);
    watched.start();
    watched.body.pause();
    expect(isEverTooSlow(watched, 100)).toBe(false);
    // Between two sweeps it may be read for a moment, and the upstream have enough again.
    const inSpurts = () => {
      watched.body.resume();
      watched.read('x');
      watched.body.pause();
    };
    expect(isEverTooSlow(watched, 100, inSpurts)).toBe(false);
    watched.body.resume();
    expect(isEverTooSlow(watched, 13)).toBe(true);
  });

  test('not for what waited while the process was stopped', () => {
    const watched = new Watched(100_000, { minBytesPerS: 240 }).start();
    watched.isTooSlow(0);
    expect(watched.isTooSlow(100_000)).toBe(false);
    watched.read('x'.repeat(50_000));
    expect(watched.isTooSlow(101_000)).toBe(false);
  });

  test('after half a minute once it is discarded', () => {
    const watched = new Watched(1_000, { deadlineMs: 1 }).start();
    watched.body.discard();
    expect(isEverTooSlow(watched, 31, () => void watched.read('x'))).toBe(false);
    expect(watched.isTooSlow(33_000)).toBe(true);
  });

  test('counting from the moment when its terms changed', () => {
    const watched = new Watched(1_000, {}).start();
    const trickle = () => void watched.read('x');
    expect(isEverTooSlow(watched, 20, trickle)).toBe(false);
    watched.body.discard();
    expect(isEverTooSlow(watched, 31, trickle, 20)).toBe(false);
    expect(isEverTooSlow(watched, 3, trickle, 51)).toBe(true);
  });
});
