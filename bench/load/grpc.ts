import { once } from 'node:events';
import { type ClientHttp2Stream, connect } from 'node:http2';
import type { LoadGenerator } from './plan.ts';

/** The calls of the measurements. */
export const GRPC_SERVICE = 'bench.Echo';

/** A message of gRPC: not compressed, its length, its bytes. */
export function grpcMessage(bytes: number): Buffer {
  const message = Buffer.alloc(5 + bytes, '-');
  message[0] = 0;
  message.writeUInt32BE(bytes, 1);
  return message;
}

export const GRPC_HEADERS = { 'content-type': 'application/grpc', te: 'trailers' } as const;

/** Messages that are under way on each call. */
const UNDER_WAY = 16;

/** Calls that stay open, on a connection each: a message is sent when an earlier one has come back. */
export const grpcStreams: LoadGenerator = {
  name: 'own sender, messages on open calls, each on one of',
  async run(plan, port, seconds) {
    const calls = Array.from({ length: plan.connections }, () => openCall(port, plan.path, plan.headers));
    const message = grpcMessage(plan.bodyBytes);
    const counts = await Promise.all(calls.map(({ stream }) => exchange(stream, message, seconds)));
    for (const { close } of calls) close();
    const requests = counts.reduce((sum, count) => sum + count, 0);
    return { requests, failures: counts.filter(count => count === 0).length };
  },
};

function openCall(port: number, path: string, headers: Readonly<Record<string, string>>) {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  const stream = session.request({ ':method': 'POST', ':path': path, ...GRPC_HEADERS, ...headers });
  stream.on('error', () => {});
  return { stream, close: () => session.destroy() };
}

/** How many messages came back in so many seconds. */
async function exchange(stream: ClientHttp2Stream, message: Buffer, seconds: number): Promise<number> {
  let bytes = 0;
  const send = () => {
    for (let i = 0; i < UNDER_WAY; i++) stream.write(message);
  };
  stream.on('data', (piece: Buffer) => {
    const before = Math.floor(bytes / message.length);
    bytes += piece.length;
    for (let i = Math.floor(bytes / message.length) - before; i > 0; i--) stream.write(message);
  });
  send();
  const time = new Promise(resolve => setTimeout(resolve, seconds * 1_000));
  await Promise.race([time, once(stream, 'close')]);
  return Math.floor(bytes / message.length);
}
