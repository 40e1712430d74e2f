import {
  ClientSession,
  type ClientSessionOwner,
  type ClientStream,
  ErrorCode,
  type HeaderSection,
  Http2Fault,
  type StreamEnd,
  type StreamHandler,
} from '../../../src/http2/index.ts';
import type { Draws } from '../kernel/draws.ts';
import type { WorldSocket } from '../network/socket.ts';
import type { Asked, WorldToken } from '../requests.ts';
import type { World } from '../world.ts';
import { Client, METHODS, PATHS, PATIENCE_MS } from './client.ts';
import type { WorldGateway } from './gateway.ts';
import type { Response } from './response-reader.ts';

const WINDOWS = { maxBytes: 65_536, maxFields: 501, streamWindow: 65_536, connectionWindow: 1_048_576 };

/** How a stream ended; `unprocessed`: the gateway says that it has done nothing for it. */
type Ended = Response | 'broken' | 'unprocessed';

/** Reads the response on a stream, at its own pace. */
class Exchange implements StreamHandler {
  stream: ClientStream | null = null;
  readonly #ended: (end: Ended) => void;
  readonly #rest: (exchange: Exchange) => boolean;
  #fields = new Map<string, string>();
  #body = '';

  /** @param rest returns whether it wants no more for a while */
  constructor(ended: (end: Ended) => void, rest: (exchange: Exchange) => boolean) {
    this.#ended = ended;
    this.#rest = rest;
  }

  section({ fields }: HeaderSection, ends: boolean): void {
    if (this.#status >= 200) return;
    this.#fields = new Map();
    for (let i = 0; i + 1 < fields.length; i += 2) this.#fields.set(fields[i] ?? '', fields[i + 1] ?? '');
    if (ends && this.#status < 200) this.#ended('broken');
  }

  data(bytes: Buffer): boolean {
    this.#body += bytes.toString('latin1');
    return !this.#rest(this);
  }

  ended(): void {
    this.#ended({ status: this.#status, fields: this.#fields, body: this.#body });
  }

  drained(): void {}

  closed(end: StreamEnd): void {
    const isRefused = end.how === 'reset' && end.code === ErrorCode.REFUSED_STREAM;
    this.#ended(end.how === 'unprocessed' || isRefused ? 'unprocessed' : 'broken');
  }

  giveUp(): void {
    this.stream?.cancel();
    this.#ended('broken');
  }

  get #status(): number {
    return Number(this.#fields.get(':status') ?? 0);
  }
}

/** A connection of HTTP/2 to a gateway, with many streams at once. */
class Connection implements ClientSessionOwner {
  readonly socket: WorldSocket;
  isGoing = false;
  /** A gateway that has heard nothing in time, as of any client, says so in HTTP/1.1. */
  #isSettled = false;
  readonly #world: World;
  readonly #session: ClientSession;
  #sentBytes = 0;
  #willFlush = false;

  constructor(world: World, socket: WorldSocket) {
    this.#world = world;
    this.socket = socket;
    this.#session = new ClientSession(WINDOWS, this);
    socket.on('data', (piece: Buffer) => this.#read(piece));
    socket.on('end', () => socket.end());
    socket.on('error', () => {});
    socket.on('close', () => this.#session.lose());
    this.#flush();
  }

  get isUsable(): boolean {
    return this.socket.writable && !this.isGoing && this.#session.openStreams < this.#session.maxStreams;
  }

  /** Opens a stream with this head. */
  open(asked: Asked, fields: readonly string[], exchange: Exchange, endsAtOnce: boolean): void {
    exchange.stream = this.#session.request(fields, exchange, endsAtOnce);
    this.#flush();
    const atBytes = this.#sentBytes;
    const mark = () =>
      this.socket.peer?.onceRead(atBytes, () => {
        asked.readMs = this.#world.nowMs;
      });
    if (this.socket.connecting) this.socket.once('connect', mark);
    else mark();
  }

  close(): void {
    this.#session.goAway(ErrorCode.NO_ERROR);
    this.#flush();
    this.socket.end();
  }

  wake(): void {
    if (this.#willFlush) return;
    this.#willFlush = true;
    queueMicrotask(() => this.#flush());
  }

  settingsRead(): void {
    this.#isSettled = true;
  }

  goaway(): void {
    this.isGoing = true;
  }

  #flush(): void {
    this.#willFlush = false;
    const bytes = Buffer.from(this.#session.take());
    if (bytes.length === 0 || !this.socket.writable) return;
    this.#sentBytes += bytes.length;
    this.socket.write(bytes);
  }

  #read(bytes: Buffer): void {
    // Nobody writes over the bytes of a piece.
    const source = { bytes, keep: () => {}, lend: bytes.subarray.bind(bytes), release: () => {} };
    try {
      this.#session.read(source, 0, bytes.length);
    } catch (error) {
      if (!(error instanceof Http2Fault)) throw error;
      if (this.#isSettled) this.#world.wrong('frames', `a gateway breaks a rule of HTTP/2: ${error.message}`);
      this.socket.destroy();
    }
  }
}

/** A client that speaks HTTP/2: many streams at once, which it cancels, reads slowly, or uploads on. */
export class Http2Client extends Client {
  readonly #connections = new Map<WorldGateway, Connection>();

  protected async visit(gateway: WorldGateway, draws: Draws): Promise<void> {
    const token = draws.percent(60) ? this.tokenFor(draws) : null;
    const asked: Promise<Ended>[] = [];
    for (let i = draws.whole(1, 12); i > 0; i--) {
      asked.push(this.#ask(this.#connectionTo(gateway, draws), gateway, token, draws));
      if (draws.percent(30)) await Promise.all(asked);
      if (draws.percent(30)) await this.world.pause(draws.between(0, 1_000));
    }
    await Promise.all(asked);
  }

  protected async probe(gateway: WorldGateway, id: string): Promise<Response | null> {
    const connection = new Connection(this.world, this.connect(gateway));
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
    connection: Connection,
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
    const restsPercent = draws.one([0, 0, 5, 50]);
    const rests = (exchange: Exchange) => {
      if (!draws.percent(restsPercent)) return false;
      this.after(draws.one([1, 100, 2_000, 12_000]), () => exchange.stream?.resume());
      return true;
    };
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
    for (let left = bytes; left > 0 && stream?.isClosed === false; ) {
      const piece = Math.min(left, draws.whole(1, bytes));
      stream.write(Buffer.alloc(piece, 'x'));
      left -= piece;
      if (left > 0) await this.world.pause(draws.between(0, 200));
    }
    stream?.end();
  }

  #connectionTo(gateway: WorldGateway, draws: Draws): Connection {
    const kept = this.#connections.get(gateway);
    if (kept?.isUsable === true && draws.percent(95)) return kept;
    const connection = new Connection(this.world, this.connect(gateway));
    this.#connections.set(gateway, connection);
    return connection;
  }
}

/** @param length what it says of its body; `null`: nothing */
function fieldsOf({ id, method, path, token }: Asked, length: number | null): string[] {
  const fields = [':method', method, ':scheme', 'http', ':authority', 'api.test', ':path', path];
  fields.push('x-world', id);
  if (token !== null) fields.push('authorization', `Bearer ${token.text}`);
  if (length !== null) fields.push('content-length', String(length));
  return fields;
}
