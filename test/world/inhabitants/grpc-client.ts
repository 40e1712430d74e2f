import type { Draws } from '../kernel/draws.ts';
import type { Asked } from '../requests.ts';
import { type CallAnswer, CallClient, metadataOf, pseudoFieldsOf } from './call-client.ts';
import { PATIENCE_MS } from './client.ts';
import { CALLS_PORT, type WorldGateway } from './gateway.ts';
import { WORDS } from './grpc-service.ts';
import { type Ended, Exchange, Http2Connections } from './http2-connection.ts';
import { framed, MessageWriter } from './messages.ts';

const CALL = ['te', 'trailers', 'content-type', 'application/grpc'];
const WEB_CALL = ['content-type', 'application/grpc-web'];
/** What the listener for calls answers to anything else; a gateway that is full says so first. */
const NO_CALL = [415, 503];

/** A client that speaks gRPC, on the listener for calls alone or on the ordinary one. */
export class GrpcClient extends CallClient {
  readonly #port =
    this.world.listensForCalls && this.world.draws.part(`port of ${this.name}`).percent(70) ? CALLS_PORT : 80;
  readonly #connections = new Http2Connections(this.world, gateway => this.connect(gateway, this.#port));

  protected override async visit(gateway: WorldGateway, draws: Draws): Promise<void> {
    if (this.#port === CALLS_PORT && draws.percent(30)) await this.#askForElse(gateway, draws);
    await super.visit(gateway, draws);
  }

  protected async ask(asked: Asked, draws: Draws, givesUpMs: number): Promise<CallAnswer> {
    const { gateway } = asked;
    const isProbe = this.isProbe(asked);
    const connection = isProbe ? this.#connections.open(gateway) : this.#connections.to(gateway, draws);
    const { promise, resolve } = Promise.withResolvers<Ended>();
    const exchange = new Exchange(resolve, () => false);
    connection.open(asked, [...pseudoFieldsOf(asked), ...CALL, ...metadataOf(asked)], exchange, false);
    void this.#talk(exchange, asked, draws);
    const giveUp = this.after(givesUpMs, () => exchange.giveUp());
    const end = await promise;
    giveUp.run = null;
    if (isProbe) connection.close();
    const { fields, trailers, body } = exchange;
    return { end, fields, trailers, messages: body };
  }

  async #talk({ stream }: Exchange, { id, path }: Asked, draws: Draws): Promise<void> {
    const writer = new MessageWriter(`${id} request`);
    const count = path.endsWith('/Unary') ? 1 : draws.whole(1, 6);
    for (let left = count; left > 0 && stream?.isClosed === false; left--) {
      stream.write(framed(writer.next(draws, left === 1)));
      if (left > 1 && draws.percent(50)) await this.world.pause(draws.between(0, 800));
    }
    stream?.end();
  }

  /** Asks the listener for calls for what is no call: it answers that itself. */
  async #askForElse(gateway: WorldGateway, draws: Draws): Promise<void> {
    const path = draws.one([`/${WORDS}/Unary`, '/v1/open']);
    const asked = this.begin({ id: this.nextId(), gateway, method: 'POST', path, token: null, body: 1 });
    const { promise, resolve } = Promise.withResolvers<Ended>();
    const exchange = new Exchange(resolve, () => false);
    const fields = [...pseudoFieldsOf(asked), ...draws.one([WEB_CALL, []]), ...metadataOf(asked)];
    this.#connections.to(gateway, draws).open(asked, fields, exchange, true);
    const giveUp = this.after(PATIENCE_MS, () => exchange.giveUp());
    const end = await promise;
    giveUp.run = null;
    this.finish(asked, end);
    const hasPassed = asked.arrivals.length > 0 || !(asked.status === null || NO_CALL.includes(asked.status));
    if (hasPassed)
      this.world.wrong('only calls', `the listener for calls takes ${asked.id}: ${asked.status}`);
  }
}
