import { onTestFinished } from 'vitest';
import { type Account, type Counts, type Entry, KINDS, type Kind } from './account.ts';
import { overHttp1, overHttp2, overWebSocket } from './clients.ts';
import { waitFor } from './fault.ts';

export interface LoadOptions {
  /** Clients of HTTP/1.1, each with a connection that it keeps. Default 6. */
  readonly http1?: number;
  /** Sessions of HTTP/2, each with three requests at a time. Default 2. */
  readonly http2?: number;
  /** Calls of gRPC at a time in each session. Default 1. */
  readonly calls?: number;
  /** Clients of WebSockets. Default 2. */
  readonly webSockets?: number;
  /** Requests after which a client of HTTP/1.1 connects anew. Default: it never does. */
  readonly perConnection?: number;
  /** Before the path of each request. Default: nothing. */
  readonly path?: string;
  /** Further fields of each request, call and handshake. */
  readonly fields?: Readonly<Record<string, string>>;
  /** `grpc-timeout` of each call. Default: none. */
  readonly deadline?: string;
}

/** How many calls, and messages, end well before the load counts as whole again. */
const STREAMED = 5;

/** Clients that send one thing after the other until they are stopped, to several gateways in turn. */
export class Load {
  readonly account: Account;
  /** Ports of the gateways; may change at any time. */
  readonly ports: number[];
  readonly options: LoadOptions;
  readonly #clients: Promise<void>[] = [];
  #stopped = false;
  #turn = 0;

  constructor(account: Account, ports: readonly number[], options: LoadOptions = {}) {
    this.account = account;
    this.ports = [...ports];
    this.options = options;
    for (let i = 0; i < (options.http1 ?? 6); i++) this.#clients.push(overHttp1(this));
    for (let i = 0; i < (options.http2 ?? 2); i++) this.#clients.push(overHttp2(this));
    for (let i = 0; i < (options.webSockets ?? 2); i++) this.#clients.push(overWebSocket(this));
    onTestFinished(() => this.stop());
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  /** How many requests, calls and messages have begun. */
  get begun(): number {
    return this.account.entries.length;
  }

  /** Turns to another gateway with each connection, as a balancer does. */
  nextPort(): number {
    return this.ports[this.#turn++ % this.ports.length] ?? 0;
  }

  begin(kind: Kind): Entry {
    return this.account.begin(kind, kind === 'request' ? this.options.path : '');
  }

  /** Waits until this many requests that begin from now on have ended, and tells how. */
  async passes(count: number): Promise<Counts> {
    const from = this.begun;
    const counts = () => this.account.counts(from, this.begun, ['request']);
    await waitFor(`${count} more requests have ended`, () => ended(counts()) >= count);
    return counts();
  }

  /**
   * Waits until all that began before has ended, and the service answers this many requests that begin one after the other, and some
   * calls and messages, without any other end.
   */
  async isWhole(count = 100): Promise<void> {
    for (;;) {
      const from = this.begun;
      await this.passes(count);
      await waitFor('what began before has ended', () => this.account.firstOpen >= from);
      const counts = (kind: Kind) => this.account.counts(from, this.begun, [kind]);
      const kinds = KINDS.filter(kind => this.account.entries.some(entry => entry.kind === kind));
      await waitFor('some of each kind have ended', () =>
        kinds.every(kind => ended(counts(kind)) >= STREAMED),
      );
      const { answered: _, ...others } = this.account.counts(from);
      if (ended(others) === 0) return;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }
}

function ended(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
