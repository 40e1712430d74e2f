import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import type { AdminListenerModel, HostPort } from '../../config/index.ts';
import type * as core from '../../core/index.ts';
import { GatewayError, type Kept, listenPlace, reuse } from '../../core/index.ts';
import {
  createTlsServer,
  hasBadCertificate,
  TICKET_KEY_BYTES,
  type TlsOptions,
} from '../../wire/tls/index.ts';
import { AdminAccess, type AdminAccessDependencies } from './admin-access.ts';
import { type ApiSources, answerApi, send, sendError } from './api/index.ts';
import { answerNotice, type NoticeTaker } from './notice-endpoints.ts';
import { type GatewayStatus, statusAsJson } from './status.ts';
import { PAGE_POLICY, statusAsPage } from './status-page.ts';

export interface AdminView {
  /** The metrics of these names, or all if there are none, in the Prometheus text format, and its media type. */
  metrics(names: readonly string[]): Promise<{ readonly contentType: string; readonly text: string }>;
  notReady(): string | null;
  status(showCallers: boolean): Promise<GatewayStatus>;
  readonly api: ApiSources;
  readonly notices: NoticeTaker;
}

interface AdminListenerDependencies extends AdminAccessDependencies {
  readonly clock: core.TimerClock;
  readonly network: core.Network;
}

/**
 * The second listener, for the platform only: metrics, health and status. Must not be reachable from outside the cluster.
 *
 * - `GET /healthz`: 200 as long as the process can answer; depends on nothing else
 * - `GET /readyz`: 200, or 503 with the reason while starting or draining
 * - `GET /metrics`: the Prometheus text format; `?name[]=weir_errors_total&name[]=...` shows these metrics alone, as other exporters do
 * - `GET /status`: a page, or JSON if `Accept` asks for it
 * - `GET /status.json`: JSON
 * - `POST /notices/...`: notices from the identity provider, if configured
 * - `/api/...`: the API that `GET /openapi.json` describes
 */
export class AdminListener {
  readonly #server: Server;
  readonly #view: AdminView;
  readonly #access: AdminAccess;
  readonly #listener: core.AdminApiListener;
  readonly #serve: (socket: Socket) => void;
  readonly #sockets = new Set<Socket>();
  readonly #handshakes: HandshakeLimit;
  readonly #clock: core.TimerClock;
  readonly #randomBytes: core.RandomBytes;
  /** The TLS server in front of the listener; `null` for cleartext. */
  #tls: Kept<TlsOptions | null, TlsServer | null> = { key: null, part: null };

  constructor(view: AdminView, model: AdminListenerModel | null, dependencies: AdminListenerDependencies) {
    this.#view = view;
    this.#clock = dependencies.clock;
    this.#randomBytes = dependencies.randomBytes;
    this.#handshakes = new HandshakeLimit(dependencies.clock);
    this.#access = new AdminAccess(dependencies);
    this.#listener = dependencies.listener;
    this.#server = dependencies.network.createHttpServer((request, response) => {
      this.#answer(request, response).catch(error => answerFault(request, response, error, this.#listener));
    });
    // Replace the handler of accepted sockets, because a TLS handshake may come first.
    const serving = this.#server.listeners('connection');
    this.#server.removeAllListeners('connection');
    this.#serve = socket => {
      for (const serve of serving) Reflect.apply(serve, this.#server, [socket]);
    };
    this.#server.on('connection', socket => this.#onSocket(socket));
    this.use(model);
  }

  /** Applies a reload: the token to further requests, TLS to further connections. */
  use(model: AdminListenerModel | null): void {
    this.#access.use(model?.tokenHash ?? null);
    this.#tls = reuse(this.#tls, model?.tls ?? null, tls => tls && this.#openTls(tls));
  }

  #openTls(options: TlsOptions): TlsServer {
    const server = createTlsServer(options, this.#randomBytes(TICKET_KEY_BYTES));
    return server.on('secureConnection', socket => {
      this.#handshakes.end(socket);
      if (isNobody(socket) || hasBadCertificate(socket)) socket.destroy();
      else this.#serve(socket);
    });
  }

  #onSocket(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    if (isNobody(socket)) {
      socket.destroy();
      return;
    }
    const { part: tls } = this.#tls;
    if (tls === null) this.#serve(socket);
    else {
      // A client that closes its side during the handshake is gone, so close ours as well.
      socket.allowHalfOpen = false;
      this.#handshakes.begin(socket);
      tls.emit('connection', socket);
    }
  }

  async listen(address: HostPort): Promise<HostPort> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(listenPlace(address), () => resolve());
    });
    // Ignore errors of single connections: they must not end the process.
    this.#server.on('error', () => {});
    const bound = this.#server.address() as AddressInfo;
    this.#access.bound(bound.address);
    return { host: bound.address, port: bound.port };
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const api = { sources: this.#view.api, access: this.#access, listener: this.#listener };
    if (await answerApi(request, response, api)) return;
    // Do not check `Host` here: notices come through proxies that keep a public name, and they are signed.
    if (await answerNotice(request, response, this.#view.notices, this.#clock)) return;
    const refusal = this.#access.toOpen(request);
    if (refusal !== null) return send(response, refusal.status, TEXT, `${refusal.message}\n`);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return send(response, 405, TEXT, 'Use GET or HEAD.\n');
    const [path, query] = request.url?.split('?', 2) ?? [];
    switch (path) {
      case '/healthz':
        return send(response, 200, TEXT, 'ok\n');
      case '/readyz': {
        const reason = this.#view.notReady();
        return send(response, reason === null ? 200 : 503, TEXT, `${reason ?? 'ready'}\n`);
      }
      case '/metrics': {
        const { contentType, text } = await this.#view.metrics(new URLSearchParams(query).getAll('name[]'));
        return send(response, 200, ['Content-Type', contentType], text);
      }
      case '/status':
        return this.#status(request, response, wantsJson(request.headers.accept));
      case '/status.json':
        return this.#status(request, response, true);
      default:
        return send(response, 404, TEXT, 'Not found. Try /metrics, /healthz, /readyz or /status.\n');
    }
  }

  async #status(request: IncomingMessage, response: ServerResponse, asJson: boolean): Promise<void> {
    const status = await this.#view.status(this.#access.mayShowCallers(request));
    const [type, body] = asJson
      ? ['application/json', statusAsJson(status)]
      : ['text/html; charset=utf-8', statusAsPage(status)];
    send(response, 200, [...STATUS_FIELDS, 'Content-Type', type], body);
  }
}

