import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
} from 'node:http2';
import { connectHttp2 } from './http2-client.ts';

/** A session that may ask for WebSockets: Node's client refuses to before the gateway has offered them (RFC 8441, 3). */
export async function connectForWebSockets(gateway: { readonly port: number }): Promise<ClientHttp2Session> {
  const session = connectHttp2(gateway);
  await new Promise(resolve => session.once('remoteSettings', resolve));
  return session;
}

/** Asks for a WebSocket by an extended CONNECT. */
export async function askForWebSocket(
  session: ClientHttp2Session,
  path = '/',
  fields: OutgoingHttpHeaders = {},
): Promise<WebSocketStream> {
  const stream = session.request(
    {
      ...{ ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'http', ':authority': 'a.test' },
      ...{ ':path': path, 'sec-websocket-version': '13', ...fields },
    },
    { endStream: false },
  );
  stream.on('error', () => {});
  const answer = new Promise<IncomingHttpHeaders>(resolve => {
    stream.once('response', resolve);
    stream.once('close', () => resolve({}));
  });
  return new WebSocketStream(stream, await answer);
}

/** A stream behind the answer to an extended CONNECT. */
export class WebSocketStream {
  readonly stream: ClientHttp2Stream;
  readonly fields: IncomingHttpHeaders;
  received: Buffer = Buffer.alloc(0);
  /** How the gateway ended it: by END_STREAM, by RST_STREAM with this code, or not yet. */
  end: 'end' | number | null = null;

  constructor(stream: ClientHttp2Stream, fields: IncomingHttpHeaders) {
    this.stream = stream;
    this.fields = fields;
    stream.on('data', (bytes: Buffer) => {
      this.received = Buffer.concat([this.received, bytes]);
    });
    stream.on('end', () => {
      this.end ??= 'end';
    });
    stream.on('close', () => {
      if (stream.rstCode !== undefined && stream.rstCode > 0) this.end = stream.rstCode;
    });
  }

  get status(): number {
    return Number(this.fields[':status'] ?? 0);
  }

  send(bytes: Buffer): void {
    this.stream.write(bytes);
  }
}
