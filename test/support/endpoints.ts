import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { type ConfigPart, type LocalGateway, startGateway } from './gateway.ts';
import type { RedisServer } from './redis.ts';
import { redisDecides } from './redis-gateway.ts';
import { tempText } from './temp.ts';
import { waitFor } from './wait.ts';

/**
 * How an endpoint behaves.
 * - `reset`: it breaks the connection of each request that it has read
 * - `hang`: it reads requests and does not answer them
 * - a number: it answers with this status
 */
type Mode = 'reset' | 'hang' | number;

/** One of several endpoints of a service, which a test makes fail in every way. */
export class TestEndpoint {
  mode: Mode = 200;
  /** What the endpoint has read to the end: methods, paths and bodies. */
  readonly requests: { readonly method: string; readonly path: string; readonly body: string }[] = [];
  /** Nobody else is given it while the endpoint is dead. */
  port = 0;
  readonly #isHttp2: boolean;
  #server: Server | Http2Server | null = null;
  readonly #sockets = new Set<Socket>();
  readonly #hanging = new Set<ServerResponse | Http2ServerResponse>();
  /** Responses on their way. */
  readonly #answering = new Set<ServerResponse | Http2ServerResponse>();

  constructor(isHttp2: boolean) {
    this.#isHttp2 = isHttp2;
  }

  /** How many requests wait for their response. */
  get hanging(): number {
    return this.#hanging.size;
  }

  /** Listens, on the port of before if it has listened already. */
  async listen(): Promise<void> {
    const server = this.#isHttp2
      ? createHttp2Server((request, response) => this.#take(request, response))
      : createServer((request, response) => this.#take(request, response));
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('sessionError', () => {});
    this.#server = server;
    if (this.port === 0) this.port = await freePort();
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
  }

  /** Refuses connections from now on, and resets those that are open: not inside a response, which nobody could repeat. */
  async die(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    const { mode } = this;
    this.mode = 'hang';
    await waitFor('what was answered has left', () => this.#answering.size === 0);
    this.mode = mode;
    const closed = new Promise(resolve => server.close(resolve));
    for (const socket of this.#sockets) socket.resetAndDestroy();
    await closed;
  }

  /** Answers what hangs. */
  release(): void {
    this.mode = 200;
    for (const response of this.#hanging) this.#respond(response, 200);
    this.#hanging.clear();
  }

  #take(request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse): void {
    let body = '';
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('data', (piece: Buffer) => {
      body += piece.toString('latin1');
    });
    request.on('end', () => {
      this.requests.push({ method: request.method ?? '', path: request.url ?? '', body });
      if (this.mode === 'reset') request.socket.resetAndDestroy();
      else if (this.mode === 'hang') this.#hanging.add(response);
      else this.#respond(response, this.mode);
    });
    response.on('close', () => {
      this.#hanging.delete(response);
      this.#answering.delete(response);
    });
  }

  /** The body says which endpoint it was. */
  #respond(response: ServerResponse | Http2ServerResponse, status: number): void {
    this.#answering.add(response);
    response.statusCode = status;
    response.setHeader('content-type', 'text/plain');
    response.end(String(this.port));
  }
}

/** Starts endpoints. The end of the running test ends them. */
export function startEndpoints(count: number, isHttp2 = false): Promise<TestEndpoint[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const endpoint = new TestEndpoint(isHttp2);
      await endpoint.listen();
      onTestFinished(() => endpoint.die());
      return endpoint;
    }),
  );
}

/** The value of `urls` for these endpoints. */
export function urlsOf(endpoints: readonly TestEndpoint[]): string[] {
  return endpoints.map(({ port }) => `http://127.0.0.1:${port}`);
}

/** Starts a gateway before these endpoints, with further keys of the upstream and of gateway.yaml. */
export function startBalancer(
  endpoints: readonly TestEndpoint[],
  api: ConfigPart = {},
  settings: Partial<Parameters<typeof startGateway>[0]> = {},
): Promise<LocalGateway> {
  return startGateway({
    upstreamPort: 0,
    ...settings,
    api: { url: undefined, urls: urlsOf(endpoints), max_requests_per_caller: '100%', ...api },
  });
}

let prefixes = 0;

/**
 * Starts a gateway before these addresses, with limits that are never reached: one of every request, and one of those to `line`. At
 * the end of the running test each request has drawn once on either, whatever became of it.
 *
 * @param redis counts; without it the gateway does
 */
export async function startCountingBalancer(
  line: string,
  redis: RedisServer | null,
  { config, ...settings }: Parameters<typeof startGateway>[0],
): Promise<LocalGateway> {
  const quota = { address: '60000/1h' };
  const limits = { global: quota, buckets: { all: quota }, routes: { [line]: 'all' } };
  const url = `redis://127.0.0.1:${redis?.port}`;
  const gateway = await startGateway({
    ...settings,
    config: {
      limits: await tempText('limits.yaml', JSON.stringify(limits)),
      ...(redis && { store: { redis: url, prefix: `weir:e${prefixes++}:`, timeout: '1s' } }),
      ...config,
    },
  });
  if (redis !== null) await redisDecides(gateway);
  onTestFinished(() => waitFor('each request has drawn once', () => hasEachDrawnOnce(gateway, redis)));
  return gateway;
}

async function hasEachDrawnOnce(gateway: LocalGateway, redis: RedisServer | null): Promise<boolean> {
  const { text } = await gateway.admin('/api/buckets?address=127.0.0.1');
  const { countedIn, limits } = JSON.parse(text) as { countedIn: string; limits: { used: number }[] };
  const requests = [...(await gateway.metric('weir_requests_total')).values()];
  const sum = requests.reduce((sum, count) => sum + count, 0);
  if (countedIn !== (redis === null ? 'memory' : 'redis') || sum === 0 || limits.length !== 2)
    throw new Error(`nothing to compare in ${text}`);
  return limits.every(({ used }) => used === sum);
}
