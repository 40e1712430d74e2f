import { isDeepStrictEqual } from 'node:util';
import { type StoreModel, withoutSecrets } from '../../config/index.ts';
import type * as core from '../../core/index.ts';
import { randomName } from '../../core/index.ts';
import type { LocalStore, OffenceFeed, OffencesExceeded } from '../../limits/index.ts';
import {
  Board,
  Health,
  RedisClaims,
  RedisConnection,
  RedisOffenceFeed,
  RedisStore,
  Replicas,
} from '../../limits/redis/index.ts';
import type { Replication, ThreadPart } from './replication.ts';

/** How long startup waits for Redis before the policy decides. */
const START_MS = 5_000;
/** The topic for a worker's message that it has lost Redis. */
const LOST = 'redis_lost';
/** How often leases are checked for renewal. */
const RENEW_MS = 1_000;

export interface SharedStoreDependencies {
  readonly clock: core.TimerClock;
  readonly randomBytes: core.RandomBytes;
  readonly listener: core.StoreListener;
  /** Counts while Redis does not. */
  readonly local: LocalStore;
  readonly keysPerCaller: number;
  /** This thread's role; `null` if it is alone in its process. */
  readonly thread: Pick<ThreadPart, 'isMain' | 'replicaId'> | null;
}

/**
 * The Redis that all gateways share: the connection, its health, the limits counted there, and the facts exchanged by gateways.
 */
export class SharedStore implements Replication {
  readonly health: Health;
  readonly limits: RedisStore;
  /** Decides while Redis does not. */
  readonly policy: core.FailurePolicy;
  readonly facts: core.Facts;
  readonly claims: core.Claims;
  readonly #connection: RedisConnection;
  readonly #board: Board;
  /** Whether this thread informs other processes of what all threads know. */
  readonly #isVoice: boolean;
  readonly #replicas: Replicas;
  readonly #isStrict: boolean;
  readonly #withoutSecrets: unknown;
  readonly #clock: core.TimerClock;
  readonly #listener: core.StoreListener;
  #lostHere: () => void = () => {};
  #waited = false;
  #timer: core.Timer | null = null;
  #renewer: core.Timer | null = null;

  constructor(model: Extract<StoreModel, { kind: 'redis' }>, dependencies: SharedStoreDependencies) {
    const { clock, randomBytes, local, keysPerCaller, thread } = dependencies;
    const listener =
      thread?.isMain === false
        ? ofWorker(dependencies.listener, () => this.#lostHere())
        : dependencies.listener;
    const { options, policy, replicas: hint } = model;
    this.#withoutSecrets = withoutSecrets(model);
    this.#isStrict = policy === 'closed';
    this.#isVoice = thread?.isMain ?? true;
    this.#clock = clock;
    this.#listener = listener;
    const connection = new RedisConnection(options, { clock });
    const replicas = new Replicas(connection, {
      clock,
      id: thread?.replicaId ?? randomName(randomBytes),
      hint,
    });
    const health = new Health({ connection, replicas, policy, clock, listener });
    this.#connection = connection;
    this.policy = policy;
    this.health = health;
    this.#replicas = replicas;
    this.#board = new Board({
      connection,
      health,
      clock,
      newId: () => randomName(randomBytes),
      onSubscribed: refusal => listener.subscribed(refusal),
      onFault: (skippedFacts, error) => listener.shareFailed(skippedFacts, error),
      onLoaded: () => {
        if (this.#waited && !this.#isStrict) listener.caughtUp();
      },
    });
    this.facts = this.#board;
    this.claims = new RedisClaims({ connection, health });
    if (this.#isVoice) health.onFound(() => this.#board.look());
    this.limits = new RedisStore({
      connection,
      health,
      local,
      replicas: () => replicas.count,
      policy,
      keysPerCaller,
      clock,
      listener,
      id: randomName(randomBytes),
    });
  }

  /** True once the other gateways' facts have been read, or the wait for Redis is over. Stays true. */
  get isReady(): boolean {
    return !this.#isVoice || this.#board.isLoaded || this.isBehind;
  }

  /** Whether every request with a limit is refused now: Redis is unavailable, and the policy is `closed`. */
  get refuses(): boolean {
    return this.#isStrict && !this.health.isShared;
  }

  /** True if this gateway serves although it could not yet read what the others know. */
  get isBehind(): boolean {
    return this.#isVoice && this.#waited && !this.#isStrict && !this.#board.isLoaded;
  }

  /** Credentials and certificates may change while the gateway runs; all else of `store` after a restart. */
  useSecrets(model: StoreModel): void {
    const isSame = model.kind === 'redis' && isDeepStrictEqual(withoutSecrets(model), this.#withoutSecrets);
    if (isSame) this.#connection.useSecrets(model.options);
  }

  feed(exceeded: OffencesExceeded): OffenceFeed {
    return new RedisOffenceFeed({
      connection: this.#connection,
      health: this.health,
      clock: this.#clock,
      exceeded,
    });
  }

  /**
   * Notifies the main thread when a worker has lost Redis: it sends too few commands to detect that many fail.
   *
   * @param facts the facts of the process
   */
  shareHealth(facts: core.Facts): void {
    if (this.#isVoice)
      facts.join(LOST, { isOfProcess: true, learn: () => this.health.lostElsewhere(), everything: () => [] });
    else this.#lostHere = () => facts.post({ name: `${LOST}:`, value: 0, forMs: 1 });
  }

  start(): void {
    this.#connection.start();
    this.health.start();
    if (this.#isVoice) this.#board.start();
    this.#renewer = this.#clock.every(RENEW_MS, () => this.limits.renewLeases());
    this.#timer = this.#clock.after(START_MS, () => {
      this.#waited = true;
      this.health.giveUpWaiting();
      if (this.isBehind) this.#listener.behind();
    });
  }

  stop(): void {
    this.#clock.cancel(this.#timer);
    this.#clock.cancel(this.#renewer);
    this.#board.stop();
    this.health.stop();
    this.#replicas.leave();
    this.#connection.stop();
  }
}

/** Reports how the requests of a worker are decided. The main thread reports whether Redis is available. */
function ofWorker(listener: core.StoreListener, lost: () => void): core.StoreListener {
  return {
    decidedBy: who => listener.decidedBy(who),
    failed: (failure, cause) => listener.failed(failure, cause),
    shareFailed: (skippedFacts, error) => listener.shareFailed(skippedFacts, error),
    lost,
    found() {},
    behind() {},
    caughtUp() {},
    subscribed() {},
    rightsMissing() {},
    taskFailed: (task, cause) => listener.taskFailed(task, cause),
    beat() {},
  };
}
