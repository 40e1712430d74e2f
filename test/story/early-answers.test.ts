import { createServer, type Server, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { atTurnEnd } from '../../src/core/index.ts';
import { data, FLAG, headers, startFrameUpstream } from '../support/frame-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { HandBody } from '../support/hand-body.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import { poolTo } from '../support/pool.ts';
import { sessionsTo } from '../support/sessions.ts';
import { send } from '../support/transport-calls.ts';
import { waitFor } from '../support/wait.ts';

const REFUSAL = 'HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig';

function portOf(server: Server): Promise<number> {
  onTestFinished(() => void server.close());
  return new Promise(resolve =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  );
}

/** Starts an upload, and runs `refuse` when the service has its beginning. The next piece is written before the answer is read. */
async function refused(body: HandBody, refuse: () => void): Promise<void> {
  await new Promise<void>(resolve => {
    setImmediate(() => {
      refuse();
      for (let i = 0; i < 3; i++) body.sink?.chunk(Buffer.alloc(70_000));
      resolve();
    });
    // Writes at the end of this turn, before any socket is read.
    atTurnEnd({ turnEnded() {} });
  });
}

describe('what a service says before it closes an upload reaches the client', () => {
  test('over HTTP/1.1', async () => {
    const sockets: Socket[] = [];
    const port = await portOf(createServer(socket => sockets.push(socket.on('error', () => {}).resume())));
    const body = new HandBody();
    const { sink } = send(poolTo(port), { method: 'POST', bodyLength: 'chunked', body });
    await waitFor('the upload has begun', () => body.started && (sockets[0]?.bytesRead ?? 0) > 50);
    await refused(body, () => {
      sockets[0]?.write(REFUSAL);
      sockets[0]?.resetAndDestroy();
    });
    await sink.over;
    expect([...sink.events, sink.body]).toEqual(['whole 413', 'big']);
    // Nobody takes the rest of the upload.
    expect(body.sink?.chunk(Buffer.alloc(1))).toBe(false);
  });

  test('over HTTP/2, on every stream of the connection', async () => {
    const upstream = await startFrameUpstream({});
    const pool = sessionsTo(upstream.port);
    const body = new HandBody();
    const { sink } = send(pool, { method: 'POST', bodyLength: 'chunked', body });
    const other = send(pool).sink;
    await waitFor(
      'both have begun',
      () => upstream.peers[0]?.frames.some(({ stream }) => stream === 3) === true,
    );
    await refused(body, () => {
      const [peer] = upstream.peers;
      peer?.send(headers(1, { ':status': '413', 'content-length': '3' }), data(1, 'big', FLAG.endStream));
      peer?.send(headers(3, { ':status': '204' }, FLAG.endStream));
      peer?.socket.resetAndDestroy();
    });
    await Promise.all([sink.over, other.over]);
    expect([...sink.events, sink.body]).toEqual(['whole 413', 'big']);
    expect(other.events).toEqual(['whole 204']);
    expect(body.sink?.chunk(Buffer.alloc(1))).toBe(false);
  });

  test('and an upload that gets no answer fails as before', async () => {
    const sockets: Socket[] = [];
    const port = await portOf(createServer(socket => sockets.push(socket.on('error', () => {}).resume())));
    const body = new HandBody();
    const { sink } = send(poolTo(port), { method: 'POST', bodyLength: 'chunked', body });
    await waitFor('the upload has begun', () => body.started && sockets.length === 1);
    await refused(body, () => sockets[0]?.resetAndDestroy());
    await sink.over;
    expect(sink.events).toEqual(['fail reset']);
  });
});

test.each([false, true])(
  'an upload that a service refuses unread is a 413 for its client (HTTP/2: %s)',
  async isHttp2 => {
    const server = createServer({ pauseOnConnect: true }, socket => {
      // Closes with unread bytes, which resets the connection.
      socket.on('error', () => {}).write(REFUSAL, () => socket.destroy());
    });
    const gateway = await startGateway({ upstreamPort: await portOf(server), config: { listen: H2C } });
    const upload = Buffer.alloc(500_000);
    for (let i = 0; i < 5; i++) {
      if (isHttp2) {
        const session = connectHttp2(gateway);
        const path = { ':method': 'POST', ':path': '/a', ':authority': 'a' };
        expect((await ask(session, path, upload)).status).toBe(413);
      } else {
        const head = `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: ${upload.length}\r\n\r\n`;
        expect((await gateway.ask(Buffer.concat([Buffer.from(head), upload]))).status).toBe(413);
      }
    }
  },
);
