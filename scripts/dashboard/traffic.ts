import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';

const agent = new Agent({ keepAlive: true });

export interface Caller {
  /** The client address, as the trusted proxy in front says it. */
  readonly address: string;
  /** Null: it has none. */
  readonly token: string | null;
}

/** One request; whatever comes of it is fine. */
export function ask(port: number, method: string, path: string, { address, token }: Caller, body = ''): void {
  const headers: OutgoingHttpHeaders = {
    'X-Forwarded-For': address,
    'Content-Type': 'application/json',
    ...(token !== null && { Authorization: `Bearer ${token}` }),
  };
  const outgoing = request({ host: '127.0.0.1', port, method, path, agent, headers }, response =>
    response.resume(),
  );
  outgoing.on('error', () => outgoing.destroy());
  outgoing.end(body);
}

/** Asks so many times a second, more and less in turn, until the signal is aborted. */
export async function repeatedly(
  perSecond: number,
  swing: number,
  signal: AbortSignal,
  act: () => void,
): Promise<void> {
  while (!signal.aborted) {
    const phase = (Date.now() / 90_000) * 2 * Math.PI;
    const rate = perSecond * (1 + swing * Math.sin(phase)) * (0.8 + 0.4 * Math.random());
    act();
    await sleep(1_000 / Math.max(rate, 0.01));
  }
}

export function openWebSocket(port: number, { address, token }: Caller, forMs: number): void {
  const headers = { 'X-Forwarded-For': address, Authorization: `Bearer ${token}` };
  const socket = new WebSocket(`ws://127.0.0.1:${port}/live`, { headers });
  const timer = setInterval(() => socket.readyState === WebSocket.OPEN && socket.send('hello'), 1_000);
  setTimeout(() => socket.close(), forMs);
  socket.on('error', () => socket.terminate());
  socket.on('close', () => clearInterval(timer));
}

/** Some calls over one new connection with TLS. */
export function callOverTls(port: number, ca: string, token: string): void {
  const session = connect(`https://localhost:${port}`, {
    ca,
    lookup: (_host, _options, found) => found(null, [{ address: '127.0.0.1', family: 4 }]),
  });
  session.on('error', () => session.destroy());
  for (let i = 0; i < 5; i++) {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/shop.Orders/List',
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: `Bearer ${token}`,
    });
    stream.on('error', () => stream.close());
    stream.resume();
    stream.end(Buffer.alloc(5));
  }
  setTimeout(() => session.close(), 400);
}
