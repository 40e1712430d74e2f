import { performServerHandshake, type ServerHttp2Stream, type ServerOptions } from 'node:http2';
import { duplexPair } from 'node:stream';
import { holdSession } from './hold-session.ts';
import type { Http2Reading } from './http2-reading.ts';
import { REQUEST_BOUNDS } from './read-http2-requests-with-ours.ts';

const END_STREAM = 1;
/** As strict as Node can be, with the bounds of ours. */
const OPTIONS = {
  settings: {
    maxConcurrentStreams: REQUEST_BOUNDS.maxStreams,
    initialWindowSize: REQUEST_BOUNDS.streamWindow,
    maxHeaderListSize: REQUEST_BOUNDS.maxBytes,
    enableConnectProtocol: REQUEST_BOUNDS.offersConnect,
  },
  maxHeaderListPairs: REQUEST_BOUNDS.maxFields,
  maxSessionInvalidFrames: 100,
  strictSingleValueFields: false,
} as ServerOptions;

type Mutable = { -readonly [K in keyof Http2Reading]: Http2Reading[K] };

/** What Node read, by stream, and whether it ended the connection before the bytes did. */
export interface NodeReading {
  readonly readings: ReadonlyMap<number, Http2Reading>;
  /** Why Node may have read less than all: what was wrong with the connection as a whole, or a GOAWAY; null: nothing. */
  readonly fault: string | null;
}

/** Reads the bytes with Node's server, which is nghttp2, as the requests of a client. It answers none of them. */
export async function readHttp2RequestsWithNode(bytes: Buffer): Promise<NodeReading> {
  const [serverSide, clientSide] = duplexPair();
  const session = performServerHandshake(serverSide, OPTIONS);
  const letGo = holdSession(session);
  session.setLocalWindowSize(REQUEST_BOUNDS.connectionWindow);
  const readings = new Map<number, Http2Reading>();
  let fault: string | null = null;
  session.on('error', error => {
    fault = error.message;
  });
  session.on('goaway', () => {
    fault ??= 'the client goes away';
  });
  session.on('stream', (stream, _headers, flags, section: string[]) => {
    readings.set(stream.id ?? 0, read(stream, flags, section));
  });
  clientSide.on('error', () => {}).resume();
  clientSide.write(bytes);
  await turns(8);
  session.destroy();
  letGo();
  return { readings, fault };
}

function read(stream: ServerHttp2Stream, flags: number, fields: string[]): Http2Reading {
  const reading: Mutable = {
    ...{ whole: (flags & END_STREAM) !== 0 && !stream.destroyed },
    ...{ status: '', fields, body: '', trailers: [] },
  };
  stream.on('error', () => {});
  stream.on('trailers', (_headers, _flags, section: string[]) => {
    reading.trailers = section;
  });
  stream.on('data', (piece: Buffer) => {
    reading.body += piece.toString('latin1');
  });
  stream.on('end', () => {
    // It comes as well where the stream is reset.
    if (stream.rstCode === 0) reading.whole = true;
  });
  return reading;
}

/** Turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}
