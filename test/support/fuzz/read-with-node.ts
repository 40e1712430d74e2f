import { request as httpRequest, type IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import { emptyReading, type Reading, without } from './reading.ts';

/** What Node's own client reads from a connection that brings these bytes and ends. */
export function readWithNode(bytes: Buffer, method: string): Promise<Reading> {
  const reading = emptyReading();
  const wire = new Duplex({ read() {}, write: (_chunk, _encoding, written) => written() });
  const request = httpRequest({ method, host: 'upstream.test', createConnection: () => wire });
  request.on('information', ({ statusCode, rawHeaders }) => {
    if (statusCode !== 100) reading.interim.push([statusCode, without(rawHeaders, 'transfer-encoding')]);
  });
  request.on('response', response => take(response, reading));
  // An upgrade that was not requested.
  request.on('upgrade', () => {
    reading.outcome = 'refused';
    wire.destroy();
  });
  request.on('error', error => {
    if ('code' in error && String(error.code).startsWith('HPE_')) reading.outcome = 'refused';
  });
  const closed = new Promise<Reading>(resolve => request.on('close', () => resolve(reading)));
  request.on('socket', () => {
    wire.push(bytes);
    wire.push(null);
  });
  request.end();
  return closed;
}

function take(response: IncomingMessage, reading: Reading): void {
  reading.status = response.statusCode ?? 0;
  reading.reason = response.statusMessage ?? '';
  reading.fields = without(response.rawHeaders, 'transfer-encoding');
  response.on('data', (chunk: Buffer) => {
    reading.body += chunk.toString('latin1');
  });
  response.on('end', () => {
    reading.outcome = 'whole';
    reading.trailers = response.rawTrailers;
  });
  response.on('error', () => {});
}
