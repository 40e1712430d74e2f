import type { ClientStream } from '../../../src/wire/http2/index.ts';
import type { Draws } from '../kernel/draws.ts';
import type { Asked, WorldToken } from '../requests.ts';
import { Client, METHODS, PATHS, PATIENCE_MS } from './client.ts';
import type { WorldGateway } from './gateway.ts';
import {
  type Ended,
  Exchange,
  type Http2Connection,
  Http2Connections,
  restsBy,
  upload,
} from './http2-connection.ts';
import type { Response } from './response-reader.ts';

/** A client that speaks HTTP/2: many streams at once, which it cancels, reads slowly, or uploads on. */
export class Http2Client extends Client {
  readonly #connections = new Http2Connections(this.world, gateway => this.connect(gateway));

  protected async visit(gateway: WorldGateway, draws: Draws): Promise<void> {
    const token = draws.percent(60) ? this.tokenFor(draws) : null;
    const asked: Promise<Ended>[] = [];
    for (let i = draws.whole(1, 12); i > 0; i--) {
      asked.push(this.#ask(this.#connections.to(gateway, draws), gateway, token, draws));
      if (draws.percent(30)) await Promise.all(asked);
      if (draws.percent(30)) await this.world.pause(draws.between(0, 1_000));
    }
    await Promise.all(asked);
  }

  protected async probe(gateway: WorldGateway, id: string): Promise<Response | null> {
    const connection = this.#connections.open(gateway);
    const asked = this.begin({ id, gateway, method: 'GET', path: '/v1/things', token: null, body: 0 });
    const end = await this.#exchange(
      asked,
      PATIENCE_MS,
      () => false,
      exchange => connection.open(asked, fieldsOf(asked, null), exchange, true),
    );
    connection.close();
    return typeof end === 'string' ? null : end;
  }

  #ask(
    connection: Http2Connection,
    gateway: WorldGateway,
    token: WorldToken | null,
    draws: Draws,
  ): Promise<Ended> {
    const method = draws.one(METHODS);
    const body = this.bodyOf(method, draws);
    const hasBody = body > 0;
    const path = draws.one(PATHS);
    const asked = this.begin({ id: this.nextId(), gateway, method, path, token, body });
    const length = hasBody && draws.percent(50) ? body : null;
    const rests = restsBy(draws, (ms, run) => this.after(ms, run));
    const restMs = this.restOf(draws);
    if (restMs > 0) connection.socket.rest(restMs);
    const givesUpMs = draws.percent(15) ? draws.between(0, 500) : PATIENCE_MS;
    return this.#exchange(asked, givesUpMs, rests, exchange => {
      connection.open(asked, fieldsOf(asked, length), exchange, !hasBody);
      if (hasBody) void this.#upload(exchange.stream, body, draws);
    });
  }

  async #exchange(
    asked: Asked,
    givesUpMs: number,
    rests: (exchange: Exchange) => boolean,
    open: (exchange: Exchange) => void,
  ): Promise<Ended> {
    const { promise, resolve } = Promise.withResolvers<Ended>();
    const exchange = new Exchange(resolve, rests);
    open(exchange);
    const giveUp = this.after(givesUpMs, () => exchange.giveUp());
    const end = await promise;
    giveUp.run = null;
    this.finish(asked, end);
    return end;
  }

  async #upload(stream: ClientStream | null, bytes: number, draws: Draws): Promise<void> {
    await upload(this.world, stream, Buffer.alloc(bytes, 'x'), draws);
    stream?.end();
  }
}

/** @param length what it says of its body; `null`: nothing */
export function fieldsOf({ id, method, path, token }: Asked, length: number | null): string[] {
  const fields = [':method', method, ':scheme', 'http', ':authority', 'api.test', ':path', path];
  fields.push('x-world', id);
  if (token !== null) fields.push('authorization', `Bearer ${token.text}`);
  if (length !== null) fields.push('content-length', String(length));
  return fields;
}
