import type { Host, Process } from '../host.ts';
import type { Draws } from '../kernel/draws.ts';
import type { WorldNetwork } from '../network/network.ts';
import type { WorldSocket } from '../network/socket.ts';
import type { Asked, WorldToken } from '../requests.ts';
import type { World } from '../world.ts';
import type { WorldGateway } from './gateway.ts';
import type { Inhabitant } from './inhabitant.ts';
import type { WorldProvider } from './provider.ts';
import { type Response, ResponseStream } from './response-reader.ts';
import { LAST, wordOf } from './service.ts';

/** How long a client waits for a response. */
const PATIENCE_MS = 20_000;
/** How soon everyone is served again after all faults are over. */
const PROGRESS_MS = 20_000;

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
    const atBytes = this.#sentBytes;
    const mark = () =>
      this.socket.peer?.onceRead(atBytes, () => {
        asked.readMs = this.#world.nowMs;
      });
    if (this.socket.connecting) this.socket.once('connect', mark);
    else mark();
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
export class Http1Client implements Inhabitant {
  readonly name: string;
  readonly host: Host;
  readonly #world: World;
  readonly #provider: WorldProvider | null;
  readonly #draws: Draws;
  #process: Process | null = null;
  #network: WorldNetwork | null = null;
  readonly #connections = new Map<WorldGateway, Connection[]>();
  readonly #tokens: WorldToken[] = [];
  #requests = 0;

  /** @param provider where it gets tokens; without it, it has none */
  constructor(world: World, name: string, provider: WorldProvider | null) {
    this.name = name;
    this.#world = world;
    this.#provider = provider;
    this.host = world.host(name);
    this.#draws = world.draws.part(`client ${name}`);
  }

  async start(): Promise<void> {
    const { process, network } = this.host.start();
    this.#process = process;
    this.#network = network;
  }

