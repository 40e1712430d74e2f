import { describe, expect, test, vi } from 'vitest';
import { SlabStore } from '../../../../src/upstream/pool.ts';
import { MalformedMessage } from '../../../../src/wire/http1/message.ts';
import { ResponseReader } from '../../../../src/wire/http1/response-reader.ts';
import { CollectingSink } from '../../../support/collecting-sink.ts';
import { usedBytes } from '../../../support/memory.ts';

const MAX_HEAD_BYTES = 1_024;
const OK = 'HTTP/1.1 200 OK\r\n';

/** A reader in the hands of a test, which gives it one read after the other. */
class Reading {
  readonly sink = new CollectingSink();
  readonly reader: ResponseReader;
  readonly slab = new SlabStore().take();
  readonly #filler: string;

  constructor(method = 'GET', { maxHeadBytes = MAX_HEAD_BYTES, filler = '?', maySwitch = false } = {}) {
    this.reader = new ResponseReader(maxHeadBytes);
    this.reader.begin(method, this.sink, maySwitch);
    this.#filler = filler;
  }

  read(...pieces: string[]): this {
    for (const piece of pieces) {
      // Whatever a copy was not made of is overwritten by the next read.
      this.slab.bytes.fill(this.#filler);
      this.slab.bytes.write(piece, 'latin1');
      this.reader.read(this.slab, piece.length);
    }
    return this;
  }
}

function read(...pieces: string[]): Reading {
  return new Reading().read(...pieces);
}

describe('a response that comes in one read', () => {
  test.each([
    ['by length', `${OK}Content-Length: 5\r\n\r\nhello`, 'hello', '5'],
    ['of length zero', `${OK}Content-Length: 0\r\n\r\n`, '', '0'],
    [
      'in chunks, whose length is then stated',
      `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`,
      'hello',
      '5',
    ],
    ['in no chunks', `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, '', '0'],
  ])('is handed on whole: %s', (_, bytes, body, length) => {
    const { sink, reader } = read(bytes);
    expect(sink.events).toEqual(['whole 200']);
    expect(sink.body).toBe(body);
    expect(sink.fields).toEqual(['Content-Length', length]);
    expect(reader).toMatchObject({ over: true, last: { close: false, bodiless: body === '' } });
  });

  test('is handed on whole up to 16 KiB, and in pieces beyond', () => {
    const head = `${OK}Content-Length: 16339\r\n\r\n`;
    expect(head.length + 16_339).toBe(16_384 - 3);
    expect(read(head + 'x'.repeat(16_339)).sink.events).toEqual(['whole 200']);
    const longer = read(`${OK}Content-Length: 16343\r\n\r\n${'y'.repeat(16_343)}`).sink;
    expect(longer.events).toEqual(['head 200 16343', 'end']);
    expect(longer.body).toBe('y'.repeat(16_343));
  });

  test('is not handed on whole with trailers, which have to follow the body', () => {
    const { sink } = read(`${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: b\r\n\r\n`);
    expect(sink.events).toEqual(['head 200 null', 'end']);
    expect(sink).toMatchObject({ body: 'ok', trailers: ['A', 'b'] });
  });

  test('ends with the connection if nothing else ends it', () => {
    const { sink, reader } = read(`${OK}\r\nhello`);
    expect(sink.events).toEqual(['head 200 null']);
    expect(reader.ended()).toBe(true);
    expect(sink).toMatchObject({ events: ['head 200 null', 'end'], trailers: [] });
    expect(reader).toMatchObject({ over: true, last: { close: true } });
  });

  test.each([
    ['HEAD', 'HEAD', `${OK}Content-Length: 5\r\n\r\n`],
    ['HEAD, in chunks', 'HEAD', `${OK}Transfer-Encoding: chunked\r\n\r\n`],
    ['204', 'GET', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['304', 'GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n'],
  ])('has no body after %s', (_, method, bytes) => {
    const { sink, reader } = new Reading(method).read(bytes);
    expect(sink.events[0]).toMatch(/^whole/);
    expect(sink.body).toBe('');
    expect(reader).toMatchObject({ over: true, last: { close: false, bodiless: true } });
  });
});

test.each(['?', 'x', ':', ' ', '\r', '\n', '\0'])(
  'a response is the same, wherever it is split, before %j of an earlier read',
  filler => {
    const bytes = `HTTP/1.1 103 Early\r\nA: 1\r\n\r\n${OK}B: \xff\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\n\0\r\n\r\n1\r\n\xfe\r\n0\r\nC: 2\r\n\r\n`;
    const expected = {
      body: '\0\r\n\xfe',
      fields: ['B', '\xff'],
      trailers: ['C', '2'],
      events: ['info 103', 'head 200 null', 'end'],
    };
    const sinkOf = (...pieces: string[]) => new Reading('GET', { filler }).read(...pieces).sink;
    expect(sinkOf(bytes)).toMatchObject(expected);
    expect(sinkOf(...bytes)).toMatchObject(expected);
    for (let at = 1; at < bytes.length; at++)
      expect(sinkOf(bytes.slice(0, at), bytes.slice(at))).toMatchObject(expected);
  },
);

describe('a body in several reads', () => {
  test('flows as it comes', () => {
    const reading = read(`${OK}Content-Length: 8\r\n\r\n`);
    expect(reading.sink.events).toEqual(['head 200 8']);
    expect(reading.reader).toMatchObject({
      inBody: true,
      over: false,
      last: { begun: true, bodiless: true },
    });
    reading.read('hel', 'lo');
    expect(reading.reader.last.bodiless).toBe(false);
    reading.read('you');
    expect(reading.sink).toMatchObject({ pieces: ['hel', 'lo', 'you'], events: ['head 200 8', 'end'] });
    expect(reading.reader).toMatchObject({ inBody: false, over: true });
  });

  test('has not begun for its sink where its first bytes are malformed', () => {
    const reading = new Reading();
    expect(() => reading.read(`${OK}Transfer-Encoding: chunked\r\n\r\nx`)).toThrow(MalformedMessage);
    expect(reading.reader.inBody).toBe(false);
    expect(reading.sink.events).toEqual([]);
  });

  test('is passed on as one piece per read, however small its chunks are', () => {
    const reading = new Reading();
    reading.read(`${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`);
    for (const [letter, times] of [
      ['a', 1_000],
      ['b', 3_000],
    ] as const)
      reading.read(`1;e\r\n${letter}\r\n`.repeat(times));
    reading.read('0\r\n\r\n');
    expect(reading.sink.pieces).toEqual(['x', 'a'.repeat(1_000), 'b'.repeat(3_000)]);
    expect(reading.sink.events).toEqual(['head 200 null', 'end']);
  });

  test('is lent in pieces of 2 KiB or more, and copied in smaller ones', () => {
    const reading = read(`${OK}Content-Length: 10000\r\n\r\n`);
    reading.sink.takesAtOnce = false;
    reading.read('a'.repeat(2_047));
    expect(reading.slab.lent).toBe(false);
    reading.read('b'.repeat(2_048));
    expect(reading.slab.lent).toBe(true);
    expect(reading.sink.lent.map(({ piece }) => piece.length)).toEqual([2_048]);
    expect(reading.sink.lent[0]?.piece.buffer).toBe(reading.slab.bytes.buffer);
    reading.sink.lent[0]?.taken();
    expect(reading.slab.lent).toBe(false);
    const chunked = read(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
    chunked.sink.takesAtOnce = false;
    chunked.read(`7ff\r\n${'c'.repeat(2_047)}\r\n`);
    expect(chunked.slab.lent).toBe(false);
  });

  test('is not lent after a head that came in pieces, since those bytes were copied already', () => {
    const reading = new Reading();
    reading.sink.takesAtOnce = false;
    reading.read(`${OK}Content-`, `Length: 20000\r\n\r\n${'x'.repeat(20_000)}`);
    expect(reading.slab.lent).toBe(false);
    reading.slab.bytes.fill('?');
    expect(reading.sink).toMatchObject({ body: 'x'.repeat(20_000), events: ['head 200 20000', 'end'] });
  });

  test('reports when the sink has enough, and still passes on the rest of the read', () => {
    const reading = read(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
    reading.sink.wantsMore = false;
    reading.slab.bytes.write('1\r\na\r\n1\r\nb\r\n');
    expect(reading.reader.read(reading.slab, 12)).toBe(false);
    expect(reading.sink.body).toBe('ab');
    reading.sink.wantsMore = true;
    reading.slab.bytes.write('1\r\nc\r\n');
    expect(reading.reader.read(reading.slab, 6)).toBe(true);
    reading.sink.wantsMore = false;
    reading.slab.bytes.write('1\r\nd\r\n0\r\n\r\n');
    // It is over: whatever comes now is not the sink's.
    expect(reading.reader.read(reading.slab, 11)).toBe(true);
    expect(reading.sink.events.at(-1)).toBe('end');
  });

  test('does not end with the connection, unless nothing else ends it', () => {
    for (const framing of ['Content-Length: 5', 'Transfer-Encoding: chunked']) {
      const { sink, reader } = read(`${OK}${framing}\r\n\r\n`, '1');
      expect(reader.ended()).toBe(false);
      expect(sink.events).not.toContain('end');
    }
  });
});

describe('bytes behind a response', () => {
  const REST = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned';
  test.each([
    ['a length', 'GET', `${OK}Content-Length: 2\r\n\r\nok`],
    ['chunks', 'GET', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`],
    ['trailers', 'GET', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: b\r\n\r\n`],
    ['HEAD', 'HEAD', `${OK}Content-Length: 2\r\n\r\n`],
    ['204', 'GET', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['a length of zero', 'GET', `${OK}Content-Length: 0\r\n\r\n`],
  ])('are not part of it and end the connection: %s', (_, method, response) => {
    const { sink, reader } = new Reading(method).read(response + REST);
    expect(sink.body).toBe(response.includes('ok') ? 'ok' : '');
    expect(reader).toMatchObject({ over: true, last: { close: true } });
    const split = new Reading(method).read(response.slice(0, -1), response.slice(-1) + REST);
    expect(split.sink.body).toBe(sink.body);
    expect(split.reader).toMatchObject({ over: true, last: { close: true } });
  });
});

describe('interim responses', () => {
  test('come before the final one, in order, without 100', () => {
    const { sink, reader } = read(
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: 1\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`,
    );
    expect(sink).toMatchObject({ body: 'ok', events: ['info 103', 'info 102', 'whole 200'] });
    expect(reader.last.close).toBe(false);
  });

  test('are 16 at most between two sweeps, and any number in all', () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
    const reading = read();
    for (const count of [16, 32, 48]) {
      reading.read(interim.repeat(16));
      expect(reading.reader.last.interim.sweep()).toBe(count);
    }
    expect(() => read(interim.repeat(17))).toThrow('too many interim responses');
    expect(() => read(...Array(17).fill(interim))).toThrow('too many interim responses');
  });

  test('are counted anew for each response', () => {
    const reading = read(`${'HTTP/1.1 103 Early\r\n\r\n'.repeat(16)}${OK}Content-Length: 0\r\n\r\n`);
    reading.reader.begin('GET', reading.sink);
    reading.read(`${'HTTP/1.1 103 Early\r\n\r\n'.repeat(16)}${OK}Content-Length: 0\r\n\r\n`);
    expect(reading.sink.events.filter(event => event === 'whole 200')).toHaveLength(2);
  });

  test('may say that the connection will close', () => {
    const { reader } = read(`HTTP/1.1 103 Early\r\nConnection: close\r\n\r\n${OK}Content-Length: 0\r\n\r\n`);
    expect(reader).toMatchObject({ over: true, last: { close: true } });
  });

  test.each([
    ['101: an upgrade was not offered', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
    ['in HTTP/1.0, which knows none', 'HTTP/1.0 103 Early\r\n\r\n'],
  ])('are refused: %s', (_, bytes) => {
    expect(() => read(bytes)).toThrow(MalformedMessage);
  });
});

describe('a switch of protocols', () => {
  const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n';

  test('ends the reading, behind other interim responses, and keeps what follows', () => {
    for (const pieces of [
      [`${SWITCH}frames`],
      ['HTTP/1.1 103 Early\r\n\r\n', SWITCH.slice(0, 20), `${SWITCH.slice(20)}frames`],
    ]) {
      const { reader, sink } = new Reading('GET', { maySwitch: true }).read(...pieces);
      expect(reader).toMatchObject({ over: true, last: { switched: { fields: ['Upgrade', 'x'] } } });
      expect(reader.last.switched?.behind.toString()).toBe('frames');
      expect(sink.events).toEqual(pieces.length === 1 ? [] : ['info 103']);
    }
  });

  test('is refused in HTTP/1.0, and where the next request did not ask for it', () => {
    const reading = new Reading('GET', { maySwitch: true });
    expect(() => reading.read(SWITCH.replace('1.1', '1.0'))).toThrow('an upgrade that was not requested');
    reading.reader.begin('GET', reading.sink);
    expect(() => reading.read(SWITCH)).toThrow('an upgrade that was not requested');
  });
});

describe('a head', () => {
  const fill = (bytes: number): string => `${OK}X: ${'x'.repeat(bytes - OK.length - 7)}\r\n\r\n`;

  test('may be as large as its maximum, and not larger', () => {
    expect(fill(MAX_HEAD_BYTES)).toHaveLength(MAX_HEAD_BYTES);
    expect(read(fill(MAX_HEAD_BYTES)).sink.events).toEqual(['head 200 null']);
    expect(() => read(fill(MAX_HEAD_BYTES + 1))).toThrow('too large');
    expect(() => read(...fill(MAX_HEAD_BYTES + 1))).toThrow('too large');
    expect(() => read(fill(MAX_HEAD_BYTES + 1).slice(0, MAX_HEAD_BYTES))).toThrow('too large');
  });

  test('that comes byte by byte is parsed with each at first, and then a few times in all', () => {
    const parsed = vi.spyOn(Buffer.prototype, 'toString');
    const { sink } = new Reading('GET', { maxHeadBytes: 65_536 }).read(...fill(8_000));
    const times = parsed.mock.calls.length;
    parsed.mockRestore();
    expect(sink.events).toEqual(['head 200 null']);
    expect(times).toBeLessThan(1_024 + 10);
  });

  test('that came in pieces leaves no buffer behind in an idle connection', () => {
    const slab = new SlabStore().take();
    const nothing = () => {};
    const sink = { info: nothing, whole: nothing, head: nothing, data: () => true, end: nothing };
    const before = usedBytes();
    const readers = Array.from({ length: 100 }, () => {
      const reader = new ResponseReader(100_000);
      reader.begin('GET', sink);
      for (const piece of [`${OK}X: ${'x'.repeat(40_000)}`, '\r\nContent-Length: 0\r\n\r\n'])
        reader.read(slab, slab.bytes.write(piece, 'latin1'));
      return reader;
    });
    // Each would keep 80 KB.
    expect(usedBytes() - before).toBeLessThan(4_000_000);
    expect(readers.every(reader => reader.over)).toBe(true);
  });

  test('is limited even if much follows in the same read', () => {
    expect(read(`${fill(MAX_HEAD_BYTES)}${'y'.repeat(50_000)}`).sink.body).toHaveLength(50_000);
    expect(() => read(`${fill(MAX_HEAD_BYTES + 1)}${'y'.repeat(50_000)}`)).toThrow('too large');
  });

  test('of one response is not the beginning of the next', () => {
    const reading = read('HTTP/1.1 2');
    reading.reader.begin('GET', reading.sink);
    expect(reading.reader.last.begun).toBe(false);
    reading.read(`${OK}Content-Length: 0\r\n\r\n`);
    expect(reading.sink.events).toEqual(['whole 200']);
  });
});

describe('a sink that gives the exchange up in the middle of a read', () => {
  test.each([
    ['info', 8],
    ['head', 8],
    ['data', 8],
    ['info', 1],
    ['head', 1],
    ['data', 1],
  ] as const)('hears nothing more: in %s, of %i chunks', (when, chunks) => {
    const reading = new Reading();
    const { sink, reader } = reading;
    const calls: string[] = [];
    const record = (name: string): void => {
      calls.push(name);
      if (name === when) reader.giveUp();
    };
    sink.info = () => record('info');
    sink.head = () => record('head');
    sink.data = () => {
      record('data');
      return true;
    };
    sink.end = () => record('end');
    sink.whole = () => record('whole');
    const chunk = `1000\r\n${'x'.repeat(4_096)}\r\n`;
    reading.read(
      `HTTP/1.1 103 Early\r\n\r\n${OK}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(chunks)}0\r\nA: b\r\n\r\n`,
    );
    expect(calls.at(-1)).toBe(when);
    expect(reader.over).toBe(true);
  });
});
