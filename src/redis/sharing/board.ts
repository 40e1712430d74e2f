import { inNextTurn, type Timer, type TimerClock } from '../../core/index.ts';
import { defineScript, RedisError, type RedisScript, type Subscriber } from '../connection/index.ts';
import { POST, READ } from './board-scripts.ts';
import { type Fact, Outgoing } from './outgoing.ts';

export type { Fact };

/** Holds the facts of one topic. */
interface Topic {
  /** Applies a fact, possibly one that this gateway posted. `name` is without the topic. */
  learn(fact: Fact): void;
  /** All known facts of the topic, with full names, for posting them again to a Redis that has lost them. */
  everything(): Iterable<Fact>;
}

/** What the board needs of a connection. */
export interface BoardConnection {
  readonly prefix: string;
  script(
    script: RedisScript,
    keys: readonly string[],
    ...args: readonly (string | number)[]
  ): Promise<unknown>;
  subscribe(channel: string, subscriber: Subscriber): void;
}

interface BoardDependencies {
  readonly connection: BoardConnection;
  readonly health: { readonly isShared: boolean; mention(error: RedisError): void };
  readonly clock: TimerClock;
  /** Returns an id that no board has had before. */
  readonly newId: () => string;
  /** Facts that could not be applied and are skipped, or none: something else failed here. The fault is not Redis'. */
  readonly onFault: (skippedFacts: number, error: unknown) => void;
  /** Null: messages arrive. Else why Redis refuses to send them. */
  readonly onSubscribed: (refusal: string | null) => void;
  /** Everything on the board has been read for the first time. */
  readonly onLoaded?: () => void;
}

const CHANNEL = 'board';
const TICK_MS = 250;
/** Messages announce news; this regular read finds what a lost message announced. */
const READ_MS = 750;
/** Facts in one command: few enough to block Redis for no more than a millisecond or two. */
const PORTION = 200;

/**
 * Shares facts between gateways. Nothing waits for it: a fact is posted when Redis is available, and the others read it at
 * once, prompted by a message, or at the next regular read. What was posted during an outage is sent when Redis is back.
 */
export class Board {
  readonly #dependencies: BoardDependencies;
  readonly #keys: readonly string[];
  readonly #topics = new Map<string, Topic>();
  readonly #outgoing: Outgoing;
  #timer: Timer | null = null;
  #soon = false;
  #syncing = false;
  #again = false;
  #stopped = false;
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** Null: nothing has been read yet. */
  #id: string | null = null;
  #readTo = 0;
  #loaded = false;

  constructor(dependencies: BoardDependencies) {
    this.#dependencies = dependencies;
    this.#outgoing = new Outgoing(dependencies.clock);
    const { prefix } = dependencies.connection;
    // All in one cluster slot, as scripts require.
    this.#keys = ['state', 'values', 'ends', 'news'].map(part => `${prefix}{board}:${part}`);
  }

  /** Everything on the board has been read at least once. */
  get isLoaded(): boolean {
    return this.#loaded;
  }

  /** Facts and withdrawals not yet written to Redis. */
  get outgoing(): number {
    return this.#outgoing.size;
  }

  join(topic: string, listener: Topic): void {
    this.#topics.set(topic, listener);
  }

  post(fact: Fact): void {
    if (fact.forMs <= 0) return;
    this.#outgoing.put(fact);
    this.#sendSoon();
  }

  /**
   * Takes a fact off the board that another one has made superfluous, unless it has a larger value there. Post the other one
   * first. Nobody forgets what they have learnt: this bounds what Redis holds.
   */
  withdraw(name: string, value: number): void {
    this.#outgoing.withdraw(name, value);
    this.#sendSoon();
  }

