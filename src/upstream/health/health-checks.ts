import { type Kept, type Random, reuse, type Timer, type TimerClock } from '../../core/index.ts';
import type { EndpointAddress, Transport, TransportCall } from '../transport.ts';
import { type CheckResult, type CheckTarget, checkRequest, checkSink } from './check-request.ts';

/** How endpoints are checked. Times in milliseconds. */
export interface HealthOptions {
  readonly target: CheckTarget;
  /** The `Host` of the request. */
  readonly host: string;
  /** From the start of one check to the start of the next. */
  readonly everyMs: number;
  /** The limit of a complete check, including connecting. */
  readonly timeoutMs: number;
  /** Consecutive successful checks after which a failed endpoint is healthy. */
  readonly healthyAfter: number;
  /** Consecutive failed checks after which an endpoint is unhealthy. */
  readonly unhealthyAfter: number;
}

/** An endpoint, as the checks see it. */
export interface CheckedEndpoint {
  readonly address: EndpointAddress;
  readonly pool: Pick<Transport, 'send'>;
  readonly health: { checked(isHealthy: boolean, nowMs: number): void };
}

/** Called when a check could not connect. */
export type Unreached = (address: EndpointAddress) => void;

/** The result of the checks of an endpoint, for other threads. Without it, the endpoint counts as healthy. */
export interface CheckState {
  readonly isHealthy: boolean;
  /** Why the last check failed; `null` if it did not. */
  readonly why: string | null;
}

/** The health of an upstream's endpoints, by checks in this or another thread. */
export interface Checks {
  /** Whether it is currently passing on results of another thread, which that thread reports. */
  readonly isLearning: boolean;
  /** Checks these endpoints from now on, in this way; with `null`, checks none: then all count as healthy. */
  use(
    options: HealthOptions | null,
    endpoints: ReadonlyMap<string, CheckedEndpoint>,
    unreached: Unreached,
  ): void;
  /** Returns why the last check of this endpoint failed; `null` if it did not, or if there was none. */
  failureOf(endpoint: CheckedEndpoint): string | null;
  stop(): void;
}

interface HealthChecksDependencies {
  readonly clock: TimerClock;
  readonly random: Random;
  /** Publishes the known state of an endpoint to other threads, by its key; `null` for none. */
  readonly tell: (key: string, state: CheckState | null) => void;
}

/** Jitter: up to this fraction of the time between two checks is subtracted at random, so that they do not all happen at once. */
const JITTER = 0.1;

/** Checks the endpoints of an upstream at intervals, over the connections that requests use. */
export class HealthChecks implements Checks {
  readonly isLearning = false;
  readonly #dependencies: HealthChecksDependencies;
  #unreached: Unreached = () => {};
  #checks: ReadonlyMap<CheckedEndpoint, Kept<HealthOptions, EndpointCheck>> = new Map();

  constructor(dependencies: HealthChecksDependencies) {
    this.#dependencies = dependencies;
  }

  use(
    options: HealthOptions | null,
    endpoints: ReadonlyMap<string, CheckedEndpoint>,
    unreached: Unreached,
  ): void {
    this.#unreached = unreached;
    const before = this.#checks;
    const unreachedNow: Unreached = address => this.#unreached(address);
    const check = (key: string, endpoint: CheckedEndpoint, how: HealthOptions) =>
      reuse(
        before.get(endpoint),
        how,
        () => new EndpointCheck(key, endpoint, how, this.#dependencies, unreachedNow),
      );
    this.#checks = new Map(
      options === null
        ? []
        : Array.from(endpoints, ([key, endpoint]) => [endpoint, check(key, endpoint, options)] as const),
    );
    const staying = new Set(endpoints.values());
    for (const [endpoint, old] of before)
      if (this.#checks.get(endpoint) !== old) old.part.stop(staying.has(endpoint));
    for (const [endpoint, next] of this.#checks) if (before.get(endpoint) !== next) next.part.start();
  }

  failureOf(endpoint: CheckedEndpoint): string | null {
    return this.#checks.get(endpoint)?.part.failure ?? null;
  }

  stop(): void {
    this.use(null, new Map(), () => {});
  }
}

class EndpointCheck {
  /** Why the last check failed. */
  failure: string | null = null;
  readonly #key: string;
  readonly #endpoint: CheckedEndpoint;
  readonly #options: HealthOptions;
  readonly #dependencies: HealthChecksDependencies;
  readonly #unreached: Unreached;
  #next: Timer | null = null;
  /** When the next check begins, unless this one takes longer. */
  #dueMs = 0;
  #limit: Timer | null = null;
  #call: TransportCall | null = null;
  /** Numbers the checks, so that a late answer to one is not attributed to the next. */
  #number = 0;
  #isHealthy = true;
  /** Consecutive checks that contradict `#isHealthy`. */
  #against = 0;

  constructor(
    key: string,
    endpoint: CheckedEndpoint,
    options: HealthOptions,
    dependencies: HealthChecksDependencies,
    unreached: Unreached,
  ) {
    this.#key = key;
    this.#endpoint = endpoint;
    this.#options = options;
    this.#dependencies = dependencies;
    this.#unreached = unreached;
  }

  start(): void {
    const { clock, random } = this.#dependencies;
    const { target, host, everyMs, timeoutMs } = this.#options;
    this.#dueMs = clock.monotonicMs() + everyMs * (1 - random() * JITTER);
    const number = ++this.#number;
    const done = (result: CheckResult | null) => {
      if (number === this.#number && this.#limit !== null) this.#over(result);
    };
    this.#limit = clock.after(timeoutMs, () => {
      this.#call?.abort();
      done({ why: `it did not answer within ${timeoutMs} ms`, reached: true });
    });
    this.#call = this.#endpoint.pool.send(checkRequest(target, host), checkSink(target, done), '');
  }

  /** @param stays true if the endpoint remains in use without checks: it then counts as healthy */
  stop(stays: boolean): void {
    const { clock } = this.#dependencies;
    clock.cancel(this.#next);
    clock.cancel(this.#limit);
    this.#limit = null;
    this.#call?.abort();
    this.#dependencies.tell(this.#key, null);
    if (stays && !this.#isHealthy) this.#endpoint.health.checked(true, clock.monotonicMs());
  }

  #over(result: CheckResult | null): void {
    const { clock } = this.#dependencies;
    const { healthyAfter, unhealthyAfter } = this.#options;
    clock.cancel(this.#limit);
    this.#limit = null;
    this.#next = clock.after(Math.max(0, this.#dueMs - clock.monotonicMs()), () => this.start());
    if (result === null) return;
    const { why, reached } = result;
    const before = this.failure;
    const wasHealthy = this.#isHealthy;
    this.failure = why;
    this.#against = (why === null) === this.#isHealthy ? 0 : this.#against + 1;
    if (this.#against >= (this.#isHealthy ? unhealthyAfter : healthyAfter)) {
      this.#against = 0;
      this.#isHealthy = !this.#isHealthy;
      this.#endpoint.health.checked(this.#isHealthy, clock.monotonicMs());
    }
    const isHealthy = this.#isHealthy;
    if (why !== before || isHealthy !== wasHealthy) this.#dependencies.tell(this.#key, { isHealthy, why });
    if (!reached) this.#unreached(this.#endpoint.address);
  }
}
