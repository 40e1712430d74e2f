import { expect, test } from 'vitest';
import { type BodySink, type BodySource, NO_NAMES } from '../../../src/core/index.ts';
import type { OutgoingRequest } from '../../../src/http1/index.ts';
import { RequestSender } from '../../../src/http1/request-writer.ts';
import { MemorySocket } from '../../support/memory-socket.ts';

const turn = () => new Promise<void>(resolve => setImmediate(resolve));

class CountingSocket extends MemorySocket {
  writes = 0;

  override _write(...parameters: Parameters<MemorySocket['_write']>): void {
    this.writes++;
    super._write(...parameters);
  }
}

/** A body that a test brings. */
class Body implements BodySource {
  started = false;
  sink: BodySink | null = null;

  start(sink: BodySink): void {
    this.started = true;
    this.sink = sink;
  }

  pause(): void {}
  resume(): void {}
}

function sending(body: Body | null) {
  const wire = new CountingSocket();
  const owner = { sent: 0, requestSent: () => owner.sent++, requestBroken() {} };
  const request: OutgoingRequest = {
    ...{
      method: body === null ? 'GET' : 'POST',
      target: '/',
      fields: ['Host', 'a.test'],
      neverIndexed: NO_NAMES,
    },
    ...{ takesTrailers: false, upgrade: 'none', bodyLength: body === null ? 0 : 5, body },
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
  expect(wire.written).toBe('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  expect(requests.hasLeft).toBe(true);
  expect(owner.sent).toBe(1);
});

test('a body that comes in the same turn leaves with its head in one write', async () => {
  const body = new Body();
  const { wire, requests } = sending(body);
  body.sink?.chunk(Buffer.from('hello'));
  body.sink?.end();
  await turn();
  expect(wire.written).toBe('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello');
  expect(wire.writes).toBe(1);
  expect(requests.hasLeft).toBe(true);
});

test('a head does not wait for a body that comes later', async () => {
  const body = new Body();
  const { wire, requests } = sending(body);
  await turn();
  expect(wire.written.endsWith('\r\n\r\n')).toBe(true);
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
