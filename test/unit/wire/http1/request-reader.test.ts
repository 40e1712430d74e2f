import { describe, expect, test, vi } from 'vitest';
import {
  type IncomingHead,
  MalformedMessage,
  NO_TERMS,
  OtherVersion,
  OversizedHead,
  type RequestBody,
  RequestReader,
} from '../../../../src/wire/http1/index.ts';
import { usedBytes } from '../../../support/memory.ts';

const MAX_HEAD_BYTES = 16_384;
const GET = 'GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n';
const POST = 'POST /b HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n';
const CHUNKED = 'POST /c HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n';

/** What becomes of a request: its body is read at once and the next one follows, or both wait until the test says so. */
type Manner = 'prompt' | 'waits';

/** A reader that is handed bytes, and what it finds in them. */
class Bytes {
  readonly heads: IncomingHead[] = [];
  readonly bodies: string[] = [];
  body: RequestBody | null = null;
  readonly reader: RequestReader;
  readonly #manner: Manner;
  readonly #maxHeadBytes: number;

  constructor(manner: Manner = 'prompt', maxHeadBytes = MAX_HEAD_BYTES) {
    this.#manner = manner;
    this.#maxHeadBytes = maxHeadBytes;
    this.reader = new RequestReader({
      requestBegun: (head, body) => this.#begun(head, body),
      bodyStarted() {},
      bodyFlowChanged: () => void this.reader.read(this.#maxHeadBytes),
      bodyTooLarge() {},
    });
  }

  come(...pieces: string[]): this {
    for (const piece of pieces) {
      this.reader.add(Buffer.from(piece, 'latin1'));
      this.reader.read(this.#maxHeadBytes);
    }
    return this;
  }

  /** Starts the body that waits, and writes down what it brings. */
  take(): this {
    const at = this.bodies.push('') - 1;
    this.body?.withTerms(NO_TERMS).start({
      chunk: bytes => {
        this.bodies[at] += bytes.toString('latin1');
        return true;
      },
      end: () => (this.#manner === 'prompt' ? queueMicrotask(() => this.next()) : undefined),
      fail() {},
    });
    this.reader.read(this.#maxHeadBytes);
    return this;
  }

  next(): this {
    this.reader.next();
    this.reader.read(this.#maxHeadBytes);
    return this;
  }

  get targets(): string[] {
    return this.heads.map(({ target }) => target);
  }

  #begun(head: IncomingHead, body: RequestBody | null): void {
    this.heads.push(head);
    this.body = body;
    if (this.#manner === 'waits') return;
    if (body === null) this.reader.next();
    else this.take();
  }
}

/** What is thrown when these pieces come. */
function faultOf(...pieces: string[]): unknown {
  try {
    new Bytes().come(...pieces);
    return null;
  } catch (fault) {
    return fault;
  }
}

describe('a request', () => {
  test('is the same wherever its bytes are split', async () => {
    for (const [request, body] of [
      [GET, null],
      [`${POST}hello`, 'hello'],
      [`${CHUNKED}2\r\nhe\r\n3;x\r\nllo\r\n0\r\n\r\n`, 'hello'],
    ] as const)
      for (let at = 1; at < request.length; at++) {
        const bytes = new Bytes().come(request.slice(0, at), request.slice(at));
        await Promise.resolve();
        bytes.come(GET);
        expect(bytes.targets, `at ${at}`).toEqual([bytes.heads[0]?.target, '/a']);
        expect(bytes.bodies).toEqual(body === null ? [] : [body]);
      }
  });

  test('follows another in one read', async () => {
    const bytes = new Bytes().come(GET + GET);
    expect(bytes.targets).toEqual(['/a', '/a']);
    expect(bytes.heads[1]?.fields).toBe(bytes.heads[0]?.fields);
    expect(bytes.reader.remembersFields).toBe(true);
  });

  test('waits until the previous one is answered', () => {
    const bytes = new Bytes('waits').come(GET + POST, `hello${GET}`);
    expect(bytes.targets).toEqual(['/a']);
    expect(bytes.next().targets).toEqual(['/a', '/b']);
    expect(bytes.reader.waiting).toBe(5 + GET.length);
    bytes.take();
    expect(bytes.bodies).toEqual(['hello']);
    expect(bytes.targets).toEqual(['/a', '/b']);
    expect(bytes.next().targets).toEqual(['/a', '/b', '/a']);
    expect(bytes.reader.waiting).toBe(0);
  });

  test('with an ambiguous body has none, and nothing after it is read', () => {
    const bytes = new Bytes('waits').come(POST.replace('5', '05') + GET);
    expect(bytes.heads[0]?.framing.bodyLength).toHaveProperty('rejected');
    expect(bytes.body).toBeNull();
    expect(bytes.targets).toEqual(['/b']);
  });
});

describe('a body', () => {
  test('is not read before it is started', () => {
    const bytes = new Bytes('waits').come(POST, 'hel');
    expect(bytes.reader).toMatchObject({ waiting: 3, body: bytes.body, insideHead: false });
    bytes.take().come('lo');
    expect(bytes.bodies).toEqual(['hello']);
    expect(bytes.reader).toMatchObject({ waiting: 0, body: null });
  });

  test('that was never started is skipped once its request is answered', () => {
    const bytes = new Bytes('waits').come(POST, 'hel');
    bytes.next();
    expect(bytes.reader.body).toBe(bytes.body);
    bytes.come(`lo${GET}`);
    expect(bytes.targets).toEqual(['/b', '/a']);
  });

  test('in broken chunks is malformed', () => {
    expect(faultOf(CHUNKED, 'x\r\n')).toBeInstanceOf(MalformedMessage);
  });
});

describe('a head', () => {
  test('is malformed as soon as no further byte could repair it, and of another version if it says so', () => {
    expect(faultOf('GET /a HTTP/1.1\r\nHost : a')).toBeInstanceOf(MalformedMessage);
    expect(faultOf('GET / HTTP/2.0\r\n')).toBeInstanceOf(OtherVersion);
    expect(faultOf('GET /a HTTP/1.1\r\nHost: a')).toBeNull();
  });

  test('may be as large as its cap, and is too large at the cap without an end', () => {
    const filler = (bytes: number) => GET.replace('\r\n\r\n', `\r\nX: ${'x'.repeat(bytes)}\r\n\r\n`);
    const fits = filler(MAX_HEAD_BYTES - filler(0).length);
    for (const cut of [1, 1_000, MAX_HEAD_BYTES - 1])
      expect(new Bytes().come(fits.slice(0, cut), fits.slice(cut)).targets).toEqual(['/a']);
    const larger = fits.replace('xxx', 'xxxx');
    expect(faultOf(larger.slice(0, MAX_HEAD_BYTES - 1))).toBeNull();
    expect(faultOf(larger.slice(0, MAX_HEAD_BYTES))).toBeInstanceOf(OversizedHead);
  });

  test('may follow empty lines, which do not count as part of it', () => {
    const bytes = new Bytes().come('\r\n');
    expect(bytes.reader).toMatchObject({ insideHead: false, waiting: 0 });
    expect(bytes.come('\r').reader.insideHead).toBe(true);
    expect(bytes.come('\n').reader.insideHead).toBe(false);
    expect(bytes.come('G').reader).toMatchObject({ insideHead: true, over: false });
    expect(bytes.come(GET.slice(1)).targets).toEqual(['/a']);
  });
});

describe('the end of the connection', () => {
  test.each([
    ['between requests', 'prompt', ''],
    ['between requests', 'prompt', '\r\n'],
    ['between requests', 'prompt', GET],
    ['inside a request', 'prompt', 'G'],
    ['inside a request', 'prompt', GET.slice(0, -1)],
    ['inside a request', 'prompt', `${POST}hell`],
    ['inside a request', 'waits', POST],
    ['unread', 'waits', GET],
    ['unread', 'waits', `${GET}G`],
    ['unread', 'waits', `${POST}hell`],
  ] as const)('is %s, when requests are served %s: %j', (end, manner, text) => {
    expect(new Bytes(manner).come(text).reader.atEnd).toBe(end);
  });
});

describe('more bytes', () => {
  test('are wanted up to 64 KiB behind a request, and without limit while they are read', () => {
    const bytes = new Bytes('waits').come(POST.replace('5', '99999'), 'x'.repeat(65_535));
    expect(bytes.reader.wantsMore).toBe(true);
    bytes.come('x');
    expect(bytes.reader.wantsMore).toBe(false);
    expect(bytes.reader).toMatchObject({ wantsMore: false, isFull: false });
    bytes.body?.discard();
    expect(bytes.reader).toMatchObject({ wantsMore: true, waiting: 0 });
    const behind = new Bytes('waits').come(GET, 'x'.repeat(65_535));
    expect(behind.reader).toMatchObject({ wantsMore: true, isFull: false });
    behind.come('x');
    expect(behind.reader).toMatchObject({ wantsMore: false, isFull: true });
    behind.reader.giveUp();
    expect(behind.reader).toMatchObject({ wantsMore: true, isFull: false });
  });

  test('are wanted in a head up to its cap, and it is parsed a few times, not with each piece', () => {
    const parsed = vi.spyOn(Buffer.prototype, 'toString');
    const copied = vi.spyOn(Buffer, 'allocUnsafeSlow');
    const bytes = new Bytes('prompt', 200_000);
    const head = (letter: string, length: number) =>
      GET.replace('\r\n\r\n', `\r\nX: ${letter.repeat(length)}\r\n\r\n`);
    const long = head('x', 66_000);
    for (let at = 0; at < long.length; at += 32) {
      bytes.come(long.slice(at, at + 32));
      expect(bytes.reader.wantsMore).toBe(true);
    }
    const [times, rooms] = [parsed.mock.calls.length, copied.mock.calls.length];
    parsed.mockRestore();
    copied.mockRestore();
    expect(bytes.targets).toEqual(['/a']);
    expect(times).toBeLessThan(300);
    expect(rooms).toBeLessThan(20);
    // Too long to be remembered while the connection is idle.
    expect(bytes.reader.remembersFields).toBe(false);
    // The next head begins anew.
    const next = head('y', 2_000);
    expect(bytes.come(next).targets).toEqual(['/a', '/a']);
    expect(bytes.come(next.slice(0, 20), next.slice(20)).targets).toEqual(['/a', '/a', '/a']);
    expect(bytes.reader.remembersFields).toBe(true);
  });

  test('in pieces leave no buffer behind once their request is over', () => {
    const nothing = () => {};
    const owner = {
      requestBegun: nothing,
      bodyStarted: nothing,
      bodyFlowChanged: nothing,
      bodyTooLarge: nothing,
    };
    const head = Buffer.from(GET.replace('\r\n\r\n', `\r\nX: ${'x'.repeat(60_000)}\r\n\r\n`));
    const before = usedBytes();
    const readers = Array.from({ length: 100 }, () => {
      const reader = new RequestReader(owner);
      for (const piece of [head.subarray(0, 30_000), head.subarray(30_000)]) {
        reader.add(piece);
        reader.read(100_000);
      }
      reader.next();
      return reader;
    });
    // Each would keep 128 KiB: 13 MB.
    expect(usedBytes() - before).toBeLessThan(6_000_000);
    expect(readers.every(reader => reader.atEnd === 'between requests')).toBe(true);
  });

  test('behind a request are handed over at its end, and nothing is kept where there are none', () => {
    const bytes = new Bytes('waits').come(`${GET}frames`);
    expect(bytes.reader.takeUnread().toString()).toBe('frames');
    expect(bytes.reader).toMatchObject({ over: true, waiting: 0 });
    expect(new Bytes().come(GET).reader.takeUnread().buffer.byteLength).toBe(0);
  });

  test('are thrown away after the end', () => {
    const bytes = new Bytes().come('GET');
    bytes.reader.giveUp();
    bytes.come(GET);
    expect(bytes.reader).toMatchObject({ over: true, waiting: 0, wantsMore: true, atEnd: 'unread' });
    expect(bytes.targets).toEqual([]);
  });

  test('are not read behind a body at whose end the reader was told to stop', () => {
    const bytes = new Bytes('waits').come(POST);
    bytes.body?.withTerms(NO_TERMS).start({ chunk: () => true, end: () => bytes.reader.giveUp(), fail() {} });
    bytes.come(`12345${GET}`).next();
    expect(bytes.reader).toMatchObject({ over: true, waiting: 0 });
    expect(bytes.targets).toEqual(['/b']);
  });

  test('are not read from within a read', () => {
    const again: boolean[] = [];
    const reader = new RequestReader({
      requestBegun: () => again.push(reader.read(MAX_HEAD_BYTES)),
      bodyStarted() {},
      bodyFlowChanged() {},
      bodyTooLarge() {},
    });
    reader.add(Buffer.from(GET + GET));
    expect(reader.read(MAX_HEAD_BYTES)).toBe(true);
    expect(again).toEqual([false]);
  });
});
