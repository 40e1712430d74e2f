import { createHash } from 'node:crypto';
import { Cluster, Command, type Redis } from 'ioredis';
import { inNextTurn, isUnknownAuthority, type StoreFailure, type TimerClock } from '../../../core/index.ts';
import { formatPrefix, type RedisOptions } from '../options.ts';
import { Deadlines, makeClient, useSecrets, type Waiting } from './client.ts';
import { hasCode, UNKNOWN_SCRIPT } from './error-codes.ts';
import { Lateness } from './lateness.ts';

/** A command that failed, or got no reply in time: then Redis may still run it. */
export class RedisError extends Error {
  override readonly name = 'RedisError';
  readonly failure: StoreFailure;

  constructor(failure: StoreFailure, message: string) {
    // No stack trace: an outage creates one of these for each request.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = limit;
    this.failure = failure;
  }

  static of(error: unknown): RedisError {
    return error instanceof RedisError ? error : new RedisError('error', String(error));
  }
}

export type ReplyCallback = (error: RedisError | null, value: unknown) => void;

/** The reply to one command as a promise, which rejects with a RedisError. */
export function replyTo(send: (reply: ReplyCallback) => void): Promise<unknown> {
  return new Promise((resolve, reject) => {
    send((error, value) => (error === null ? resolve(value) : reject(error)));
  });
}

/** An argument of a command: only text and numbers are sent to Redis. */
export type Argument = string | number;

/** Time from accepting a connection to the end of authentication. */
const HANDSHAKE_MS = 1_000;

/** Time between attempts to subscribe without permission. */
const RESUBSCRIBE_MS = 10_000;

interface Outstanding extends Waiting {
  readonly reply: ReplyCallback;
}

export interface Subscriber {
  readonly message: (text: string) => void;
  readonly ready: () => void;
  readonly refused: (cause: string) => void;
}

/**
 * The one connection to Redis (in a cluster, one to each node), shared by everything that needs it. A command gets its reply
 * within the budget or fails. If the server is silent, the connection is given up: everything queued on it would be late as well.
 * Reconnects automatically, forever.
 */
export class RedisConnection {
  readonly isCluster: boolean;
  /** The beginning of every key and channel. */
  readonly prefix: string;
  #options: RedisOptions;
  readonly #client: Redis | Cluster;
  readonly #deadlines: Deadlines<Outstanding>;
  readonly #listeners: ((ready: boolean, cause: string) => void)[] = [];
  readonly #subscribers = new Map<string, Subscriber>();
  #subscriber: Redis | Cluster | null = null;
  readonly #clock: TimerClock;
  readonly #lateness: Lateness;
  #acceptedAtMs = 0;
  #lastError = 'not connected yet';
  #corked: readonly Redis[] = [];
  #wasReady = false;
  #stopped = false;

