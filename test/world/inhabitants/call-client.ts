import type { Draws } from '../kernel/draws.ts';
import type { Asked, WorldToken } from '../requests.ts';
import { Client, PATIENCE_MS } from './client.ts';
import type { WorldGateway } from './gateway.ts';
import { HASTE_MS, HASTY_WORDS, OWN_WORDS, WORDS } from './grpc-service.ts';
import type { Ended } from './http2-connection.ts';
import { MessageReader, unframed } from './messages.ts';
import type { Response } from './response-reader.ts';

/** What statuses of gRPC are in HTTP (docs/contract.md, 7.3); all others are failures of the service. */
const STATUSES = new Map([
  [0, 200],
  [4, 504],
  [8, 429],
  [14, 503],
  [16, 401],
]);

/** What came back of a call, also of one that was broken. */
export interface CallAnswer {
  readonly end: Ended;
  readonly fields: ReadonlyMap<string, string>;
  readonly trailers: ReadonlyMap<string, string>;
  /** The messages as gRPC frames them. */
  readonly messages: string;
}

/** A client that makes calls: of one message or many, with and without a deadline, several at once. */
export abstract class CallClient extends Client {
  protected async visit(gateway: WorldGateway, draws: Draws): Promise<void> {
    const token = draws.percent(60) ? this.tokenFor(draws) : null;
    const calls: Promise<Ended>[] = [];
    for (let i = draws.whole(1, 8); i > 0; i--) {
      const service = draws.one([WORDS, WORDS, HASTY_WORDS, HASTY_WORDS, OWN_WORDS]);
      const path = `/${service}/${draws.one(['Unary', 'Talk'])}`;
      const givesUpMs = draws.percent(15) ? draws.between(0, 500) : PATIENCE_MS;
      calls.push(this.#call(gateway, this.nextId(), path, token, draws, givesUpMs));
      if (draws.percent(30)) await Promise.all(calls);
      if (draws.percent(30)) await this.world.pause(draws.between(0, 1_000));
    }
    await Promise.all(calls);
  }

  protected async probe(gateway: WorldGateway, id: string): Promise<Response | null> {
    const draws = this.world.draws.part(id);
    const end = await this.#call(gateway, id, `/${WORDS}/Unary`, null, draws, PATIENCE_MS);
    return typeof end === 'string' ? null : end;
  }

  /** Sends a call and resolves to what came back: on a connection of its own if it is a probe, and then as anyone should. */
  protected abstract ask(asked: Asked, draws: Draws, givesUpMs: number): Promise<CallAnswer>;

  protected isProbe({ id }: Asked): boolean {
    return id.startsWith('probe');
  }

  protected wrongResponse({ id }: Asked, what: string): void {
    this.world.wrong('own response', `${id} got ${what}`);
  }

  async #call(
    gateway: WorldGateway,
    id: string,
    path: string,
    token: WorldToken | null,
    draws: Draws,
    givesUpMs: number,
  ): Promise<Ended> {
    const asked = this.begin({ id, gateway, method: 'POST', path, token, body: 1 });
    const end = this.#judge(asked, await this.ask(asked, draws, givesUpMs));
    this.finish(asked, end);
    return end;
  }

  /** Looks whether the messages are its own, and all that its status promises. Returns the end with its status in HTTP. */
  #judge(asked: Asked, { fields, trailers, messages, end }: CallAnswer): Ended {
    const reader = new MessageReader(`${asked.id} response`);
    const { messages: whole, rest } = unframed(messages);
    for (const message of whole) {
      const flaw = reader.take(message);
      if (flaw !== null) this.wrongResponse(asked, flaw);
    }
    const from = fields.get('x-world');
    if (from !== undefined && from !== asked.id) this.wrongResponse(asked, `the response to ${from}`);
    this.#judgeLimit(asked, fields);
    if (typeof end === 'string') return end;
    const status = trailers.get('grpc-status') ?? fields.get('grpc-status');
    this.world.history.tell(this.name, `${asked.id} ends with ${status} behind ${whole.length} messages`);
    if (status === undefined) this.wrongResponse(asked, 'a call without a status');
    if (status === '0' && (rest !== '' || !reader.isWhole))
      this.wrongResponse(asked, 'a part that looks whole');
    return {
      status: STATUSES.get(Number(status)) ?? 500,
      fields: new Map([...fields, ...trailers]),
      body: '',
    };
  }
  /** What a limit has admitted says so. Where Redis is away, it may have been admitted without. */
  #judgeLimit(asked: Asked, fields: ReadonlyMap<string, string>): void {
    const isLimited = asked.path.startsWith(`/${WORDS}/`) && this.world.sharing?.policy !== 'open';
    if (isLimited && fields.has('x-world') && !fields.has('x-ratelimit-limit'))
      this.wrongResponse(asked, 'what no limit has admitted');
  }
}

/** What every call says, whatever carries it. */
export function metadataOf({ id, path, token }: Asked): string[] {
  const fields = ['x-world', id];
  if (path.includes(HASTY_WORDS)) fields.push('grpc-timeout', `${HASTE_MS}m`);
  if (token !== null) fields.push('authorization', `Bearer ${token.text}`);
  return fields;
}

/** The fields of HTTP/2 that every call begins with. */
export function pseudoFieldsOf({ path }: Asked): string[] {
  return [':method', 'POST', ':scheme', 'http', ':authority', 'api.test', ':path', path];
}
