import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { expect } from 'vitest';
import { atEnd } from '../lifetime.ts';
import type { CapturedRequest } from './captured-request.ts';
import { UpstreamConnection } from './upstream-connection.ts';
import type { Script } from './upstream-exchange.ts';

export interface UpstreamSettings {
  /** What becomes of each request; see `UpstreamExchange`. Default `answerOk`. */
  readonly script?: Script;
  readonly port?: number;
  readonly host?: string;
  /** Bytes of each request body to keep; the rest is only counted. Default 1 MiB. */
  readonly keepBytes?: number;
}

/** Reads the whole request, then answers 200 with a body of two bytes. */
export const responseOk: Script = async exchange => {
  await exchange.received();
  await exchange.answer(200, [], 'ok');
};

/**
 * Starts an upstream that the end of the running test stops. The test fails when the gateway sent it anything that a
 * strict reader refuses, unless it took the violations away with `takeViolations`.
 */
export async function startUpstream(settings: UpstreamSettings | Script = {}): Promise<CaptureUpstream> {
  const upstream = new CaptureUpstream(typeof settings === 'function' ? { script: settings } : settings);
  await upstream.listen();
  atEnd(() => {
    upstream.close();
    expect(upstream.takeViolations(), 'what a strict reader refused').toEqual([]);
    expect(upstream.scriptErrors, 'errors of the script').toEqual([]);
  });
  return upstream;
}

/** A backend that records what reaches it, byte for byte, and answers as its script says. */
export class CaptureUpstream {
  readonly connections: UpstreamConnection[] = [];
  readonly requests: CapturedRequest[] = [];
  readonly scriptErrors: unknown[] = [];
  script: Script;
  readonly #settings: UpstreamSettings;
  readonly #server: Server;
  #violations: string[] = [];

  constructor(settings: UpstreamSettings = {}) {
    this.#settings = settings;
    this.script = settings.script ?? responseOk;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, socket => {
      this.connections.push(
        new UpstreamConnection(socket, this.connections.length, settings.keepBytes ?? 1024 * 1024, {
          run: exchange => this.script(exchange),
          request: request => this.requests.push(request),
          violation: text => this.#violations.push(text),
          scriptError: error => this.scriptErrors.push(error),
        }),
      );
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#settings.port ?? 0, this.#settings.host ?? '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get openConnections(): UpstreamConnection[] {
    return this.connections.filter(connection => connection.open);
  }

  /** The only request so far; throws if there is none or more than one. */
  get onlyRequest(): CapturedRequest {
    const [request, ...others] = this.requests;
    if (request === undefined || others.length > 0) {
      throw new Error(
        `the upstream got ${this.requests.length} requests: ${this.requests.map(r => r.target)}`,
      );
    }
    return request;
  }

  /** What the gateway sent that a strict reader refuses, and forgets it. */
  takeViolations(): string[] {
    const taken = this.#violations;
    this.#violations = [];
    return taken;
  }

  /** Forgets what was recorded; connections that are closed, too. For long runs. */
  forget(): void {
    this.requests.length = 0;
    const open = this.openConnections;
    this.connections.length = 0;
    this.connections.push(...open);
    for (const connection of open) connection.requests.length = 0;
  }

  /** Begins again with this script and without connections, for a test that shares it with others. Default: the first script. */
  async renew(script = this.#settings.script ?? responseOk): Promise<void> {
    const open = this.openConnections;
    for (const connection of open) connection.end();
    await Promise.all(open.map(({ gone }) => gone));
    this.forget();
    this.script = script;
  }

  /** Stops listening and destroys every connection. */
  close(): void {
    this.#server.close();
    for (const connection of this.openConnections) connection.destroy();
  }
}
