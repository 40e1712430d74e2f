import {
  ClientSession,
  type ClientSessionOwner,
  type ClientStream,
  ErrorCode,
  type HeaderSection,
  Http2Fault,
  type StreamEnd,
  type StreamHandler,
} from '../../../src/wire/http2/index.ts';
import type { Draws } from '../kernel/draws.ts';
import type { WorldSocket } from '../network/socket.ts';
import type { Asked } from '../requests.ts';
import type { World } from '../world.ts';
import type { WorldGateway } from './gateway.ts';
import type { Response } from './response-reader.ts';

const WINDOWS = { maxBytes: 65_536, maxFields: 501, streamWindow: 65_536, connectionWindow: 1_048_576 };

/** How a stream ended; `unprocessed`: the gateway says that it has done nothing for it. */
export type Ended = Response | 'broken' | 'unprocessed';

/** Reads the response on a stream, at its own pace. */
export class Exchange implements StreamHandler {
  stream: ClientStream | null = null;
  readonly #ended: (end: Ended) => void;
  readonly #rest: (exchange: Exchange) => boolean;
  fields = new Map<string, string>();
  trailers = new Map<string, string>();
  body = '';

  /** @param rest returns whether it wants no more for a while */
  constructor(ended: (end: Ended) => void, rest: (exchange: Exchange) => boolean) {
    this.#ended = ended;
    this.#rest = rest;
  }

  section({ fields }: HeaderSection, ends: boolean): void {
    const named = new Map<string, string>();
    for (let i = 0; i + 1 < fields.length; i += 2) named.set(fields[i] ?? '', fields[i + 1] ?? '');
    if (this.#status >= 200) this.trailers = named;
    else this.fields = named;
    if (ends && this.#status < 200) this.#ended('broken');
  }

  data(bytes: Buffer): boolean {
    this.body += bytes.toString('latin1');
    return !this.#rest(this);
  }

  ended(): void {
    this.#ended(this.response ?? 'broken');
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

  /** What has come of the response; `null`: nothing. */
  get response(): Response | null {
    const { fields, body } = this;
    return this.#status < 200 ? null : { status: this.#status, fields, body };
  }

  get #status(): number {
    return Number(this.fields.get(':status') ?? 0);
  }
}

/** Has a client take nothing for a while, now and then. `after`: waits for it. */
export function restsBy(
  draws: Draws,
  after: (ms: number, run: () => void) => void,
): (exchange: Exchange) => boolean {
  const percent = draws.one([0, 0, 5, 50]);
  return exchange => {
    if (!draws.percent(percent)) return false;
    after(draws.one([1, 100, 2_000, 12_000]), () => exchange.stream?.resume());
    return true;
  };
}

/** Sends a part of a request's body, in pieces. */
export async function upload(
  world: World,
  stream: ClientStream | null,
  body: Buffer,
  draws: Draws,
): Promise<void> {
  for (let at = 0; at < body.length && stream?.isClosed === false; ) {
    const piece = body.subarray(at, at + draws.whole(1, body.length));
    stream.write(piece);
    at += piece.length;
    if (at < body.length) await world.pause(draws.between(0, 200));
  }
}

/** A connection of HTTP/2 to a gateway, with many streams at once. */
export class Http2Connection implements ClientSessionOwner {
  readonly socket: WorldSocket;
  isGoing = false;
  /** A gateway that has heard nothing in time, as of any client, says so in HTTP/1.1. */
  #isSettled = false;
  #whenSettled: (() => void)[] = [];
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
    socket.on('close', () => {
      this.#session.lose();
      this.#tellSettled();
    });
    this.#flush();
  }

  get isUsable(): boolean {
    return this.socket.writable && !this.isGoing && this.#session.openStreams < this.#session.maxStreams;
  }

  /** Opens a stream with this head. */
  open(
    asked: Asked,
    fields: readonly string[],
    exchange: Exchange,
    endsAtOnce: boolean,
    handler: StreamHandler = exchange,
  ): void {
    exchange.stream = this.#session.request(fields, handler, endsAtOnce);
    this.#flush();
    this.socket.oncePeerRead(this.#sentBytes, () => {
      asked.readMs = this.#world.nowMs;
    });
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
    this.#tellSettled();
  }

  /** Calls back once the gateway has said what it takes, or its connection is gone. */
  onceSettled(settled: () => void): void {
    this.#whenSettled.push(settled);
    if (this.#isSettled || this.socket.destroyed) this.#tellSettled();
  }

  goaway(): void {
    this.isGoing = true;
  }

  #tellSettled(): void {
    const waiting = this.#whenSettled;
    this.#whenSettled = [];
    for (const each of waiting) each();
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

/** The connections of a client: one for each gateway, and now and then another. */
export class Http2Connections {
  readonly #world: World;
  readonly #connect: (gateway: WorldGateway) => WorldSocket;
  readonly #kept = new Map<WorldGateway, Http2Connection>();

  constructor(world: World, connect: (gateway: WorldGateway) => WorldSocket) {
    this.#world = world;
    this.#connect = connect;
  }

  to(gateway: WorldGateway, draws: Draws): Http2Connection {
    const kept = this.#kept.get(gateway);
    if (kept?.isUsable === true && draws.percent(95)) return kept;
    const connection = this.open(gateway);
    this.#kept.set(gateway, connection);
    return connection;
  }

  open(gateway: WorldGateway): Http2Connection {
    return new Http2Connection(this.#world, this.#connect(gateway));
  }
}
