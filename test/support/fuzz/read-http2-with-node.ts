import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
} from 'node:http2';
import { duplexPair, Readable } from 'node:stream';
import { holdSession } from './hold-session.ts';
import type { Http2Reading } from './http2-reading.ts';

/** As strict as Node can be, with the bounds of ours. */
const OPTIONS = {
  settings: { enablePush: false, initialWindowSize: 131_072, maxHeaderListSize: 65_536 },
  maxHeaderListPairs: 501,
  maxSessionInvalidFrames: 100,
  strictSingleValueFields: false,
} as ClientSessionOptions;

type Mutable = { -readonly [K in keyof Http2Reading]: Http2Reading[K] };

/** Reads the bytes with Node's client, which is nghttp2, as the responses to so many requests. */
export async function readHttp2WithNode(bytes: Buffer, requests: number): Promise<Http2Reading[]> {
  const [clientSide, serverSide] = duplexPair();
  const session = connect('http://a.test', { ...OPTIONS, createConnection: () => clientSide });
  session.on('error', () => {});
  serverSide.on('error', () => {}).resume();
  await new Promise(resolve => session.once('connect', resolve));
  const letGo = holdSession(session);
  session.setLocalWindowSize(8_388_608);
  const readings = Array.from({ length: requests }, () => read(session));
  // By then, the requests have left. What came for them before would be a fault.
  await turns(3);
  serverSide.write(bytes);
  serverSide.end();
  // Some streams are never closed where the connection ends early.
  await Promise.race([Promise.all(readings.map(({ closed }) => closed)), turns(50)]);
  session.destroy();
  letGo();
  return readings.map(({ reading }) => reading);
}

function read(session: ClientHttp2Session) {
  const stream = session.request({ ':path': '/' }, { endStream: true });
  const reading: Mutable = { whole: false, status: '', fields: [], body: '', trailers: [] };
  stream.on('error', () => {});
  stream.on('response', (_headers, _flags, section: string[]) => {
    reading.status = section[1] ?? '';
    reading.fields = section.slice(2);
  });
  stream.on('trailers', (_headers, _flags, section: string[]) => {
    reading.trailers = section;
  });
  // Node's `end` may come late or never where the connection ends; what nghttp2 has found passes here.
  stream.push = function (this: ClientHttp2Stream, chunk: unknown) {
    if (chunk === null && !this.closed) reading.whole = true;
    if (Buffer.isBuffer(chunk)) reading.body += chunk.toString('latin1');
    return Readable.prototype.push.call(this, chunk);
  };
  stream.resume();
  const closed = new Promise<void>(resolve => stream.once('close', () => setImmediate(resolve)));
  return { reading, closed };
}

/** Of the event loop. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}
