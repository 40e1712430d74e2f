import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Account, answerTo } from './account.ts';

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

/** Starts a service that answers each request as its account expects, once that has arrived. Returns its port. */
export async function startService(account: Account, isHttp2 = false): Promise<number> {
  const take = (request: Request, response: Response): void => {
    let body = '';
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('data', (piece: Buffer) => {
      body += piece.toString('latin1');
    });
    request.on('end', () => {
      const { method = '', url = '' } = request;
      account.arrived(url);
      response.end(answerTo({ method, target: url, body }));
    });
  };
  const server = isHttp2 ? createHttp2Server(take) : createServer({ keepAliveTimeout: 60_000 }, take);
  server.on('sessionError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}
