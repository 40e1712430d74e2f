import { describe, expect, test } from 'vitest';
import { type BodyLength, NO_NAMES } from '../../../../src/core/index.ts';
import type { OutgoingRequest } from '../../../../src/wire/http1/index.ts';
import { RequestSender } from '../../../../src/wire/http1/request-writer.ts';
import { HandBody } from '../../../support/hand-body.ts';
import { MemorySocket } from '../../../support/memory-socket.ts';

const turn = () => new Promise<void>(resolve => setImmediate(resolve));

class CountingSocket extends MemorySocket {
  writes = 0;

  override _write(...parameters: Parameters<MemorySocket['_write']>): void {
    this.writes++;
    super._write(...parameters);
  }
}

function sending(body: HandBody | null, bodyLength: BodyLength = body === null ? 0 : 5) {
  const wire = new CountingSocket();
  const owner = { sent: 0, requestSent: () => owner.sent++, broken: 0, requestBroken: () => owner.broken++ };
  const request: OutgoingRequest = {
    ...{
      method: body === null ? 'GET' : 'POST',
      target: '/',
      fields: ['Host', 'a.test', 'X', '\xe9'],
      neverIndexed: NO_NAMES,
    },
    ...{ takesTrailers: false, statesZero: false, upgrade: 'none', bodyLength, body },
    ...{ firstByteTimeoutMs: null, idleTimeoutMs: null },
  };
  const requests = new RequestSender(wire.asSocket, owner);
  requests.begin(request);
  return { wire, requests, owner };
}

test('a request without a body leaves at the end of the turn', async () => {
  const { wire, requests, owner } = sending(null);
  expect(wire.written).toBe('');
  expect(requests.hasLeft).toBe(false);
  await turn();
  expect(wire.written).toBe('GET / HTTP/1.1\r\nHost: a.test\r\nX: \xe9\r\n\r\n');
  expect(requests.hasLeft).toBe(true);
  expect(owner.sent).toBe(1);
});

test('a body that comes in the same turn leaves with its head in one write', async () => {
  const body = new HandBody();
  const { wire, requests } = sending(body);
  body.sink?.chunk(Buffer.from('hello'));
  body.sink?.end();
  await turn();
  expect(wire.written).toBe('POST / HTTP/1.1\r\nHost: a.test\r\nX: \xe9\r\nContent-Length: 5\r\n\r\nhello');
  expect(wire.writes).toBe(1);
  expect(requests.hasLeft).toBe(true);
});

test('a head does not wait for a body that comes later', async () => {
  const body = new HandBody();
  const { wire, requests } = sending(body);
  await turn();
  expect(wire.written).toMatch(/X: \xe9\r\n.*\r\n\r\n$/);
  expect(requests.hasLeft).toBe(false);
  body.sink?.chunk(Buffer.from('hello'));
  body.sink?.end();
  expect(wire.written.endsWith('\r\n\r\nhello')).toBe(true);
  expect(requests.hasLeft).toBe(true);
});

test('nothing is written to a connection that is closed before the end of the turn', async () => {
  const { wire } = sending(null);
  wire.destroy();
  await turn();
  expect(wire.written).toBe('');
});

