import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { NODE_ADDRESS } from '../kubelet/network.ts';

const PORT = 3_000;

/** What pods find at `http://upstream:3000`. Counts the requests by the pod that forwarded them. */
export class CountingUpstream {
  readonly byPod = new Map<string, number>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const pod = request.socket.remoteAddress ?? '';
      this.byPod.set(pod, (this.byPod.get(pod) ?? 0) + 1);
      const seconds = Number(/^\/slow\/(\d+)/.exec(request.url ?? '')?.[1] ?? 0);
      for (let i = 0; i < seconds * 10; i++) {
        response.write('drip\n');
        await sleep(100);
      }
      response.end('end\n');
    });
  }

  static async start(): Promise<CountingUpstream> {
    const upstream = new CountingUpstream();
    upstream.#server.listen(PORT, NODE_ADDRESS);
    await once(upstream.#server, 'listening');
    return upstream;
  }

  get requests(): number {
    return [...this.byPod.values()].reduce((sum, count) => sum + count, 0);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
