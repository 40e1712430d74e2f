import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { Client, type Dispatcher } from 'undici';
import { emptyReading, type Reading, without } from './reading.ts';

/** What undici reads from a connection that brings these bytes and ends. */
export async function readWithUndici(bytes: Buffer, method: string): Promise<Reading> {
  const reading = emptyReading();
  const wire = new Duplex({
    read() {},
    write(_chunk, _encoding, written) {
      written();
      // Only when its write has returned does undici know that a request is in flight.
      process.nextTick(() => {
        this.push(bytes);
        this.push(null);
      });
    },
  });
  const client = new Client('http://upstream.test', {
    connect: (_options, done) =>
      process.nextTick(done, null, Object.assign(wire, { ref() {}, unref() {} }) as unknown as Socket),
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  await new Promise<void>(done =>
    client.dispatch({ path: '/', method: method as 'GET' }, handler(reading, done)),
  );
  void client.destroy().catch(() => {});
  return reading;
}

function handler(reading: Reading, done: () => void): Dispatcher.DispatchHandler {
  return {
    onRequestStart() {},
    onRequestUpgrade() {
      reading.outcome = 'refused';
    },
    onResponseStart(controller, status) {
      const fields = without(latin1(controller.rawHeaders), 'transfer-encoding');
      if (status < 200) {
        if (status !== 100) reading.interim.push([status, fields]);
        return;
      }
      // undici decodes reasons as UTF-8, so the original bytes are lost.
      Object.assign(reading, { status, reason: null, fields });
    },
    onResponseData(_controller, chunk) {
      reading.body += chunk.toString('latin1');
    },
    onResponseEnd(controller) {
      reading.outcome = 'whole';
      reading.trailers = latin1(controller.rawTrailers);
      done();
    },
    onResponseError(_controller, error) {
      if (error.name === 'HTTPParserError' || error.message.startsWith('bad ')) reading.outcome = 'refused';
      done();
    },
  };
}

/** undici leaves the blanks behind a value, which are no part of it (RFC 9112, 5.1). */
function latin1(raw: unknown): string[] {
  return Array.isArray(raw)
    ? raw.map((bytes: Buffer) => bytes.toString('latin1').replace(/[ \t]+$/, ''))
    : [];
}
