import { describe, expect, test } from 'vitest';
import type { BodyLength } from '../../../../src/core/index.ts';
import { type BodyTerms, MalformedMessage, NO_TERMS } from '../../../../src/wire/http1/index.ts';
import { RequestBody } from '../../../../src/wire/http1/request-body.ts';

/** A body, a record of the calls to its owner, and a sink that records what it gets. */
class Hands {
  readonly told: string[] = [];
  readonly taken: string[] = [];
  /** What the sink says of each piece. */
  wantsMore = true;
  readonly body: RequestBody;

  constructor(framing: BodyLength, terms: Partial<BodyTerms> = {}) {
    this.body = new RequestBody(framing, {
      bodyStarted: () => this.told.push('started'),
      bodyFlowChanged: () => this.told.push('flow'),
      bodyTooLarge: () => this.told.push('too large'),
    }).withTerms({ ...NO_TERMS, ...terms });
  }

  start(): this {
    this.body.start({
      chunk: bytes => {
        this.taken.push(bytes.toString('latin1'));
        return this.wantsMore;
      },
      end: () => this.taken.push('END'),
      fail: () => this.taken.push('FAIL'),
    });
    return this;
  }

  read(text: string): number {
    return this.body.read(Buffer.from(text, 'latin1'));
  }
}

describe('a body', () => {
  test('flows once it is started, and notifies its owner', () => {
    const { body, told } = new Hands(5);
    expect(body).toMatchObject({ flows: false, started: false, paused: false, done: false, bytes: 0 });
    body.start({ chunk: () => true, end() {}, fail() {} });
    expect(body).toMatchObject({ flows: true, started: true });
    expect(told).toEqual(['started']);
  });

  test('with a length ends with its last byte, and leaves what follows', () => {
    const hands = new Hands(5).start();
    expect(hands.read('hel')).toBe(3);
    expect(hands.body.done).toBe(false);
    expect(hands.read('loGET')).toBe(2);
    expect(hands.body).toMatchObject({ done: true, bytes: 5 });
    expect(hands.taken).toEqual(['hel', 'lo', 'END']);
  });

  test('in chunks ends after its trailers, which are dropped, and leaves what follows', () => {
    const hands = new Hands('chunked').start();
    expect(hands.read('3\r\nhel\r\n2;x=y\r\nl')).toBe(16);
    expect(hands.read('o\r\n0\r\nX: y\r\n\r\nGET')).toBe(14);
    expect(hands.body).toMatchObject({ done: true, bytes: 5 });
    expect(hands.taken).toEqual(['hell', 'o', 'END']);
  });

  test('in broken chunks is rejected, and its sink sees no end', () => {
    const hands = new Hands('chunked').start();
    hands.read('2\r\nhi');
    expect(() => hands.read('!')).toThrow(MalformedMessage);
    expect(hands.taken).toEqual(['hi']);
    expect(hands.body.done).toBe(false);
  });
});

describe('a pause', () => {
  test('follows a read after which the sink has enough, and all of that read is passed on', () => {
    const hands = new Hands('chunked').start();
    hands.wantsMore = false;
    hands.read('1\r\na\r\n1\r\nb\r\n');
    expect(hands.taken).toEqual(['ab']);
    expect(hands.body).toMatchObject({ paused: true, flows: false });
    expect(hands.told).toEqual(['started', 'flow']);
  });

  test('ends when the sink wants more', () => {
    const hands = new Hands(5).start();
    hands.body.pause();
    expect(hands.body.flows).toBe(false);
    hands.body.resume();
    expect(hands.body).toMatchObject({ paused: false, flows: true });
    expect(hands.told).toEqual(['started', 'flow', 'flow']);
  });

  test('does not hold up a body that goes nowhere', () => {
    const hands = new Hands(5).start();
    hands.body.pause();
    hands.body.discard();
    expect(hands.body.flows).toBe(true);
  });
});

describe('a bound', () => {
  test.each([
    ['of a length', 6, 5, 'hello', '!'],
    ['in chunks, what frames them counted', 'chunked', 10, '5\r\nhello\r\n', '1\r\n!\r\n0\r\n\r\n'],
    ['in chunks, up to what ends them', 'chunked', 14, '5\r\nhello\r\n0\r\n\r', '\n'],
    ['in chunks, with their extensions', 'chunked', 20, '5;a\r\nhello\r\n', `1;${'a'.repeat(20)}\r\n`],
  ] as const)('lets exactly that many bytes pass: %s', (_, framing, maxBytes, first, second) => {
    const hands = new Hands(framing, { maxBytes }).start();
    hands.read(first);
    expect(hands.told).toEqual(['started']);
    hands.read(second);
    expect(hands.told).toEqual(['started', 'too large']);
    // Its end would make a whole of a part.
    expect(hands.taken).toEqual(['hello']);
  });

  test('is reported once, however much follows', () => {
    const hands = new Hands('chunked', { maxBytes: 1 }).start();
    hands.read('2\r\nab\r\n2\r\ncd\r\n');
    hands.read('2\r\nef\r\n0\r\n\r\n');
    expect(hands.told).toEqual(['started', 'too large']);
    expect(hands.taken).toEqual([]);
  });

  test('may be null, or as small as an empty body in chunks', () => {
    const unbound = new Hands(100_000).start();
    unbound.read('x'.repeat(100_000));
    expect(unbound.taken).toHaveLength(2);
    const none = new Hands('chunked', { maxBytes: 5 }).start();
    none.read('0\r\n\r\n');
    expect(none.taken).toEqual(['END']);
  });
});

describe('a body that is thrown away', () => {
  test('by its sink, at the last piece, has no end there', () => {
    const { body } = new Hands(5);
    const ends: string[] = [];
    const chunk = (): boolean => {
      body.discard();
      return true;
    };
    body.start({ chunk, end: () => ends.push('end'), fail() {} });
    expect(body.read(Buffer.from('hello'))).toBe(5);
    expect(ends).toEqual([]);
  });

  test('flows to its end and is discarded, whether it had a sink or not', () => {
    const untaken = new Hands(5);
    untaken.body.discard();
    expect(untaken.told).toEqual(['flow']);
    expect(untaken.body.flows).toBe(true);
    expect(untaken.read('helloGET')).toBe(5);
    expect(untaken.body).toMatchObject({ done: true, bytes: 0 });

    const taken = new Hands(5).start();
    taken.read('he');
    taken.body.discard();
    expect(taken.read('lloGET')).toBe(3);
    expect(taken.body.done).toBe(true);
    expect(taken.taken).toEqual(['he']);
  });

  test('has no limit but its time', () => {
    const hands = new Hands(5, { maxBytes: 1, minBytesPerS: 1 });
    hands.body.discard();
    expect(hands.body.terms).toEqual({ maxBytes: null, minBytesPerS: null, deadlineMs: 30_000 });
    hands.read('hello');
    expect(hands.told).toEqual(['flow']);
  });
});