describe('a body', () => {
  /** Brings the pieces in one turn; returns what was written of the body, and what its source was told of each piece. */
  async function bringing(length: BodyLength, ...pieces: string[]) {
    const body = new HandBody();
    const { wire, requests, owner } = sending(body, length);
    const wanted = pieces.map(piece => body.sink?.chunk(Buffer.from(piece, 'latin1')));
    const brokenBeforeEnd = owner.broken;
    body.sink?.end();
    await turn();
    const at = wire.written.indexOf('\r\n\r\n') + 4;
    return {
      head: wire.written.slice(0, at),
      written: wire.written.slice(at),
      wanted,
      brokenBeforeEnd,
      requests,
      owner,
    };
  }

  const large = '\xe9'.repeat(16_385);

  test.each([
    ['a length', 5, ['hel', 'lo'], 'hello'],
    ['a length, with bytes above 0x7f', 2, ['\xe9', '\xff'], '\xe9\xff'],
    ['a length, in a large piece', 16_385, [large], large],
    ['a length, in a large piece behind a small one', 16_386, ['a', large], `a${large}`],
    ['chunks', 'chunked', ['hel', '\xe9'], '3\r\nhel\r\n1\r\n\xe9\r\n0\r\n\r\n'],
    ['no chunk', 'chunked', [], '0\r\n\r\n'],
    ['chunks without the empty one, which would end it', 'chunked', ['', 'a', ''], '1\r\na\r\n0\r\n\r\n'],
    ['large chunks', 'chunked', [large, large], `${`4001\r\n${large}\r\n`.repeat(2)}0\r\n\r\n`],
  ] as const)('is written with %s', async (_, length, pieces, written) => {
    const sent = await bringing(length, ...pieces);
    expect(sent.head).toMatch(/^POST \/ HTTP\/1\.1\r\nHost: a\.test\r\nX: \xe9\r\n/);
    expect(sent.written).toBe(written);
    expect(sent.owner).toMatchObject({ sent: 1, broken: 0 });
    expect(sent.requests.hasLeft).toBe(true);
  });

  test.each([
    ['longer than its length', ['hello', 'GET', '!'], 'hello', [true, false, false], 1],
    ['longer than its length in one piece', ['hello!'], '', [false], 1],
    ['shorter than its length', ['hell', ''], 'hell', [true, true], 0],
  ] as const)(
    'breaks the request off where it is %s',
    async (_, pieces, written, wanted, brokenBeforeEnd) => {
      const broken = await bringing(5, ...pieces);
      expect(broken).toMatchObject({ written, wanted, brokenBeforeEnd });
      expect(broken.owner).toMatchObject({ sent: 0, broken: 1 });
      expect(broken.requests.hasLeft).toBe(false);
    },
  );

  test('that fails breaks its request off once, whatever its source does then', () => {
    const body = new HandBody();
    const { owner } = sending(body);
    body.sink?.fail();
    body.sink?.fail();
    body.sink?.end();
    expect(body.sink?.chunk(Buffer.from('hello'))).toBe(false);
    expect(owner).toMatchObject({ sent: 0, broken: 1 });
  });

  test('goes nowhere once its request is stopped, and its source is paused', async () => {
    for (const kind of ['with a body', 'without one']) {
      const body = kind === 'with a body' ? new HandBody() : null;
      const { wire, requests, owner } = sending(body, body === null ? 0 : 'chunked');
      requests.stop();
      if (body !== null) expect(body.sink?.chunk(Buffer.from('hello'))).toBe(false);
      body?.sink?.end();
      body?.sink?.fail();
      requests.drained();
      await turn();
      expect(wire.written, kind).toBe('');
      expect(owner, kind).toMatchObject({ sent: 0, broken: 0 });
    }
  });

  test('waits while the upstream takes nothing, and flows again once, if it is not over', async () => {
    const body = new HandBody();
    const { wire, requests, owner } = sending(body, 'chunked');
    wire.hold();
    body.paused = true;
    requests.drained();
    expect(body.paused).toBe(true);
    expect(body.sink?.chunk(Buffer.alloc(70_000))).toBe(false);
    await turn();
    requests.drained();
    expect(body.paused).toBe(false);
    body.paused = true;
    requests.drained();
    expect(body.paused).toBe(true);
    expect(body.sink?.chunk(Buffer.alloc(70_000))).toBe(false);
    body.sink?.end();
    requests.drained();
    expect(body.paused).toBe(true);
    expect(owner.sent).toBe(1);
    expect(requests.hasLeft).toBe(false);
    wire.release();
    expect(requests.hasLeft).toBe(true);
  });
});

describe('the time of the upstream', () => {
  test('runs once it has the whole request, and starts again with each interim response', async () => {
    const { requests } = sending(null);
    await turn();
    expect([0, 0, 1, 1].map(interim => requests.waitsForUpstream(interim))).toEqual([
      false,
      true,
      false,
      true,
    ]);
  });

  test('does not run while a client is slow with its body', async () => {
    const { requests } = sending(new HandBody());
    await turn();
    expect([0, 0].map(interim => requests.waitsForUpstream(interim))).toEqual([false, false]);
  });

  test('runs while it does not take the body, and not while it takes a part', async () => {
    const body = new HandBody();
    const { wire, requests } = sending(body, 'chunked');
    wire.hold();
    body.sink?.chunk(Buffer.alloc(70_000));
    await turn();
    expect([0, 0].map(interim => requests.waitsForUpstream(interim))).toEqual([false, true]);
    wire.release();
    await turn();
    expect([0, 0].map(interim => requests.waitsForUpstream(interim))).toEqual([false, false]);
  });
});

test('a request is unsent until the end of the turn, and if its first write fails', async () => {
  const { requests } = sending(null);
  expect(requests.isUnsent).toBe(true);
  await turn();
  expect(requests.isUnsent).toBe(false);
  const broken = sending(null);
  Object.defineProperty(broken.wire, 'errored', { value: new Error('EPIPE') });
  await turn();
  expect(broken.requests.isUnsent).toBe(true);
});
