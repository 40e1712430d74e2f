import type { Socket } from 'node:net';
import type { Draws } from '../kernel/draws.ts';
import type { Asked } from '../requests.ts';
import { Http2Connections } from './http2-connection.ts';
import { WebSocketClient } from './web-socket-client.ts';
import { OVER_MS } from './web-socket-service.ts';
import { WebSocketStream } from './web-socket-stream.ts';

/** A client with WebSockets over HTTP/2: several at once on a connection. */
export class Http2WebSocketClient extends WebSocketClient {
  readonly #connections = new Http2Connections(this.world, gateway => this.connect(gateway));

  protected override carrier(asked: Asked, draws: Draws): Socket {
    const { id, gateway } = asked;
    const isProbe = id.startsWith('probe');
    const connection = isProbe ? this.#connections.open(gateway) : this.#connections.to(gateway, draws);
    this.world.kernel.current = this.process;
    const stream = new WebSocketStream(asked, connection);
    // Not at once: the end of a connection would be the end of what it carries.
    if (isProbe) stream.once('close', () => this.after(2 * OVER_MS, () => connection.close()));
    // Node's own client of HTTP asks no more of a socket than a stream does.
    return stream as unknown as Socket;
  }
}