const TEXT = ['Content-Type', 'text/plain'];
const STATUS_FIELDS = [
  ...['Cache-Control', 'no-store', 'Vary', 'Accept, Authorization'],
  ...['Content-Security-Policy', PAGE_POLICY, 'Referrer-Policy', 'no-referrer'],
  ...['X-Content-Type-Options', 'nosniff'],
];

/**
 * True if the peer has reset the connection: the kernel no longer knows its address, so the request belongs to nobody. If the
 * address was read before, Node still has it.
 */
function isNobody({ remoteAddress }: Socket): boolean {
  return remoteAddress === undefined;
}

/** Browsers accept text/html; a program that wants JSON does not. */
function wantsJson(accept = ''): boolean {
  return accept.includes('application/json') && !accept.includes('text/html');
}

/** Maximum concurrent TLS handshakes: platforms open few connections. */
const MAX_UNDER_WAY = 64;
const MAX_MS = 10_000;

/** Bounds the number and the time of TLS handshakes on the admin listener. If there are too many, closes the oldest. */
class HandshakeLimit {
  /** Handshakes by remote address and port, which the accepted socket and the TLS socket share. Oldest first. */
  readonly #inProgress = new Map<string, { readonly socket: Socket; readonly timer: core.Timer }>();
  readonly #clock: core.TimerClock;

  constructor(clock: core.TimerClock) {
    this.#clock = clock;
  }

  begin(socket: Socket): void {
    const [oldest] = this.#inProgress.values();
    if (oldest !== undefined && this.#inProgress.size >= MAX_UNDER_WAY) this.#giveUp(oldest.socket);
    const timer = this.#clock.after(MAX_MS, () => this.#giveUp(socket));
    const key = keyOf(socket);
    this.#inProgress.set(key, { socket, timer });
    socket.once('close', () => this.#forget(key));
  }

  /** @param socket the accepted socket, or the TLS socket on top of it */
  end(socket: Socket): void {
    this.#forget(keyOf(socket));
  }

  #giveUp(socket: Socket): void {
    this.end(socket);
    socket.destroy();
  }

  #forget(key: string): void {
    this.#clock.cancel(this.#inProgress.get(key)?.timer ?? null);
    this.#inProgress.delete(key);
  }
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

const ENDPOINTS: Readonly<Record<string, core.AdminEndpoint>> = {
  healthz: 'health',
  readyz: 'health',
  metrics: 'metrics',
  status: 'status',
  'status.json': 'status',
  'openapi.json': 'api',
  api: 'api',
  notices: 'notices',
};

/** Answers a request that the admin listener failed to serve, and reports the fault. */
function answerFault(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  listener: core.AdminApiListener,
): void {
  // The client left before its body had arrived: not a fault of the gateway.
  if (request.destroyed && !request.complete) return;
  const endpoint = ENDPOINTS[/^\/([a-z.]*)/.exec(request.url ?? '')?.[1] ?? ''] ?? 'other';
  listener.failed(endpoint, error);
  // Cut the connection, so that nobody takes a part for the complete response.
  if (response.headersSent) response.destroy();
  else sendError(response, fault());
}

function fault(): GatewayError {
  return new GatewayError({
    status: 500,
    side: 'gateway',
    message: 'The admin listener failed to answer. The log has the cause.',
    close: true,
  });
}
