import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** One connection through a relay. */
interface Line {
  readonly near: Socket;
  readonly far: Socket;
}

/** A way to a server over TCP that fails as a test wants: killed, stopped, slow, or cut off behind a byte. */
export class Relay {
  /** Milliseconds that each piece of an answer takes longer. */
  delayMs = 0;
  /** Says behind how many bytes of all that it answers a new connection is cut, or null. */
  cut: () => number | null = () => null;
  /** Whether what is cut ends by a reset rather than properly. */
  resets = false;
  port = 0;
  readonly #target: number;
  readonly #lines = new Set<Line>();
  #server: Server | null = null;
  #isStopped = false;

  constructor(target: number) {
    this.#target = target;
  }

  /** Listens, on the port of before if it has listened already. */
  async listen(): Promise<void> {
    const server = createServer({ noDelay: true, pauseOnConnect: true }, near => this.#open(near));
    this.#server = server;
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
  }

  /** As a process that is killed: all connections break, further ones are refused. */
  kill(): void {
    this.#server?.close();
    this.#server = null;
    for (const line of this.#lines) this.#end(line, true);
  }

  /** As a process that is stopped: connections are taken, and nothing is read or said. */
  freeze(): void {
    this.#isStopped = true;
    for (const { near, far } of this.#lines) for (const socket of [near, far]) socket.pause();
  }

  thaw(): void {
    this.#isStopped = false;
    for (const { near, far } of this.#lines) for (const socket of [near, far]) socket.resume();
  }

  #open(near: Socket): void {
    const far = connect({ port: this.#target, host: '127.0.0.1', noDelay: true });
    const line = { near, far };
    this.#lines.add(line);
    for (const socket of [near, far]) socket.on('error', () => {});
    near.once('close', () => this.#end(line, false));
    // Behind what is still on its way.
    far.once('close', () => setTimeout(() => this.#end(line, false), this.delayMs));
    near.on('data', (bytes: Buffer) => far.write(bytes));
    near.on('end', () => far.end());
    this.#passOn(line, this.cut());
    if (!this.#isStopped) near.resume();
    else far.pause();
  }

  #passOn(line: Line, cut: number | null): void {
    const { near, far } = line;
    let left = cut ?? Number.POSITIVE_INFINITY;
    const pass = (bytes: Buffer): void => {
      near.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left <= 0) this.#end(line, this.resets);
    };
    // In their order, as TCP keeps it: none overtakes another that is late.
    const waiting: Buffer[] = [];
    far.on('data', (bytes: Buffer) => {
      if (this.delayMs === 0 && waiting.length === 0) pass(bytes);
      else {
        waiting.push(bytes);
        setTimeout(() => pass(waiting.shift() as Buffer), this.delayMs);
      }
    });
    if (left === 0) near.once('data', () => this.#end(line, this.resets));
  }

  #end(line: Line, resets: boolean): void {
    this.#lines.delete(line);
    line.far.destroy();
    if (resets) line.near.resetAndDestroy();
    else if (!line.near.destroyed) line.near.destroySoon();
  }
}

/** The ways in which a server fails behind a relay, each with its end. */
export const killed = (relay: Relay) => ({ begin: () => relay.kill(), end: () => relay.listen() });
export const stopped = (relay: Relay) => ({ begin: () => relay.freeze(), end: () => relay.thaw() });
export function late(relay: Relay) {
  const by = (delayMs: number) => () => {
    relay.delayMs = delayMs;
  };
  return { begin: by(1_000), end: by(0) };
}

/** Starts a relay. The end of the running test ends it. */
export async function startRelay(target: number): Promise<Relay> {
  const relay = new Relay(target);
  await relay.listen();
  onTestFinished(() => relay.kill());
  return relay;
}
