import type { Draws } from '../kernel/draws.ts';
import type { WorldSocket } from '../network/socket.ts';
import type { Asked, WorldToken } from '../requests.ts';
import type { World } from '../world.ts';
import { Client, METHODS, PATHS, PATIENCE_MS } from './client.ts';
import type { WorldGateway } from './gateway.ts';
import { type Response, ResponseStream } from './response-reader.ts';

interface Waiting {
  readonly asked: Asked;
  readonly done: (response: Response | null) => void;
}

/** A client's connection to a gateway: requests go out, responses come back in order. */
class Connection {
  readonly socket: WorldSocket;
  readonly #world: World;
  readonly #responses = new ResponseStream();
  readonly #waiting: Waiting[] = [];
  #sentBytes = 0;
  #uploads = 0;

  constructor(world: World, socket: WorldSocket) {
    this.#world = world;
    this.socket = socket;
    socket.on('data', (piece: Buffer) => this.#take(() => this.#responses.take(piece)));
    socket.on('end', () => this.#take(() => {}, true));
    socket.on('error', () => {});
    socket.on('close', () => this.#broken());
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#uploads === 0 && this.socket.writable;
  }

  /** Sends a head. Resolves to the response, or to `null` if none came. */
  ask(asked: Asked, head: string): Promise<Response | null> {
    this.#sentBytes += head.length;
    this.socket.oncePeerRead(this.#sentBytes, () => {
      asked.readMs = this.#world.nowMs;
    });
    return new Promise(done => {
      this.#waiting.push({ asked, done });
      this.socket.write(head);
    });
  }

  /** Sends the body of the request whose head was sent last, in pieces. */
  async upload(bytes: number, draws: Draws): Promise<void> {
    this.#uploads++;
    for (let left = bytes; left > 0 && this.socket.writable; ) {
      const piece = Math.min(left, draws.whole(1, bytes));
      this.#sentBytes += piece;
      this.socket.write('x'.repeat(piece));
      left -= piece;
      if (left > 0) await this.#world.pause(draws.between(0, 200));
    }
    this.#uploads--;
  }

  #take(read: () => void, isEnded = false): void {
    const [first] = this.#waiting;
    try {
      read();
      for (let waiting = first; waiting !== undefined; [waiting] = this.#waiting) {
        const response = this.#responses.next(waiting.asked.method, isEnded);
        if (response === null) break;
        this.#waiting.shift();
        waiting.done(response);
      }
      if (this.#waiting.length === 0 && this.#responses.isWithin)
        throw new Error('there are bytes behind the last response');
    } catch (error) {
      this.#world.wrong('own response', `${first?.asked.client ?? 'a client'}: ${String(error)}`);
      this.socket.destroy();
    }
  }

  #broken(): void {
    for (const { done } of this.#waiting.splice(0)) done(null);
  }
}

/** A client that speaks HTTP/1.1: it keeps connections, pipelines, uploads, gives up, and waits as it is told. */
export class Http1Client extends Client {
  readonly #connections = new Map<WorldGateway, Connection[]>();

  protected async visit(gateway: WorldGateway, draws: Draws): Promise<void> {
    const token = draws.percent(60) ? this.tokenFor(draws) : null;
    const count = draws.whole(1, 8);
    const isPipelined = draws.percent(20);
    const pipeline = isPipelined ? this.#connectionTo(gateway, draws) : null;
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
    const connection = this.#open(gateway);
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
    pipeline: Connection | null,
  ): Promise<Response | null> {
    const body = pipeline === null ? this.bodyOf(method, draws) : 0;
    const givesUpMs = draws.percent(10) ? draws.between(0, 500) : PATIENCE_MS;
    const connection = pipeline ?? this.#connectionTo(gateway, draws);
    const asked = this.begin({ id: this.nextId(), gateway, method, path, token, body });
    const answer = connection.ask(asked, headOf(asked, body));
    if (body > 0) void connection.upload(body, draws);
    return this.#finish(asked, answer, connection, givesUpMs);
  }

  async #finish(
    asked: Asked,
    answer: Promise<Response | null>,
    connection: Connection,
    givesUpMs: number,
  ): Promise<Response | null> {
    const giveUp = this.after(givesUpMs, () => connection.socket.destroy());
    const response = await answer;
    giveUp.run = null;
    this.finish(asked, response ?? 'broken');
    if (response?.fields.get('connection') === 'close') connection.socket.end();
    return response;
  }

  #connectionTo(gateway: WorldGateway, draws: Draws): Connection {
    const kept = (this.#connections.get(gateway) ?? []).filter(({ socket }) => socket.writable);
    const used = kept.find(({ isIdle }) => isIdle);
    if (used !== undefined && draws.percent(85)) return used;
    const connection = this.#open(gateway);
    this.#connections.set(gateway, [...kept, connection]);
    return connection;
  }

  #open(gateway: WorldGateway): Connection {
    return new Connection(this.world, this.connect(gateway));
  }
}

function headOf({ id, method, path, token }: Asked, body: number): string {
  const authorization = token === null ? '' : `Authorization: Bearer ${token.text}\r\n`;
  const length = body > 0 || method === 'POST' ? `Content-Length: ${body}\r\n` : '';
  return `${method} ${path} HTTP/1.1\r\nHost: api.test\r\nX-World: ${id}\r\n${authorization}${length}\r\n`;
}
