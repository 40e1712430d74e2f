import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Host, Process } from '../host.ts';
import type { Draws } from '../kernel/draws.ts';
import type { World } from '../world.ts';
import type { Inhabitant } from './inhabitant.ts';

/** What the body of the response to a request consists of, again and again. */
export function wordOf(id: string): string {
  return `<${id}>`;
}

/** What ends a body whose length nobody has said. */
export const LAST = '.';

/** A service behind the gateways. It answers by its own whims, and always with what only this request may get. */
export class WorldService implements Inhabitant {
  readonly name: string;
  readonly host: Host;
  readonly #world: World;
  #process: Process | null = null;
  readonly #draws: Draws;
  /** Where it listens. */
  readonly port = 80;

  constructor(world: World, name: string) {
    this.name = name;
    this.#world = world;
    this.host = world.host(name);
    this.#draws = world.draws.part(`service ${name}`);
  }

  async start(): Promise<void> {
    const { process, system } = this.host.start();
    this.#process = process;
    const server = system.network.createHttpServer((request, response) => this.#serve(request, response));
    server.keepAliveTimeout = this.#draws.one([1_000, 5_000]);
    await new Promise<void>(listening => {
      this.#world.kernel.current = process;
      server.listen({ host: this.host.address, port: this.port }, listening);
    });
  }

  plan(): void {
    const draws = this.#draws.part('faults');
    const { plan } = this.#world;
    for (let i = draws.whole(0, 1); i > 0; i--) {
      const atMs = draws.between(1_000, 20_000);
      const awayMs = draws.between(100, 6_000);
      plan.add(atMs, `${this.name} dies for ${awayMs.toFixed()} ms`, own => {
        this.#die(own.percent(30));
        this.#world.kernel.after(awayMs, this.#world.wires.everyone, () => void this.heal());
      });
    }
  }

  async heal(): Promise<void> {
    if (this.#process?.isAlive !== true) await this.start();
  }

  async leave(): Promise<void> {
    this.#die(false);
  }

  #die(isSilent: boolean): void {
    if (this.#process === null) return;
    this.host.kill(this.#process, isSilent);
    this.#process = null;
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const id = String(request.headers['x-world'] ?? '');
    const world = this.#world;
    const asked = world.requests.find(id);
    world.history.tell(this.name, `is asked ${request.method} ${request.url} ${id}`);
    if (asked === undefined) world.wrong('own request', `${this.name} got a request of nobody: ${id}`);
    else asked.arrivals.push({ atMs: world.nowMs, hasToken: request.headers.authorization !== undefined });
    const { socket } = request;
    response.sendDate = false;
    // Probes at the end of a world must be served well.
    const whim = id.startsWith('probe') ? 0 : this.#draws.part(id).whole(0, 99);
    const draws = this.#draws.part(`${id} answer`);
    request.on('error', () => {});
    response.on('error', () => {});
    if (whim < 50) this.#answer(request, response, id, draws);
    else if (whim < 70) {
      const waitsMs = draws.between(1, 3_000);
      this.#later(waitsMs, socket, () => this.#answer(request, response, id, draws));
    } else if (whim < 80) this.#stream(response, id, draws, draws.whole(1, 12));
    else if (whim < 84) socket.resetAndDestroy();
    else if (whim < 87) this.#breakOff(response, socket, id);
    else if (whim < 90)
      response.writeHead(200, { 'x-world': id, connection: 'close' }).end(wordOf(id) + LAST);
    else if (whim < 97) {
      request.resume();
      response.writeHead(draws.one([204, 404, 500, 503]), { 'x-world': id }).end();
    } else request.resume();
  }

  #answer(request: IncomingMessage, response: ServerResponse, id: string, draws: Draws): void {
    const isLarge = draws.percent(10);
    const body = wordOf(id).repeat(isLarge ? draws.whole(1_000, 10_000) : draws.whole(0, 20));
    const end = () => {
      response.writeHead(200, { 'x-world': id, 'content-length': body.length });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    // Some read the whole request first, others do not.
    if (draws.percent(70)) request.on('end', end);
    else end();
    request.resume();
  }

  #stream(response: ServerResponse, id: string, draws: Draws, pieces: number): void {
    if (!response.headersSent) response.writeHead(200, { 'x-world': id });
    if (pieces === 0) response.end(LAST);
    else {
      response.write(wordOf(id).repeat(draws.whole(1, 50)));
      this.#later(draws.between(1, 800), response.socket, () =>
        this.#stream(response, id, draws, pieces - 1),
      );
    }
  }

  /** Promises more than it sends. */
  #breakOff(response: ServerResponse, socket: Socket, id: string): void {
    response.writeHead(200, { 'x-world': id, 'content-length': 100_000 });
    response.write(wordOf(id));
    this.#later(5, socket, () => socket.destroy());
  }

  #later(ms: number, socket: Socket | null, run: () => void): void {
    const process = this.#process;
    if (process === null) return;
    this.#world.kernel.after(ms, process, () => {
      if (socket?.destroyed === false) run();
    });
  }
}
