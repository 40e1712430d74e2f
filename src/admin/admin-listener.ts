import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HostPort } from '../config/index.ts';

/** What the admin listener shows. */
export interface AdminView {
  /** The metrics in Prometheus' text format, and its media type. */
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Why the gateway should get no traffic now; null when it should. */
  notReady(): string | null;
}

/**
 * The second listener, for the platform only: metrics and health. It must not be reachable from outside the cluster.
 *
 * - `GET /healthz`: 200 while the process can answer at all; depends on nothing else
 * - `GET /readyz`: 200, or 503 with the reason while starting or draining
 * - `GET /metrics`: Prometheus' text format
 */
export class AdminListener {
  readonly #server: Server;
  readonly #view: AdminView;

  constructor(view: AdminView) {
    this.#view = view;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  async listen({ host, port }: HostPort): Promise<HostPort> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => resolve());
    });
    const bound = this.#server.address() as AddressInfo;
    return { host: bound.address, port: bound.port };
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, 405, 'text/plain', 'Only GET and HEAD.\n');
      return;
    }
    switch (request.url?.split('?', 1)[0]) {
      case '/healthz':
        send(response, 200, 'text/plain', 'ok\n');
        break;
      case '/readyz':
        this.#readiness(response);
        break;
      case '/metrics': {
        const { contentType, text } = await this.#view.metrics();
        send(response, 200, contentType, text);
        break;
      }
      default:
        send(response, 404, 'text/plain', 'Here are /metrics, /healthz and /readyz.\n');
    }
  }

  #readiness(response: ServerResponse): void {
    const reason = this.#view.notReady();
    if (reason === null) send(response, 200, 'text/plain', 'ready\n');
    else send(response, 503, 'text/plain', `${reason}\n`);
  }
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