  constructor(options: RedisOptions, { clock }: { readonly clock: TimerClock }) {
    this.#options = options;
    this.#clock = clock;
    this.prefix = formatPrefix(options.prefix);
    this.isCluster = options.servers.kind === 'cluster';
    this.#client = makeClient(options);
    this.#lateness = new Lateness(clock, options.budgetMs);
    this.#deadlines = new Deadlines(clock, options.budgetMs, late => this.#timedOut(late));
    // Reports each failed attempt to connect; the reason is not available anywhere else.
    for (const event of ['error', 'node error', 'sentinelError'])
      this.#client.on(event, (error: Error) => this.#note(error));
    this.#client.on('connect', () => {
      this.#acceptedAtMs = clock.monotonicMs();
    });
    this.#client.on('ready', () => {
      if (!isSetUp(this.#client)) return;
      this.#wasReady = true;
      this.#lastError = 'the connection was lost';
      this.#announce(true, '');
    });
    this.#client.on('close', () => this.#announce(false, this.#lastError));
  }

  /** Whether a command would be sent now. */
  get isReady(): boolean {
    return this.#client.status === 'ready';
  }

  /** Whether it makes no sense to wait for replies: none comes, or most of them come too late. */
  get isLate(): 'silent' | 'slow' | false {
    if (this.#lateness.isSilent) return 'silent';
    return this.#lateness.isSlow && 'slow';
  }

  /** The reason why the last attempt to connect failed, or the connection was lost. */
  get lastError(): string {
    return this.#lastError;
  }

  /**
   * Registers a callback for whenever the connection is made or lost. A cluster counts as connected while any of its nodes is.
   */
  onState(listener: (ready: boolean, cause: string) => void): void {
    this.#listeners.push(listener);
  }

  /** Abandons a server that accepted the connection and then stayed silent. Call it periodically while not ready. */
  hurry(): void {
    if (this.isReady || this.#client instanceof Cluster || this.#client.status !== 'connect') return;
    if (this.#clock.monotonicMs() - this.#acceptedAtMs > HANDSHAKE_MS) this.#client.stream.destroy();
  }

  start(): void {
    // Failures are reported as events.
    this.#client.connect().catch(() => {});
  }

  stop(): void {
    this.#stopped = true;
    this.#client.disconnect();
    this.#subscriber?.disconnect();
  }

  /** Uses other credentials and certificates for connections from now on. `options`: as at the start, but for these. */
  useSecrets(options: RedisOptions): void {
    this.#options = options;
    for (const client of [this.#client, this.#subscriber]) if (client !== null) useSecrets(client, options);
  }

  /** Sends one command and calls back exactly once, never before it returns. */
  send(name: string, args: readonly Argument[], reply: ReplyCallback): void {
    if (!this.isReady) {
      queueMicrotask(() => reply(new RedisError('disconnected', this.#lastError), null));
      return;
    }
    const outstanding: Outstanding = { dueMs: 0, reply };
    this.#deadlines.add(outstanding);
    this.#transmit(name, args, outstanding);
  }

  /** Sends one command and returns a promise, for callers that are not on a request's path. It rejects with a RedisError. */
  command(name: string, ...args: readonly Argument[]): Promise<unknown> {
    return replyTo(reply => this.send(name, args, reply));
  }

  /**
   * Runs a script by its hash; sends the source to a server that does not know it (a new one, or after SCRIPT FLUSH). In a
   * cluster, all keys must be in one slot.
   */
  run(script: RedisScript, keys: readonly string[], args: readonly Argument[], reply: ReplyCallback): void {
    const rest = [keys.length, ...keys, ...args];
    this.send('evalsha', [script.sha, ...rest], (error, value) => {
      if (error === null || !hasCode(error, UNKNOWN_SCRIPT)) reply(error, value);
      else this.send('eval', [script.source, ...rest], reply);
    });
  }

  /** Runs a script and returns a promise, which rejects with a RedisError. */
  script(script: RedisScript, keys: readonly string[], ...args: readonly Argument[]): Promise<unknown> {
    return replyTo(reply => this.run(script, keys, args, reply));
  }

  /**
   * Receives the messages of a channel (its name is prefixed with `prefix`) on a separate connection. Messages published while
   * that connection is lost are missed: `ready` is called whenever the subscription begins, so that the subscriber can catch up,
   * and `refused` whenever Redis does not permit it. Retries every ten seconds.
   */
  subscribe(channel: string, { message, ready, refused }: Subscriber): void {
    this.#subscribers.set(this.prefix + channel, { message, ready, refused });
    this.#subscriber ??= this.#makeSubscriber();
    if (this.#subscriber.status === 'ready') this.#enlist(this.#subscriber, this.prefix + channel);
  }

  #transmit(name: string, args: readonly Argument[], outstanding: Outstanding): void {
    this.#cork();
    const command = new Command(name, [...args], { replyEncoding: 'utf8' }, (error, value) => {
      const isReply = error === null || error === undefined;
      if (!this.#deadlines.remove(outstanding)) {
        if (isReply) this.#lateness.spoke();
        return;
      }
      // In a cluster, the reply may come from another node than the late one.
      this.#lateness.inTime(!this.isCluster);
      if (isReply) outstanding.reply(null, value);
      else outstanding.reply(this.#errorOf(error), null);
    });
    this.#client.sendCommand(command);
  }

  /** Sends everything from one turn of the event loop in one write: the system call is half of a command's cost. */
  #cork(): void {
    if (this.#corked.length > 0) return;
    this.#corked = this.#nodes().filter(node => node.status === 'ready');
    const streams = this.#corked.map(node => node.stream);
    for (const stream of streams) stream.cork();
    inNextTurn(() => {
      this.#corked = [];
      for (const stream of streams) stream.uncork();
    });
  }

  #nodes(): readonly Redis[] {
    return this.#client instanceof Cluster ? this.#client.nodes('master') : [this.#client];
  }

  /**
   * Fails the commands. If the server is silent, also destroys the connection, instead of closing it cleanly, which a hung server
   * would never do. In a cluster, only for the nodes that owe a response.
   */
  #timedOut(late: readonly Outstanding[]): void {
    this.#lateness.late(late.length);
    this.#lastError = `no response within ${this.#options.budgetMs} ms`;
    for (const { reply } of late) reply(new RedisError('timeout', this.#lastError), null);
    if (!this.#lateness.isSilent) return;
    this.#lateness.spoke();
    for (const node of this.#nodes()) if (owesResponse(node)) node.stream.destroy();
  }

  #errorOf(error: Error): RedisError {
    const lost = !this.isReady || error.message === 'Connection is closed.';
    if (!lost) return new RedisError('error', redacted(error));
    return new RedisError('disconnected', this.#lastError);
  }

  #note(error: Error): void {
    // ioredis says nothing useful about an unreachable cluster, but the error of the last node does.
    const { lastNodeError = error } = error as { lastNodeError?: Error };
    this.#lastError = redacted(lastNodeError) + (this.#wasReady ? '' : hint(lastNodeError, this.#options));
  }

  #announce(ready: boolean, cause: string): void {
    if (!this.#stopped) for (const listener of this.#listeners) listener(ready, cause);
  }

  #makeSubscriber(): Redis | Cluster {
    const subscriber = makeClient(this.#options);
    // The other connection reports why it cannot connect.
    subscriber.on('error', () => {});
    subscriber.on('message', (channel: string, text: string) =>
      this.#subscribers.get(channel)?.message(text),
    );
    subscriber.on('ready', () => {
      if (!isSetUp(subscriber)) return;
      for (const channel of this.#subscribers.keys()) this.#enlist(subscriber, channel);
    });
    subscriber.connect().catch(() => {});
    return subscriber;
  }

  #enlist(subscriber: Redis | Cluster, channel: string): void {
    subscriber.subscribe(channel).then(
      () => this.#subscribers.get(channel)?.ready(),
      (error: Error) => {
        // The connection was lost again, and the next one will subscribe.
        if (this.#stopped || subscriber.status !== 'ready') return;
        this.#subscribers.get(channel)?.refused(redacted(error));
        this.#clock.after(RESUBSCRIBE_MS, () => {
          if (!this.#stopped && subscriber.status === 'ready') this.#enlist(subscriber, channel);
        });
      },
    );
  }
}

/** False if a step of the set-up was refused: the connection is then being closed. */
function isSetUp(client: Redis | Cluster): boolean {
  return client instanceof Cluster || !client.stream.destroyed;
}

function owesResponse(node: Redis): boolean {
  // Not part of the published types.
  const { commandQueue } = node as unknown as { readonly commandQueue?: { readonly length: number } };
  return commandQueue === undefined || commandQueue.length > 0;
}

/** What an error means where no connection was ever made; empty if it says so itself. */
function hint(error: Error, { tls }: RedisOptions): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (tls === null) return code === 'ECONNRESET' ? ' (a port for TLS? then write rediss://)' : '';
  if (isUnknownAuthority(code)) return ' (name the authority of its certificate in store.tls.ca_file)';
  const isPlain = code === 'ETIMEDOUT' || code.startsWith('ERR_SSL_');
  return isPlain ? ' (a port without TLS? then write redis://)' : '';
}

/**
 * An error's first line without quoted parts: Redis quotes the arguments of commands that it rejects. A command's name stays if
 * Redis says that it knows no such command, or that permission for it is missing: an operator needs it, and it is one of the few
 * that this code sends.
 */
function redacted(error: Error): string {
  const [line = ''] = error.message.split('\n');
  return (
    line
      .replaceAll(QUOTED, (quoted, _, name?: string) => (name === undefined ? "'...'" : quoted))
      .slice(0, 200) || error.name
  );
}

/**
 * Quoted text, as Redis 7 quotes and as 6.2 does. The second group: the name of a command, as this code sends it, or as Redis writes
 * it, in lower case (`the 'client|list' command`), of a script's too.
 */
const QUOTED =
  /(['`])(?:(?<=^(?:(?:NOPERM|ERR ACL failure in script:) .* the |ERR unknown command )\1)([a-z][a-z|-]{0,40})(?=\1(?: command|,))|.*?)\1/g;

/** One hash tag for each sixteenth of a cluster's slots, so that every node of a typical cluster owns at least one. */
export const PROBED_TAGS: readonly string[] = '10 3 1a b 11 2 1d c 12 1 1c d 13 0 1b a'.split(' ');

/** A Lua script, which Redis caches under its hash. */
export interface RedisScript {
  readonly source: string;
  /** SHA-1 of the source, by which Redis identifies it. */
  readonly sha: string;
}

export function defineScript(source: string): RedisScript {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}