  plan(): void {
    const draws = this.#draws.part('visits');
    const { plan, gateways } = this.#world;
    for (let i = draws.whole(3, 12); i > 0; i--) {
      const gateway = draws.one(gateways);
      const atMs = draws.between(0, 25_000);
      plan.add(atMs, `${this.name} visits ${gateway.name}`, own => void this.#visit(gateway, own));
    }
  }

  async prove(): Promise<void> {
    for (const gateway of this.#world.gateways) {
      const untilMs = this.#world.nowMs + PROGRESS_MS;
      const seen: string[] = [];
      for (let tries = 1; ; tries++) {
        const response = await this.#askOnce(
          gateway,
          'GET',
          '/v1/things',
          null,
          `probe-${gateway.name}-${tries}-`,
        );
        if (response?.status === 200) break;
        seen.push(response === null ? 'broken' : `${response.status} ${response.body}`);
        if (this.#world.nowMs > untilMs) {
          this.#world.wrong(
            'progress',
            `${this.name} is not served by ${gateway.name}: ${tries} times, last ${seen.at(-1)}`,
          );
          break;
        }
        await this.#world.pause(response?.status === 429 ? waitOf(response) : 500);
      }
    }
  }

  async leave(): Promise<void> {
    if (this.#process !== null) this.host.kill(this.#process, false);
  }

  async #visit(gateway: WorldGateway, draws: Draws): Promise<void> {
    const token = draws.percent(60) ? this.#tokenFor(draws) : null;
    const count = draws.whole(1, 8);
    const isPipelined = draws.percent(20);
    const pipeline = isPipelined ? this.#connectionTo(gateway, draws) : null;
    const asked: Promise<Response | null>[] = [];
    for (let i = 0; i < count; i++) {
      const path = draws.one(['/v1/things', '/v1/things/7', '/v1/open', '/v1/other']);
      const method = draws.one(['GET', 'GET', 'GET', 'POST', 'PUT', 'HEAD', 'DELETE']);
      const answer = this.#ask(gateway, method, path, token, draws, pipeline);
      if (isPipelined) asked.push(answer);
      else if (draws.percent(15)) void answer;
      else await answer;
      if (draws.percent(30)) await this.#world.pause(draws.between(0, 3_000));
    }
    await Promise.all(asked);
  }

  async #ask(
    gateway: WorldGateway,
    method: string,
    path: string,
    token: WorldToken | null,
    draws: Draws,
    pipeline: Connection | null,
  ): Promise<Response | null> {
    const mayUpload = pipeline === null && (method === 'POST' || (method === 'PUT' && draws.percent(30)));
    const body = mayUpload ? draws.whole(0, 30_000) : 0;
    const givesUpMs = draws.percent(10) ? draws.between(0, 500) : PATIENCE_MS;
    const connection = pipeline ?? this.#connectionTo(gateway, draws);
    const [asked, answer] = this.#send(connection, gateway, method, path, token, body, '');
    if (body > 0) void connection.upload(body, draws);
    return this.#finish(asked, answer, connection, givesUpMs);
  }

  /** Asks on a connection of its own. */
  async #askOnce(
    gateway: WorldGateway,
    method: string,
    path: string,
    token: WorldToken | null,
    idPrefix: string,
  ): Promise<Response | null> {
    const connection = this.#open(gateway);
    const [asked, answer] = this.#send(connection, gateway, method, path, token, 0, idPrefix);
    const response = await this.#finish(asked, answer, connection, PATIENCE_MS);
    connection.socket.end();
    return response;
  }

  #send(
    connection: Connection,
    gateway: WorldGateway,
    method: string,
    path: string,
    token: WorldToken | null,
    body: number,
    idPrefix: string,
  ): readonly [Asked, Promise<Response | null>] {
    const id = `${idPrefix}${this.name}-${++this.#requests}`;
    const asked = this.#world.requests.begin({
      ...{ id, gateway, method, path, token, client: this.name, life: gateway.lives.length },
      ...{ mayRepeat: body === 0 && method !== 'POST', sentMs: this.#world.nowMs },
    });
    const authorization = token === null ? '' : `Authorization: Bearer ${token.text}\r\n`;
    const length = body > 0 || method === 'POST' ? `Content-Length: ${body}\r\n` : '';
    this.#world.history.tell(this.name, `asks ${gateway.name} ${method} ${path} ${id}`);
    const head = `${method} ${path} HTTP/1.1\r\nHost: api.test\r\nX-World: ${id}\r\n${authorization}${length}\r\n`;
    return [asked, connection.ask(asked, head)];
  }

  async #finish(
    asked: Asked,
    answer: Promise<Response | null>,
    connection: Connection,
    givesUpMs: number,
  ): Promise<Response | null> {
    const process = this.#process;
    if (process === null) return null;
    const giveUp = this.#world.kernel.after(givesUpMs, process, () => connection.socket.destroy());
    const response = await answer;
    giveUp.run = null;
    asked.endedMs = this.#world.nowMs;
    asked.outcome = response === null ? 'broken' : 'answered';
    this.#world.history.tell(
      this.name,
      response === null
        ? `${asked.id} is broken`
        : `${asked.id} gets ${response.status} ${response.body.length}`,
    );
    if (response === null) return null;
    asked.status = response.status;
    asked.fields = response.fields;
    this.#judge(asked, response);
    if (response.fields.get('connection') === 'close') connection.socket.end();
    return response;
  }

  /** Whether the response is the one to this request. */
  #judge(asked: Asked, { status, fields, body }: Response): void {
    const from = fields.get('x-world');
    if (from === undefined) return;
    const word = wordOf(asked.id);
    const isChunked = fields.get('transfer-encoding') === 'chunked' && asked.method !== 'HEAD';
    const isWhole = !isChunked || status !== 200 || body.endsWith(LAST);
    const words = body.endsWith(LAST) ? body.slice(0, -LAST.length) : body;
    if (from !== asked.id) this.#world.wrong('own response', `${asked.id} got the response to ${from}`);
    else if (!isWhole) this.#world.wrong('own response', `${asked.id} got a part that looks whole`);
    else if (words !== word.repeat(words.length / word.length))
      this.#world.wrong('own response', `${asked.id} got ${status} with a body that is not its own`);
  }

  /** A new token, or one that it has had for a while. */
  #tokenFor(draws: Draws): WorldToken | null {
    if (this.#tokens.length > 0 && draws.percent(60)) return draws.one(this.#tokens);
    const token = this.#provider?.tokenFor(draws) ?? null;
    if (token !== null) this.#tokens.push(token);
    return token;
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
    if (this.#network === null || this.#process === null) throw new Error(`${this.name} has not started`);
    this.#world.kernel.current = this.#process;
    return new Connection(this.#world, this.#network.connect({ host: gateway.host.address, port: 80 }));
  }
}

/** How long a 429 tells a client to wait. */
function waitOf({ fields }: Response): number {
  return Number(fields.get('retry-after') ?? 1) * 1_000;
}
