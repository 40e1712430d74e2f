import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';

/** How clients of a load hold their connections. */
type Manner = 'kept' | 'fresh' | 'h2';

/** Clients of each manner, and the pause of each between a response and its next request. */
const CLIENTS: Readonly<Record<Manner, { readonly count: number; readonly pauseMs: number }>> = {
  kept: { count: 6, pauseMs: 40 },
  fresh: { count: 3, pauseMs: 60 },
  h2: { count: 2, pauseMs: 40 },
};

interface Lost {
  readonly manner: Manner;
  readonly error: string;
  /** Since the load began. */
  readonly atMs: number;
}

/**
 * Steady load on one address: clients that keep their connection, clients with a connection for each request, and clients of
 * HTTP/2. A request that fails is lost: none is sent twice, except what HTTP/2 says was not served (RFC 9113, 8.7).
 */
export class SteadyLoad {
  /** Responses by status. */
  readonly statuses = new Map<number, number>();
  /** Requests that got no response. */
  readonly lost: Lost[] = [];
  /** Requests of HTTP/2 that crossed a GOAWAY on their way and were sent again. */
  repeated = 0;
  readonly #origin: string;
  readonly #path: string;
  readonly #startedAt = performance.now();
  readonly #clients: readonly Promise<void>[];
  #stopped = false;

  constructor(origin: string, path: string) {
    this.#origin = origin;
    this.#path = path;
    this.#clients = (Object.keys(CLIENTS) as Manner[]).flatMap(manner =>
      Array.from({ length: CLIENTS[manner].count }, () => this.#run(manner)),
    );
  }

  get responses(): number {
    return [...this.statuses.values()].reduce((sum, count) => sum + count, 0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  async #run(manner: Manner): Promise<void> {
    const ask = manner === 'h2' ? this.#h2Client() : this.#http1Client(manner === 'kept');
    while (!this.#stopped) {
      try {
        const status = await ask();
        this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      } catch (error) {
        this.lost.push({ manner, error: String(error), atMs: performance.now() - this.#startedAt });
      }
      await sleep(CLIENTS[manner].pauseMs);
    }
  }

  #http1Client(keepAlive: boolean): () => Promise<number> {
    const agent = new Agent({ keepAlive, maxSockets: 1 });
    return async () => {
      const sent = request(`${this.#origin}${this.#path}`, { agent }).end();
      const [response] = await once(sent, 'response');
      response.resume();
      await once(response, 'end');
      return response.statusCode;
    };
  }

  #h2Client(): () => Promise<number> {
    let session: ClientHttp2Session | undefined;
    const open = (): ClientHttp2Session =>
      connect(this.#origin)
        .on('error', () => {})
        .on('goaway', () => {
          session = undefined;
        })
        .on('close', () => {
          session = undefined;
        });
    const ask = async (): Promise<number> => {
      session ??= open();
      const stream = session.request({ ':path': this.#path }, { endStream: true });
      const [headers] = await once(stream, 'response');
      stream.resume();
      await once(stream, 'end');
      return Number(headers[':status']);
    };
    return () =>
      ask().catch((error: Error) => {
        if (!error.message.includes('NGHTTP2_REFUSED_STREAM')) throw error;
        session = undefined;
        this.repeated++;
        return ask();
      });
  }
}
