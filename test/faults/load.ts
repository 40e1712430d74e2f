import type { ClientHttp2Session } from 'node:http2';
import { onTestFinished } from 'vitest';
import { ask, connectHttp2 } from '../support/http2-client.ts';
import { head, withBody } from '../support/requests.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { header, NoResponse, openRaw, type RawClient } from '../support/wire/index.ts';
import type { Account, Counts, Entry } from './account.ts';

export interface LoadOptions {
  /** Clients of HTTP/1.1, each with a connection that it keeps. Default 6. */
  readonly http1?: number;
  /** Sessions of HTTP/2, each with three requests at a time. Default 2. */
  readonly http2?: number;
  /** Requests after which a client of HTTP/1.1 connects anew. Default: it never does. */
  readonly perConnection?: number;
  /** Before the path of each request. Default: nothing. */
  readonly path?: string;
  /** Further lines of each request over HTTP/1.1, and fields over HTTP/2. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** Clients that ask one thing after the other until they are stopped, at several gateways in turn. */
export class Load {
  readonly account: Account;
  /** Ports of the gateways; may change at any time. */
  readonly ports: number[];
  readonly #options: LoadOptions;
  readonly #clients: Promise<void>[] = [];
  #stopped = false;
  #turn = 0;

  constructor(account: Account, ports: readonly number[], options: LoadOptions = {}) {
    this.account = account;
    this.ports = [...ports];
    this.#options = options;
    for (let i = 0; i < (options.http1 ?? 6); i++) this.#clients.push(this.#overHttp1());
    for (let i = 0; i < (options.http2 ?? 2); i++) this.#clients.push(this.#overHttp2());
    onTestFinished(() => this.stop());
  }

  /** How many requests have begun. */
  get begun(): number {
    return this.account.entries.length;
  }

  /** Waits until this many requests that begin from now on have ended, and tells how. */
  async passes(count: number): Promise<Counts> {
    const from = this.begun;
    await waitFor(`${count} more requests have ended`, () => ended(this.account.counts(from)) >= count);
    return this.account.counts(from);
  }

  /** Waits until the service answers this many requests that begin one after the other, without any other end. */
  async isWhole(count = 100): Promise<void> {
    for (;;) {
      const { answered, ...others } = await this.passes(count);
      if (answered !== undefined && ended(others) === 0) return;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#clients);
  }

  /** Turns to another gateway with each connection, as a balancer does. */
  #nextPort(): number {
    return this.ports[this.#turn++ % this.ports.length] ?? 0;
  }

  async #overHttp1(): Promise<void> {
    const { path, perConnection = Number.POSITIVE_INFINITY } = this.#options;
    let client: RawClient | null = null;
    let asked = 0;
    while (!this.#stopped) {
      const entry = this.account.begin(path);
      client ??= await openRaw(this.#nextPort()).catch(() => null);
      if (client === null) entry.outcome = 'unconnected';
      else if (!(await this.#askOverHttp1(client, entry)) || ++asked >= perConnection) {
        client.destroy();
        client = null;
        asked = 0;
      }
      await pause();
      this.account.surplus += client?.unread.length ?? 0;
    }
    client?.destroy();
  }

  /** Resolves to whether the connection can take another request. */
  async #askOverHttp1(client: RawClient, entry: Entry): Promise<boolean> {
    const { method, target, body } = entry;
    const lines = Object.entries(this.#options.fields ?? {}).map(([name, value]) => `${name}: ${value}`);
    const line = `${method} ${target}`;
    try {
      const bytes = method === 'POST' ? withBody(line, body, ...lines) : head(line, ...lines);
      const response = await client.ask(bytes);
      entry.answered(response.status, response.body.toString('latin1'), response.complete);
      return response.complete && client.end === null && header(response, 'connection') !== 'close';
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
      entry.outcome = error.why === 'timeout' ? 'silent' : 'broken';
      return false;
    }
  }

  async #overHttp2(): Promise<void> {
    let session: ClientHttp2Session | null = null;
    let isConnected = false;
    const current = (): ClientHttp2Session => {
      if (session === null || session.closed || session.destroyed) {
        isConnected = false;
        session = connectHttp2({ port: this.#nextPort() });
        session.on('connect', () => {
          isConnected = true;
        });
      }
      return session;
    };
    const stream = async (): Promise<void> => {
      while (!this.#stopped) {
        const entry = this.account.begin(this.#options.path);
        await this.#askOverHttp2(current(), entry);
        if (entry.outcome === 'broken' && !isConnected) entry.outcome = 'unconnected';
        await pause();
      }
    };
    await Promise.all([stream(), stream(), stream()]);
    current().destroy();
  }

  async #askOverHttp2(session: ClientHttp2Session, entry: Entry): Promise<void> {
    const { method, target, body } = entry;
    const fields = {
      ':method': method,
      ':path': target,
      ':authority': 'gateway.test',
      ...this.#options.fields,
    };
    const silence = new AbortController();
    const response = ask(session, fields, body === '' ? undefined : body);
    const waited = sleep(60_000, null, { signal: silence.signal }).catch(() => null);
    const outcome = await Promise.race([response, waited]);
    silence.abort();
    if (outcome === null) entry.outcome = 'silent';
    else {
      const { status, rstCode } = outcome;
      entry.answered(status, outcome.body.toString('latin1'), status !== 0 && rstCode === 0);
    }
  }
}

/** Lets the processors serve others: a client that asks at once whenever it was answered takes all of them. */
function pause(): Promise<void> {
  return sleep(4);
}

function ended(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
