import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Network } from '../../../src/core/index.ts';
import type { Draws } from '../kernel/draws.ts';
import { LAST, wordOf } from './http-service.ts';
import { MessageReader, MessageWriter, noteHeard, noteSaid } from './messages.ts';
import { Service } from './service.ts';

/** How soon both ends know that a WebSocket is over where nothing is wrong. */
export const OVER_MS = 2_000;
/** How many bytes of a frame come late: fewer than a Close has, so that one within the frame would end it. */
const LATE_BYTES = 3;

/** How a service ends a WebSocket, and how a client does: behind its last message. */
export const SERVICE_IS_DONE = 4_000;
export const CLIENT_IS_DONE = 4_001;

/** Codes that say that an end is gone: with 1001 the gateway closes one, with 1008 it refuses the rest, and 1006 stands for no code. */
const ENDS = [SERVICE_IS_DONE, CLIENT_IS_DONE, 1_001, 1_006, 1_008];

/** Returns what is wrong with this code of a WebSocket that has closed; `null`: nothing is. */
export function flawOfClose(code: number, isDone: number, { isWhole }: MessageReader): string | null {
  if (!ENDS.includes(code)) return `a close with ${code}`;
  return code === isDone && !isWhole ? 'a part that looks whole' : null;
}

/** A service with WebSockets: it sends many messages or none, and goes on, closes or breaks them by its own whims. */
export class WebSocketService extends Service {
  protected listen(network: Network, listening: () => void): void {
    const upgrades = new WebSocketServer({ noServer: true, perMessageDeflate: false });
    upgrades.on('headers', (lines, { headers }) => lines.push(`X-World: ${headers['x-world']}`));
    const server = network.createHttpServer((_request, response) => response.writeHead(426).end());
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const open = (opened: (webSocket: WebSocket) => void) => {
        if (!socket.destroyed) upgrades.handleUpgrade(request, socket, head, opened);
      };
      this.#serve(request, socket, open);
    });
    server.listen({ host: this.host.address, port: this.port }, listening);
  }

  #serve(
    { headers }: IncomingMessage,
    socket: Duplex,
    open: (opened: (webSocket: WebSocket) => void) => void,
  ): void {
    const id = String(headers['x-world'] ?? '');
    this.heard(id, 'for a WebSocket', headers.authorization !== undefined);
    socket.on('error', () => {});
    const whim = this.whimFor(id);
    const draws = this.draws.part(`${id} answer`);
    const talk = (after: (webSocket: WebSocket) => void) =>
      open(webSocket => {
        this.#listenTo(webSocket, id);
        const writer = new MessageWriter(`${id} response`);
        const say = (isLast: boolean) => {
          noteSaid(this.world, id, 'response');
          webSocket.send(writer.next(draws, isLast), { binary: draws.percent(50) });
        };
        this.#talk(webSocket, say, draws, draws.whole(1, 10), () => after(webSocket));
      });
    if (whim < 50) talk(() => {});
    else if (whim < 60) talk(webSocket => webSocket.close(SERVICE_IS_DONE, 'done'));
    else if (whim < 70) this.later(draws.between(1, 3_000), () => talk(() => {}));
    else if (whim < 76) socket.end(`HTTP/1.1 403 Forbidden\r\nX-World: ${id}\r\nContent-Length: 0\r\n\r\n`);
    else if (whim < 82) talk(webSocket => webSocket.terminate());
    else if (whim < 87) open(webSocket => webSocket.pause());
    else if (whim < 91) socket.destroy();
    else if (whim < 93) open(webSocket => this.#listenTo(webSocket, id));
    else if (whim < 98)
      open(webSocket => {
        this.#listenTo(webSocket, id);
        this.#hesitate(webSocket, socket, id, draws.one([500, 20_000, 20_000]));
      });
    // Others never hear of it again.
  }

  /** Sends its only message, and the end of its frame later. Meanwhile it reads nothing, so that it answers nothing. */
  #hesitate(webSocket: WebSocket, socket: Duplex, id: string, ms: number): void {
    const payload = Buffer.from(wordOf(`${id} response 1`) + LAST);
    const frame = Buffer.concat([Buffer.from([0x82, payload.length]), payload]);
    noteSaid(this.world, id, 'response');
    webSocket.pause();
    socket.write(frame.subarray(0, -LATE_BYTES));
    this.later(ms, () => {
      if (socket.writable) socket.write(frame.subarray(-LATE_BYTES));
      webSocket.resume();
    });
  }

  /** Looks whether what comes is its client's. */
  #listenTo(webSocket: WebSocket, id: string): void {
    const reader = new MessageReader(`${id} request`);
    const note = (flaw: string | null) => {
      if (flaw !== null) this.world.wrong('own request', `${this.name} got for ${id} ${flaw}`);
    };
    webSocket.on('error', () => {});
    webSocket.on('message', (data: Buffer) => {
      note(reader.take(data.toString('latin1')));
      noteHeard(this.world, id, 'request', reader.count);
    });
    webSocket.on('close', code => {
      note(flawOfClose(code, CLIENT_IS_DONE, reader));
      const overMs = this.world.requests.find(id)?.endedMs ?? this.world.nowMs;
      const lateMs = id.startsWith('probe') ? this.world.nowMs - overMs : 0;
      if (lateMs > OVER_MS) note(`its end ${lateMs.toFixed()} ms late`);
    });
  }

  #talk(
    webSocket: WebSocket,
    say: (isLast: boolean) => void,
    draws: Draws,
    left: number,
    done: () => void,
  ): void {
    if (webSocket.readyState !== webSocket.OPEN) return;
    say(left === 1);
    if (left === 1) done();
    else {
      const waitsMs = draws.percent(50) ? draws.between(1, 1_500) : 1;
      this.later(waitsMs, () => this.#talk(webSocket, say, draws, left - 1, done));
    }
  }
}
