import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { Draws } from '../kernel/draws.ts';
import type { Asked, WorldToken } from '../requests.ts';
import { Client, PATIENCE_MS } from './client.ts';
import type { WorldGateway } from './gateway.ts';
import { MessageReader, MessageWriter, noteHeard, noteSaid } from './messages.ts';
import type { Response } from './response-reader.ts';
import { CLIENT_IS_DONE, flawOfClose, OVER_MS, SERVICE_IS_DONE } from './web-socket-service.ts';

/** How a WebSocket went. */
interface Ended {
  /** What the handshake got; `null`: nothing. */
  readonly response: Response | null;
  /** Whether all that the service had to say has come. */
  readonly isWhole: boolean;
}

/** A client with WebSockets: it sends messages and pings, closes them when all is said, or goes without a word. */
export class WebSocketClient extends Client {
  protected async visit(gateway: WorldGateway, draws: Draws): Promise<void> {
    const token = draws.percent(60) ? this.tokenFor(draws) : null;
    const open: Promise<Ended>[] = [];
    for (let i = draws.whole(1, 5); i > 0; i--) {
      const goesMs = draws.percent(30) ? draws.between(0, 3_000) : PATIENCE_MS;
      open.push(this.#open(gateway, this.nextId(), token, draws, goesMs));
      if (draws.percent(50)) await Promise.all(open);
      if (draws.percent(30)) await this.world.pause(draws.between(0, 1_000));
    }
    await Promise.all(open);
  }

  protected async probe(gateway: WorldGateway, id: string): Promise<Response | null> {
    const { response, isWhole } = await this.#open(gateway, id, null, this.world.draws.part(id), PATIENCE_MS);
    return response?.status === 101 ? { ...response, status: isWhole ? 200 : 101 } : response;
  }

  async #open(
    gateway: WorldGateway,
    id: string,
    token: WorldToken | null,
    draws: Draws,
    goesMs: number,
  ): Promise<Ended> {
    const asked = this.begin({ id, gateway, method: 'GET', path: '/v1/live', token, body: 1 });
    const webSocket = this.#ask(asked, draws);
    const reader = new MessageReader(`${id} response`);
    const goes = this.after(goesMs, () => webSocket.terminate());
    let isAllSaid = false;
    let closedMs: number | null = null;
    const closeIfDone = () => {
      if (!isAllSaid || !reader.isWhole || webSocket.readyState !== WebSocket.OPEN) return;
      webSocket.close(CLIENT_IS_DONE, 'done');
      closedMs = this.world.nowMs;
    };
    const note = (flaw: string | null) => {
      if (flaw !== null) this.world.wrong('own response', `${id} got ${flaw}`);
    };
    let response: Response | null = null;
    webSocket.on('error', () => {});
    webSocket.on('upgrade', ({ headers }) => {
      response = { status: 101, fields: fieldsIn(headers), body: '' };
    });
    webSocket.on('unexpected-response', (_request, { statusCode = 0, headers }) => {
      response = { status: statusCode, fields: fieldsIn(headers), body: '' };
      webSocket.terminate();
    });
    webSocket.on('open', async () => {
      await this.#talk(webSocket, id, draws);
      isAllSaid = true;
      closeIfDone();
    });
    webSocket.on('message', (data: Buffer) => {
      note(reader.take(data.toString('latin1')));
      noteHeard(this.world, id, 'response', reader.count);
      if (draws.percent(20)) webSocket.ping(id);
      if (!id.startsWith('probe') && draws.percent(10)) this.#rest(webSocket, draws.between(100, 4_000));
      closeIfDone();
    });
    webSocket.on('pong', data => note(String(data) === id ? null : `a pong to ${data}`));
    await new Promise<void>(resolve => {
      webSocket.on('close', code => {
        note(flawOfClose(code, SERVICE_IS_DONE, reader));
        const lateMs = id.startsWith('probe') && closedMs !== null ? this.world.nowMs - closedMs : 0;
        if (lateMs > OVER_MS) note(`its end ${lateMs.toFixed()} ms late`);
        resolve();
      });
    });
    goes.run = null;
    this.finish(asked, response ?? 'broken');
    return { response, isWhole: reader.isWhole };
  }

  #ask(asked: Asked, draws: Draws): WebSocket {
    const { id, token } = asked;
    const connection = this.carrier(asked, draws);
    return new WebSocket('ws://api.test/v1/live', {
      ...{ createConnection: () => connection, perMessageDeflate: false },
      generateMask: mask => void draws.randomBytes(mask.length).copy(mask),
      headers: { 'X-World': id, ...(token !== null && { Authorization: `Bearer ${token.text}` }) },
    });
  }

  /** What carries a WebSocket: a connection of its own. */
  protected carrier(asked: Asked, _draws: Draws): Socket {
    const socket = this.connect(asked.gateway);
    socket.once('connect', () =>
      socket.oncePeerRead(socket.bytesWritten, () => {
        asked.readMs = this.world.nowMs;
      }),
    );
    return socket.asSocket;
  }

  /** Reads nothing for a while. */
  #rest(webSocket: WebSocket, ms: number): void {
    webSocket.pause();
    this.after(ms, () => webSocket.resume());
  }

  /** Says all that it has to say. */
  async #talk(webSocket: WebSocket, id: string, draws: Draws): Promise<void> {
    const writer = new MessageWriter(`${id} request`);
    // Some speak so slowly that their token may be revoked meanwhile.
    const mostMs = draws.one([1_000, 1_000, 4_000]);
    for (let left = draws.whole(1, 6); left > 0 && webSocket.readyState === WebSocket.OPEN; left--) {
      noteSaid(this.world, id, 'request');
      webSocket.send(writer.next(draws, left === 1), { binary: draws.percent(50) });
      if (left > 1 && draws.percent(50)) await this.world.pause(draws.between(0, mostMs));
    }
  }
}

function fieldsIn(headers: IncomingHttpHeaders): Map<string, string> {
  return new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
