import { fixedPartOfStore, type StoreModel } from '../../config/index.ts';
import type * as core from '../../core/index.ts';
import { isSame, randomName, silent } from '../../core/index.ts';
import type { Nonces } from '../../identity/auth/index.ts';
import type { MemoryStore, OffenceFeed, OffencesExceeded } from '../../limits/index.ts';
import {
  Board,
  Health,
  RedisClaims,
  RedisConnection,
  RedisOffenceFeed,
  RedisStore,
  Replicas,
} from '../../limits/redis/index.ts';

/** How long startup waits for Redis before the policy decides. */
const START_MS = 5_000;
/** How often to check that Redis still has the secret of nonces: it may have lost its data. */
const LOOK_MS = 60_000;
/** How often leases are checked for renewal. */
const RENEW_MS = 1_000;

export interface SharedStoreDependencies {
  readonly clock: core.TimerClock;
  readonly randomBytes: core.RandomBytes;
  readonly listener: core.StoreListener;
  /** Counts while Redis does not. */
  readonly local: MemoryStore;
  readonly keysPerCaller: number;
  readonly part: core.ProcessPart;
}

/**
 * The Redis that all gateways share: the connection, its health, the limits counted there, and the facts exchanged by gateways.
 */
export class SharedStore {
  readonly health: Health;
  readonly limits: RedisStore;
  /** Decides while Redis does not. */
  readonly policy: core.FailurePolicy;
  readonly claims: RedisClaims;
  readonly #connection: RedisConnection;
  readonly #board: Board;
  /** Whether this thread informs other processes of what all threads know. */
  readonly #isVoice: boolean;
  readonly #replicas: Replicas;
  readonly #isStrict: boolean;
  readonly #fixedPart: unknown;
  readonly #clock: core.TimerClock;
  readonly #listener: core.StoreListener;
  #waited = false;
  #timer: core.Timer | null = null;
  #renewer: core.Timer | null = null;
  #secretTimer: core.Timer | null = null;

  constructor(model: Extract<StoreModel, { kind: 'redis' }>, dependencies: SharedStoreDependencies) {
    const { clock, randomBytes, local, keysPerCaller, part } = dependencies;
    // A worker sends too few commands to detect that many fail: it notifies the main thread.
    const lost = part.topic<null>('redis lost', 'process');
    const listener = part.isMain
      ? dependencies.listener
      : ofWorker(dependencies.listener, () => lost.post(null));
    const { options, policy, replicas: hint } = model;
    this.#fixedPart = fixedPartOfStore(model);
    this.#isStrict = policy === 'closed';
    this.#isVoice = part.isMain;
    this.#clock = clock;
    this.#listener = listener;
    const connection = new RedisConnection(options, { clock });
    const replicas = new Replicas(connection, {
      clock,
      id: part.id,
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
    this.claims = new RedisClaims({ connection, health, policy });
    if (this.#isVoice) {
      part.carry(this.#board);
      health.onFound(() => this.#board.look());
      lost.join({ learn: () => health.lostElsewhere(), everything: () => [] });
    }
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
    const isUnchanged = model.kind === 'redis' && isSame(fixedPartOfStore(model), this.#fixedPart);
    if (isUnchanged) this.#connection.useSecrets(model.options);
  }

  /** Facts and withdrawals not yet sent to the other gateways. */
  get untold(): number {
    return this.#board.outgoing;
  }

  /** Makes the feed that adds up the offences of this thread with those of the others, and of other gateways. */
  feed(exceeded: OffencesExceeded): OffenceFeed {
    return new RedisOffenceFeed({
      connection: this.#connection,
      health: this.health,
      clock: this.#clock,
      exceeded,
    });
  }

  /** Makes these nonces, once clients need them, valid at all gateways. */
  shareNonces(nonces: Nonces): void {
    const look = async () => {
      const secret = nonces.areUsed ? await this.claims.commonSecret(nonces.secret) : null;
      if (secret !== null) nonces.use(secret);
    };
    nonces.onFirstUse = () => void look();
    this.health.onFound(() => void look());
    this.#secretTimer = this.#clock.every(LOOK_MS, () => void look());
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
    this.#clock.cancel(this.#secretTimer);
    this.#board.stop();
    this.health.stop();
    this.#replicas.leave();
    this.#connection.stop();
  }
}

/** Reports how the requests of a worker are decided. Only the main thread reports whether Redis is available. */
function ofWorker(listener: core.StoreListener, lost: () => void): core.StoreListener {
  const { decidedBy, failed, shareFailed, taskFailed } = listener;
  return Object.assign(silent<core.StoreListener>(), { decidedBy, failed, shareFailed, taskFailed, lost });
}
