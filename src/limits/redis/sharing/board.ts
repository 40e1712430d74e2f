import type { Clock, Fact, Facts, Holder, Timer, TimerClock } from '../../../core/index.ts';
import { inNextTurn } from '../../../core/index.ts';
import {
  type Health,
  type RedisConnection,
  RedisError,
  readReply,
  unexpectedReply,
} from '../connection/index.ts';
import { POST, READ } from './board-scripts.ts';

interface BoardDependencies {
  readonly connection: Pick<RedisConnection, 'prefix' | 'script' | 'subscribe'>;
  readonly health: Pick<Health, 'isShared' | 'mention'>;
  readonly clock: TimerClock;
  /** Returns an id that no board had before. */
  readonly newId: () => string;
  /**
   * Called with the number of facts that could not be applied and are skipped, or 0 if something else failed here. Redis is not
   * at fault.
   */
  readonly onFault: (skippedFacts: number, error: unknown) => void;
  /** Called with `null` once messages arrive, or with the reason why Redis refuses to send them. */
  readonly onSubscribed: (refusal: string | null) => void;
  /** Called when everything on the board has been read for the first time. */
  readonly onLoaded?: () => void;
}

const CHANNEL = 'board';
const TICK_MS = 250;
/** Messages announce news; this regular read finds what a lost message announced. */
const READ_MS = 750;
/** Facts per command: few enough to block Redis for no more than a millisecond or two. */
const PORTION = 200;

/**
 * Shares facts through Redis. A fact is posted when Redis is available, and the other gateways read it at once, prompted by a
 * message, or at the next regular read. Postings during an outage are sent when Redis is back.
 */
export class Board implements Facts {
  readonly #dependencies: BoardDependencies;
  readonly #keys: readonly string[];
  readonly #topics = new Map<string, Holder<Fact>>();
  readonly #outgoing: Outgoing;
  #timer: Timer | null = null;
  #soon = false;
  #syncing = false;
  #again = false;
  #stopped = false;
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** The id of the board that was last read; `null` before. */
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

  /** True once everything on the board has been read at least once. */
  get isLoaded(): boolean {
    return this.#loaded;
  }

  /** Facts and withdrawals not yet written to Redis. */
  get outgoing(): number {
    return this.#outgoing.size;
  }

  join(topic: string, holder: Holder<Fact>): void {
    this.#topics.set(topic, holder);
  }

  post(fact: Fact): void {
    if (fact.forMs <= 0) return;
    this.#outgoing.put(fact);
    this.#sendSoon();
  }

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
      if (error instanceof RedisError) health.mention(error, 'share restrictions and revocations');
      else onFault(0, error);
    }
    this.#syncing = false;
  }

  async #read(): Promise<void> {
    const { connection, clock } = this.#dependencies;
    let more = true;
    while (more) {
      const known = [this.#id ?? '', this.#readTo, PORTION];
      const reply = readReply(await connection.script(READ, this.#keys, ...known), 'board');
      if (reply instanceof RedisError) throw reply;
      const [, id, readTo, rest, ...facts] = reply;
      if (typeof id !== 'string' || !Number.isSafeInteger(readTo)) throw unexpectedReply('board');
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

  /** One by one: a fact that cannot be applied does not affect others, and is not read again. */
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
        const id = await connection.script(POST, this.#keys, newId(), connection.prefix + CHANNEL, ...args);
        // Else nobody would notice that a board which this has begun is lost before it is read.
        if (this.#id === '' && typeof id === 'string') this.#id = id;
      }
      this.#outgoing.sent();
    }
  }
}

type Message =
  | (Fact & {
      readonly kind: 'fact';
      readonly untilMs: number;
      /** True if Redis cannot hold an earlier message of this name. */
      readonly isFirst: boolean;
    })
  | { readonly kind: 'withdrawal'; readonly name: string; readonly value: number };

/**
 * A hundred years: limits facts that would hold longer, such as a mark for a token that never expires. Redis fails the whole
 * command for an end that its clock never reaches.
 */
const MAX_MS = 100 * 365 * 86_400_000;

/** Facts that Redis does not have yet, in order and once per name. */
export class Outgoing {
  readonly #clock: Clock;
  readonly #messages = new Map<string, Message>();
  /** The portion last sent, until Redis confirms it. */
  #portion: ReadonlyMap<string, Message> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#messages.size;
  }

  put(fact: Fact): void {
    const untilMs = this.#clock.monotonicMs() + Math.min(fact.forMs, MAX_MS);
    const before = this.#messages.get(fact.name);
    if (before?.kind === 'fact') {
      if (before.value > fact.value) return;
      if (before.value === fact.value && before.untilMs >= untilMs) return;
    }
    const isFirst =
      !this.#portion.has(fact.name) && before?.kind !== 'withdrawal' && before?.isFirst !== false;
    this.#messages.set(fact.name, { ...fact, kind: 'fact', untilMs, isFirst });
  }

  /**
   * Withdraws a fact. Sends nothing about one that was still unsent: during an outage, what collects here is bounded by the size
   * of the topics. Redis may keep an older value of it, until that expires.
   */
  withdraw(name: string, value: number): void {
    const before = this.#messages.get(name);
    this.#messages.delete(name);
    const isUnsent = before?.kind === 'fact' && before.isFirst && !this.#portion.has(name);
    // Put the withdrawal at the end: after the fact that makes this one superfluous.
    if (!isUnsent) this.#messages.set(name, { kind: 'withdrawal', name, value });
  }

  /**
   * Takes a portion for one command: for each message its name, value and duration in milliseconds, 0 for a withdrawal. Its
   * messages stay until `sent`.
   */
  nextPortion(max: number): (string | number)[] {
    this.#portion = new Map(firstOf(this.#messages, max));
    const nowMs = this.#clock.monotonicMs();
    return [...this.#portion.values()].flatMap(message => {
      const forMs = message.kind === 'fact' ? Math.floor(message.untilMs - nowMs) : 0;
      return message.kind === 'withdrawal' || forMs >= 1 ? [message.name, message.value, forMs] : [];
    });
  }

  /** Redis has confirmed the last portion. */
  sent(): void {
    for (const [name, message] of this.#portion) {
      // Unless something newer was posted meanwhile.
      if (this.#messages.get(name) === message) this.#messages.delete(name);
    }
    this.#portion = new Map();
  }
}

function* firstOf<T>(items: Iterable<T>, max: number): Generator<T> {
  let count = 0;
  for (const item of items) {
    if (count++ >= max) return;
    yield item;
  }
}
