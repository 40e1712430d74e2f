import type { Draws } from '../kernel/draws.ts';
import type { WorldSocket } from '../network/socket.ts';
import type { Asked } from '../requests.ts';
import type { World } from '../world.ts';
import type { WorldGateway } from './gateway.ts';
import { type Response, ResponseStream } from './response-reader.ts';

interface Waiting {
  readonly asked: Asked;
  readonly done: (response: Response | null) => void;
}

/** A client's connection to a gateway: requests go out, responses come back in order. */
export class Http1Connection {
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

  /** What has come of a response that did not come whole; `null`: nothing. */
  get part(): Response | null {
    return this.#responses.part;
  }

  /** Sends a head. Resolves to the response, or to `null` if none came. */
  ask(asked: Asked, head: string): Promise<Response | null> {
    return new Promise(done => {
      this.#waiting.push({ asked, done });
      this.#write(head);
      this.socket.oncePeerRead(this.#sentBytes, () => {
        asked.readMs = this.#world.nowMs;
      });
    });
  }

  /**
   * Sends the body of the request whose head was sent last, in pieces.
   *
   * @param isChunked each piece is a chunk
   */
  async upload(body: string, draws: Draws, isChunked = false): Promise<void> {
    this.#uploads++;
    for (let at = 0; at < body.length && this.socket.writable; ) {
      const piece = body.slice(at, at + draws.whole(1, body.length));
      this.#write(isChunked ? `${piece.length.toString(16)}\r\n${piece}\r\n` : piece);
      at += piece.length;
      if (at < body.length) await this.#world.pause(draws.between(0, 200));
    }
    this.#uploads--;
  }

  /** Ends a body in chunks. */
  endChunks(): void {
    if (this.socket.writable) this.#write('0\r\n\r\n');
  }

  #write(text: string): void {
    this.#sentBytes += text.length;
    this.socket.write(text, 'latin1');
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

/** The connections of a client: it keeps them, and uses those that are idle again. */
export class Http1Connections {
  readonly #world: World;
  readonly #connect: (gateway: WorldGateway) => WorldSocket;
  readonly #kept = new Map<WorldGateway, Http1Connection[]>();

  constructor(world: World, connect: (gateway: WorldGateway) => WorldSocket) {
    this.#world = world;
    this.#connect = connect;
  }

  to(gateway: WorldGateway, draws: Draws): Http1Connection {
    const kept = (this.#kept.get(gateway) ?? []).filter(({ socket }) => socket.writable);
    const used = kept.find(({ isIdle }) => isIdle);
    if (used !== undefined && draws.percent(85)) return used;
    const connection = this.open(gateway);
    this.#kept.set(gateway, [...kept, connection]);
    return connection;
  }

  open(gateway: WorldGateway): Http1Connection {
    return new Http1Connection(this.#world, this.#connect(gateway));
  }
}