  start(): void {
    const { connection, onSubscribed } = this.#dependencies;
    connection.subscribe(CHANNEL, {
      message: () => this.look(),
      ready: () => {
        onSubscribed(null);
        this.look();
      },
      refused: onSubscribed,
    });
    this.#timer = this.#dependencies.clock.every(TICK_MS, () => {
      const due = this.#dependencies.clock.monotonicMs() - this.#readAtMs >= READ_MS;
      if (due || !this.#loaded || this.#outgoing.size > 0) this.look();
    });
  }

  /** Reads and posts now, if Redis is available. */
  look(): void {
    this.#again = true;
    if (!this.#syncing) void this.#sync();
  }

  stop(): void {
    this.#stopped = true;
    this.#dependencies.clock.cancel(this.#timer);
  }

  #sendSoon(): void {
    if (this.#soon || this.#stopped) return;
    this.#soon = true;
    // Sends everything from one turn of the event loop as one command.
    inNextTurn(() => {
      this.#soon = false;
      this.look();
    });
  }

  async #sync(): Promise<void> {
    const { health, onFault } = this.#dependencies;
    this.#syncing = true;
    try {
      while (this.#again && health.isShared && !this.#stopped) {
        this.#again = false;
        await this.#read();
        await this.#send();
      }
    } catch (error) {
      if (error instanceof RedisError) health.mention(error);
      else onFault(0, error);
    }
    this.#syncing = false;
  }

  async #read(): Promise<void> {
    const { connection, clock } = this.#dependencies;
    let more = true;
    while (more) {
      const reply = await connection.script(READ, this.#keys, this.#id ?? '', this.#readTo, PORTION);
      const [id, readTo, rest, ...facts] = Array.isArray(reply) ? reply : [];
      if (typeof id !== 'string' || !Number.isSafeInteger(readTo))
        throw new RedisError('error', 'Redis gave an unexpected reply to the board script');
      this.#notice(id, Number(readTo));
      this.#apply(facts);
      this.#id = id;
      this.#readTo = Number(readTo);
      more = rest === 1;
    }
    this.#readAtMs = clock.monotonicMs();
    if (this.#loaded) return;
    this.#loaded = true;
    this.#dependencies.onLoaded?.();
  }

  /** Posts everything again if Redis has lost the board; every gateway that knows a fact does so. */
  #notice(id: string, readTo: number): void {
    const lost = this.#id !== null && this.#id !== '' && (id !== this.#id || readTo < this.#readTo);
    if (!lost) return;
    for (const topic of this.#topics.values()) {
      try {
        for (const fact of topic.everything()) this.#outgoing.put(fact);
      } catch (error) {
        this.#dependencies.onFault(0, error);
      }
    }
  }

  /** One by one: a fact that cannot be applied takes no other with it, and is not read again. */
  #apply(facts: readonly unknown[]): void {
    let skipped = 0;
    let firstError: unknown = null;
    for (let i = 0; i + 2 < facts.length; i += 3) {
      try {
        this.#learn(String(facts[i]), Number(facts[i + 1]), Number(facts[i + 2]));
      } catch (error) {
        if (skipped++ === 0) firstError = error;
      }
    }
    if (skipped > 0) this.#dependencies.onFault(skipped, firstError);
  }

  #learn(name: string, value: number, forMs: number): void {
    if (!Number.isSafeInteger(value) || !Number.isSafeInteger(forMs) || forMs <= 0) return;
    const end = name.indexOf(':');
    this.#topics.get(name.slice(0, end))?.learn({ name: name.slice(end + 1), value, forMs });
  }

  async #send(): Promise<void> {
    const { connection, newId } = this.#dependencies;
    while (this.#outgoing.size > 0) {
      const args = this.#outgoing.nextPortion(PORTION);
      if (args.length > 0) {
        await connection.script(POST, this.#keys, newId(), connection.prefix + CHANNEL, ...args);
      }
      this.#outgoing.sent();
    }
  }
}

interface ClaimsDependencies {
  readonly connection: {
    readonly prefix: string;
    script(
      script: RedisScript,
      keys: readonly string[],
      ...args: readonly (string | number)[]
    ): Promise<unknown>;
  };
  readonly health: { readonly isShared: boolean; mention(error: RedisError): void };
}

const CLAIM = defineScript("return redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1])");

/** What one gateway of all may do once. While Redis is away, each gateway may. */
export class Claims {
  readonly #dependencies: ClaimsDependencies;

  constructor(dependencies: ClaimsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether no gateway has claimed this name for as long. */
  async claim(name: string, forMs: number): Promise<boolean> {
    const { connection, health } = this.#dependencies;
    if (!health.isShared) return true;
    try {
      const reply = await connection.script(
        CLAIM,
        [`${connection.prefix}notice:${name}`],
        Math.max(1, forMs),
      );
      return reply !== null;
    } catch (error) {
      health.mention(error instanceof RedisError ? error : new RedisError('error', String(error)));
      return true;
    }
  }
}
