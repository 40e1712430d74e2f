import type { Draws } from '../kernel/draws.ts';
import type { Asked, WorldToken } from '../requests.ts';
import { Client, PATIENCE_MS } from './client.ts';
import type { WorldGateway } from './gateway.ts';
import { HASTE_MS, HASTY_WORDS, WORDS } from './grpc-service.ts';
import { type Ended, Exchange, type Http2Connection, Http2Connections } from './http2-connection.ts';
import { framed, MessageReader, MessageWriter, unframed } from './messages.ts';
import type { Response } from './response-reader.ts';

/** What statuses of gRPC are in HTTP (docs/contract.md, 7.3); all others are failures of the service. */
const STATUSES = new Map([
  [0, 200],
  [4, 504],
  [8, 429],
  [14, 503],
  [16, 401],
]);

/** A client that speaks gRPC: calls with one message or many, with and without a deadline, several at once on a connection. */
export class GrpcClient extends Client {
  readonly #connections = new Http2Connections(this.world, gateway => this.connect(gateway));

  protected async visit(gateway: WorldGateway, draws: Draws): Promise<void> {
    const token = draws.percent(60) ? this.tokenFor(draws) : null;
    const calls: Promise<Ended>[] = [];
    for (let i = draws.whole(1, 8); i > 0; i--) {
      const path = `/${draws.one([WORDS, HASTY_WORDS])}/${draws.one(['Unary', 'Talk'])}`;
      const givesUpMs = draws.percent(15) ? draws.between(0, 500) : PATIENCE_MS;
      calls.push(
        this.#call(
          this.#connections.to(gateway, draws),
          gateway,
          this.nextId(),
          path,
          token,
          draws,
          givesUpMs,
        ),
      );
      if (draws.percent(30)) await Promise.all(calls);
      if (draws.percent(30)) await this.world.pause(draws.between(0, 1_000));
    }
    await Promise.all(calls);
  }

  protected async probe(gateway: WorldGateway, id: string): Promise<Response | null> {
    const connection = this.#connections.open(gateway);
    const draws = this.world.draws.part(id);
    const end = await this.#call(connection, gateway, id, `/${WORDS}/Unary`, null, draws, PATIENCE_MS);
    connection.close();
    return typeof end === 'string' ? null : end;
  }

  async #call(
    connection: Http2Connection,
    gateway: WorldGateway,
    id: string,
    path: string,
    token: WorldToken | null,
    draws: Draws,
    givesUpMs: number,
  ): Promise<Ended> {
    const asked = this.begin({ id, gateway, method: 'POST', path, token, body: 1 });
    const { promise, resolve } = Promise.withResolvers<Ended>();
    const exchange = new Exchange(resolve, () => false);
    connection.open(asked, fieldsOf(asked), exchange, false);
    void this.#talk(exchange, id, path.endsWith('/Unary') ? 1 : draws.whole(1, 6), draws);
    const giveUp = this.after(givesUpMs, () => exchange.giveUp());
    const end = this.#judge(asked, exchange, await promise);
    giveUp.run = null;
    this.finish(asked, end);
    return end;
  }

  async #talk({ stream }: Exchange, id: string, count: number, draws: Draws): Promise<void> {
    const writer = new MessageWriter(`${id} request`);
    for (let left = count; left > 0 && stream?.isClosed === false; left--) {
      stream.write(framed(writer.next(draws, left === 1)));
      if (left > 1 && draws.percent(50)) await this.world.pause(draws.between(0, 800));
    }
    stream?.end();
  }

  /** Looks whether the messages are its own, and all that its status promises. Returns the end with its status in HTTP. */
  #judge(asked: Asked, { fields, trailers, body }: Exchange, end: Ended): Ended {
    const wrong = (what: string) => this.world.wrong('own response', `${asked.id} got ${what}`);
    const reader = new MessageReader(`${asked.id} response`);
    const { messages, rest } = unframed(body);
    for (const message of messages) {
      const flaw = reader.take(message);
      if (flaw !== null) wrong(flaw);
    }
    const from = fields.get('x-world');
    if (from !== undefined && from !== asked.id) wrong(`the response to ${from}`);
    if (typeof end === 'string') return end;
    const status = trailers.get('grpc-status') ?? fields.get('grpc-status');
    this.world.history.tell(this.name, `${asked.id} ends with ${status} behind ${messages.length} messages`);
    if (status === undefined) wrong('a call without a status');
    if (status === '0' && (rest !== '' || !reader.isWhole)) wrong('a part that looks whole');
    return {
      status: STATUSES.get(Number(status)) ?? 500,
      fields: new Map([...fields, ...trailers]),
      body: '',
    };
  }
}

function fieldsOf({ id, path, token }: Asked): string[] {
  const fields = [':method', 'POST', ':scheme', 'http', ':authority', 'api.test', ':path', path];
  fields.push('te', 'trailers', 'content-type', 'application/grpc', 'x-world', id);
  if (path.includes(HASTY_WORDS)) fields.push('grpc-timeout', `${HASTE_MS}m`);
  if (token !== null) fields.push('authorization', `Bearer ${token.text}`);
  return fields;
}
