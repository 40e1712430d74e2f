import type { Draws } from '../kernel/draws.ts';
import type { Asked, WorldToken } from '../requests.ts';
import { Client, METHODS, PATHS, PATIENCE_MS } from './client.ts';
import type { WorldGateway } from './gateway.ts';
import { type Http1Connection, Http1Connections } from './http1-connection.ts';
import type { Response } from './response-reader.ts';

/** A client that speaks HTTP/1.1: it keeps connections, pipelines, uploads, gives up, and waits as it is told. */
export class Http1Client extends Client {
  readonly #connections = new Http1Connections(this.world, gateway => this.connect(gateway));

  protected async visit(gateway: WorldGateway, draws: Draws): Promise<void> {
    const token = draws.percent(60) ? this.tokenFor(draws) : null;
    const count = draws.whole(1, 8);
    const isPipelined = draws.percent(20);
    const pipeline = isPipelined ? this.#connections.to(gateway, draws) : null;
    const asked: Promise<Response | null>[] = [];
    for (let i = 0; i < count; i++) {
      const path = draws.one(PATHS);
      const method = draws.one(METHODS);
      const answer = this.#ask(gateway, method, path, token, draws, pipeline);
      if (isPipelined) asked.push(answer);
      else if (draws.percent(15)) void answer;
      else await answer;
      if (draws.percent(30)) await this.world.pause(draws.between(0, 3_000));
    }
    await Promise.all(asked);
  }

  protected async probe(gateway: WorldGateway, id: string): Promise<Response | null> {
    const connection = this.#connections.open(gateway);
    const asked = this.begin({ id, gateway, method: 'GET', path: '/v1/things', token: null, body: 0 });
    const answer = connection.ask(asked, headOf(asked, 0));
    const response = await this.#finish(asked, answer, connection, PATIENCE_MS);
    connection.socket.end();
    return response;
  }

  #ask(
    gateway: WorldGateway,
    method: string,
    path: string,
    token: WorldToken | null,
    draws: Draws,
    pipeline: Http1Connection | null,
  ): Promise<Response | null> {
    const body = pipeline === null ? this.bodyOf(method, draws) : 0;
    const givesUpMs = draws.percent(10) ? draws.between(0, 500) : PATIENCE_MS;
    const connection = pipeline ?? this.#connections.to(gateway, draws);
    const asked = this.begin({ id: this.nextId(), gateway, method, path, token, body });
    const restMs = this.restOf(draws);
    if (restMs > 0) connection.socket.rest(restMs);
    const answer = connection.ask(asked, headOf(asked, body));
    if (body > 0) void connection.upload('x'.repeat(body), draws);
    return this.#finish(asked, answer, connection, givesUpMs);
  }

  async #finish(
    asked: Asked,
    answer: Promise<Response | null>,
    connection: Http1Connection,
    givesUpMs: number,
  ): Promise<Response | null> {
    const giveUp = this.after(givesUpMs, () => connection.socket.destroy());
    const response = await answer;
    giveUp.run = null;
    this.finish(asked, response ?? 'broken');
    if (response?.fields.get('connection') === 'close') connection.socket.end();
    return response;
  }
}

function headOf({ id, method, path, token }: Asked, body: number): string {
  const authorization = token === null ? '' : `Authorization: Bearer ${token.text}\r\n`;
  const length = body > 0 || method === 'POST' ? `Content-Length: ${body}\r\n` : '';
  return `${method} ${path} HTTP/1.1\r\nHost: api.test\r\nX-World: ${id}\r\n${authorization}${length}\r\n`;
}
