import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2';
import { onTestFinished } from 'vitest';
import type { TestGateway } from './test-gateway.ts';
import type { Response } from './wire/index.ts';

/** `listen` of a gateway whose clients may speak HTTP/2. */
export const H2C = { http: { address: '127.0.0.1:0', h2c: true }, admin: '127.0.0.1:0' } as const;

/** A response over HTTP/2, or how its stream ended without one. */
export interface Http2Response {
  /** 0: there was none. */
  readonly status: number;
  readonly fields: IncomingHttpHeaders;
  readonly interim: readonly IncomingHttpHeaders[];
  readonly body: Buffer;
  readonly trailers: IncomingHttpHeaders;
  /** Error code of the stream's end (RFC 9113, 7); 0: it ended well. */
  readonly rstCode: number;
}

/** Opens a session that the end of the running test closes. */
export function connectHttp2(
  gateway: Pick<TestGateway, 'port'>,
  options: SecureClientSessionOptions = {},
): ClientHttp2Session {
  // Node counts what a client has yet to send as memory of its session, and without room it accepts no response.
  const session = connect(`http://127.0.0.1:${gateway.port}`, { maxSessionMemory: 1_000, ...options });
  session.on('error', () => {});
  onTestFinished(() => session.destroy());
  return session;
}

/** Sends a request in a session and reads its response. */
export function ask(
  session: ClientHttp2Session,
  fields: OutgoingHttpHeaders,
  body?: string | Buffer,
): Promise<Http2Response> {
  const stream = session.request(fields, { endStream: body === undefined });
  const response = read(stream);
  if (body !== undefined) stream.end(body);
  return response;
}

/** Reads the response of a stream to its end. */
export function read(stream: ClientHttp2Stream): Promise<Http2Response> {
  const interim: IncomingHttpHeaders[] = [];
  const pieces: Buffer[] = [];
  let [fields, trailers]: IncomingHttpHeaders[] = [{}, {}];
  stream.on('headers', each => interim.push(each));
  stream.on('response', each => {
    fields = each;
  });
  stream.on('trailers', each => {
    trailers = each;
  });
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  stream.on('error', () => {});
  return new Promise(resolve => {
    stream.on('close', () => {
      const status = Number(fields?.[':status'] ?? 0);
      const { rstCode = 0 } = stream;
      resolve({
        ...{ status, fields: fields ?? {}, interim, body: Buffer.concat(pieces) },
        ...{ trailers: trailers ?? {}, rstCode },
      });
    });
  });
}

/** The same response in the form of one over HTTP/1.1, for helpers that read those. */
export function asWire({ status, fields, body, rstCode }: Http2Response): Response {
  const pairs = Object.entries(fields).filter(([name]) => !name.startsWith(':'));
  const flat = pairs.flatMap(([name, value]) => [value ?? ''].flat().flatMap(each => [name, each]));
  return {
    ...{ status, reason: '', fields: flat, interim: [], framing: body.length, trailers: [] },
    ...{ body, bodyBytes: body.length, complete: rstCode === 0, end: 'framing' },
  };
}
