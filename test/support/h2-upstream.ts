import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { atEnd } from './lifetime.ts';

/** A request as Node's HTTP/2 server got it. */
export interface H2Request {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  readonly section: readonly string[];
  /** Resolves when the request has ended. */
  body(): Promise<string>;
}

export interface H2Upstream {
  readonly port: number;
  /** Every session so far. */
  readonly sessions: readonly ServerHttp2Session[];
  readonly requests: readonly H2Request[];
}

/** Starts a server of Node in cleartext. The end of the running test ends it. */
export async function startH2Upstream(
  answer: (request: H2Request) => unknown = respondOk,
  options: ServerOptions = {},
): Promise<H2Upstream> {
  const server = createServer(options);
  const sessions: ServerHttp2Session[] = [];
  const requests: H2Request[] = [];
  server.on('session', session => {
    sessions.push(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream: ServerHttp2Stream, headers, _flags, section: string[]) => {
    stream.on('error', () => {});
    const request = { stream, headers, section, body: () => bodyOf(stream) };
    requests.push(request);
    void answer(request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sessions, requests };
}

function respondOk({ stream }: H2Request): void {
  stream.respond({ ':status': 200, 'content-length': 2 });
  stream.end('ok');
}

async function bodyOf(stream: ServerHttp2Stream): Promise<string> {
  let body = '';
  for await (const piece of stream) body += (piece as Buffer).toString('latin1');
  return body;
}
