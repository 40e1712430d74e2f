import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { type ClientOptions, type ServerOptions, WebSocket, WebSocketServer } from 'ws';
import type { LocalGateway } from './gateway.ts';

/** A `ws` server as an upstream. The end of the running test ends it. */
export async function startWsServer(options: ServerOptions = {}): Promise<WsServer> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, ...options });
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  return new WsServer(server);
}

export class WsServer {
  readonly server: WebSocketServer;
  readonly #sockets: WebSocket[] = [];

  constructor(server: WebSocketServer) {
    this.server = server;
    server.on('connection', socket => {
      socket.on('error', () => {});
      this.#sockets.push(socket);
    });
  }

  get port(): number {
    const address = this.server.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  /** Every message goes back as it came. */
  echo(): this {
    this.server.on('connection', socket =>
      socket.on('message', (data, binary) => socket.send(data, { binary })),
    );
    return this;
  }

  /** The server's side of the first WebSocket. */
  async first(): Promise<WebSocket> {
    if (this.#sockets[0] === undefined) await once(this.server, 'connection');
    return this.#sockets[0] as WebSocket;
  }
}

/** An open WebSocket through the gateway. The end of the running test ends it. */
export async function openSocket(
  gateway: Pick<LocalGateway, 'port'>,
  path = '/',
  options: ClientOptions & { scheme?: 'ws' | 'wss' } = {},
): Promise<WebSocket> {
  const { scheme = 'ws', ...rest } = options;
  const socket = new WebSocket(`${scheme}://127.0.0.1:${gateway.port}${path}`, rest);
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  socket.on('error', () => {});
  return socket;
}

/** The next message as text. */
export async function message(socket: WebSocket): Promise<string> {
  const [data] = await once(socket, 'message');
  return String(data);
}

/** How it was closed: its code and reason. 1006: without a Close frame. */
export async function closing(socket: WebSocket): Promise<readonly [code: number, reason: string]> {
  const [code, reason] = await once(socket, 'close');
  return [code, String(reason)];
}

/** How many WebSockets the gateway has open. */
export async function openCount(gateway: LocalGateway): Promise<number> {
  return (await gateway.metric('weir_websockets_open')).get('{upstream="api"}') ?? 0;
}
