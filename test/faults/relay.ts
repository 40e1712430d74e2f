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
    for (const socket of [near, far]) {
      socket.on('error', () => {});
      socket.once('close', () => this.#end(line, false));
    }
    near.on('data', bytes => far.write(bytes));
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
    far.on('data', bytes => {
      if (this.delayMs === 0) pass(bytes);
      else setTimeout(pass, this.delayMs, bytes);
    });
    far.on('end', () => near.end());
    if (left === 0) near.once('data', () => this.#end(line, this.resets));
  }

  #end(line: Line, resets: boolean): void {
    this.#lines.delete(line);
    line.far.destroy();
    if (resets) line.near.resetAndDestroy();
    else if (!line.near.destroyed) line.near.destroySoon();
  }
}

/** Starts a relay. The end of the running test ends it. */
export async function startRelay(target: number): Promise<Relay> {
  const relay = new Relay(target);
  await relay.listen();
  onTestFinished(() => relay.kill());
  return relay;
}
