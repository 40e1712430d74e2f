import {
  type Kept,
  type ProcessPart,
  type Random,
  reuse,
  type States,
  type Timer,
  type TimerClock,
} from '../../core/index.ts';
import type { EndpointAddress, Transport, TransportCall } from '../transport.ts';
import { type CheckResult, type CheckTarget, checkRequest, checkSink } from './check-request.ts';

/** How endpoints are checked. Times in milliseconds. */
export interface HealthOptions {
  readonly target: CheckTarget;
  readonly host: string;
  /** From the start of one check to the start of the next. */
  readonly everyMs: number;
  /** Maximum time of a complete check, including connecting. */
  readonly timeoutMs: number;
  /** Consecutive successful checks after which a failed endpoint is healthy. */
  readonly healthyAfter: number;
  /** Consecutive failed checks after which an endpoint is unhealthy. */
  readonly unhealthyAfter: number;
}

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

interface HealthChecksDependencies {
  readonly upstream: string;
  readonly clock: TimerClock;
  readonly random: Random;
  readonly part: Pick<ProcessPart, 'isMain'>;
  /** The states of the endpoints of all upstreams. */
  readonly states: States<CheckState>;
}

/** An endpoint whose health follows its state. */
interface Checked {
  /** `null`: not known. */
  state: CheckState | null;
  unfollow(): void;
  /** Set only in the main thread. */
  check: Kept<HealthOptions, EndpointCheck> | null;
}

/** Jitter: up to this fraction of the time between two checks is subtracted at random, so that they do not all happen at once. */
const JITTER = 0.1;

/**
 * The health of an upstream's endpoints, by checks at intervals over the connections that requests use. The main thread makes the
 * checks and publishes the states that they find; every thread, the main one included, takes them from there.
 */
export class HealthChecks {
  readonly #dependencies: HealthChecksDependencies;
  readonly #checked = new Map<CheckedEndpoint, Checked>();
  #unreached: Unreached = () => {};
  #isTaking = false;

  constructor(dependencies: HealthChecksDependencies) {
    this.#dependencies = dependencies;
  }

  /** True while it passes on results that the main thread reports, and this thread is another one. */
  get isLearning(): boolean {
    return this.#isTaking && !this.#dependencies.part.isMain;
  }

  /** From now on, checks these endpoints with these options; `null`: checks none, so that all count as healthy. */
  use(
    options: HealthOptions | null,
    endpoints: ReadonlyMap<string, CheckedEndpoint>,
    unreached: Unreached,
  ): void {
    this.#unreached = unreached;
    const staying = new Set(endpoints.values());
    for (const [endpoint, { unfollow, check }] of this.#checked) {
      if (options !== null && staying.has(endpoint)) continue;
      this.#checked.delete(endpoint);
      unfollow();
      check?.part.stop();
      if (staying.has(endpoint)) this.#take(endpoint, null);
    }
    if (options === null) return;
    for (const [key, endpoint] of endpoints) {
      const checked = this.#checked.get(endpoint) ?? this.#follow(key, endpoint);
      if (this.#dependencies.part.isMain) this.#check(key, endpoint, checked, options);
    }
  }

  /** Returns why the last check of this endpoint failed; `null` if it did not, or if there was none. */
  failureOf(endpoint: CheckedEndpoint): string | null {
    return this.#checked.get(endpoint)?.state?.why ?? null;
  }

  stop(): void {
    this.use(null, new Map(), () => {});
  }

  #follow(key: string, endpoint: CheckedEndpoint): Checked {
    const { states } = this.#dependencies;
    const checked: Checked = { state: null, unfollow: () => {}, check: null };
    this.#checked.set(endpoint, checked);
    checked.unfollow = states.follow(this.#stateKey(key), state => {
      checked.state = state;
      this.#take(endpoint, state);
    });
    return checked;
  }

  #check(key: string, endpoint: CheckedEndpoint, checked: Checked, options: HealthOptions): void {
    const { states } = this.#dependencies;
    const { check: before } = checked;
    const owner: CheckOwner = {
      ...this.#dependencies,
      tell: state => states.tell(this.#stateKey(key), state),
      unreached: address => this.#unreached(address),
    };
    const check = reuse(before, options, () => new EndpointCheck(endpoint, options, owner));
    if (check === before) return;
    checked.check = check;
    before?.part.stop();
    check.part.start();
  }

  #stateKey(key: string): string {
    return `${this.#dependencies.upstream} ${key}`;
  }

  /** Without a state, the endpoint counts as healthy. */
  #take(endpoint: CheckedEndpoint, state: CheckState | null): void {
    this.#isTaking = true;
    endpoint.health.checked(state?.isHealthy ?? true, this.#dependencies.clock.monotonicMs());
    this.#isTaking = false;
  }
}

interface CheckOwner extends Pick<HealthChecksDependencies, 'clock' | 'random'> {
  /** Publishes the result of the checks; `null` for none. */
  tell(state: CheckState | null): void;
  readonly unreached: Unreached;
}

class EndpointCheck {
  readonly #endpoint: CheckedEndpoint;
  readonly #options: HealthOptions;
  readonly #owner: CheckOwner;
  #next: Timer | null = null;
  /** When the next check begins, unless this one takes longer. */
  #dueMs = 0;
  #limit: Timer | null = null;
  #call: TransportCall | null = null;
  /** Numbers the checks, so that a late answer to one is not attributed to the next. */
  #number = 0;
  #state: CheckState = { isHealthy: true, why: null };
  /** Consecutive checks that contradict `#state`. */
  #against = 0;

  constructor(endpoint: CheckedEndpoint, options: HealthOptions, owner: CheckOwner) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#owner = owner;
  }

  start(): void {
    const { clock, random } = this.#owner;
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

  stop(): void {
    const { clock, tell } = this.#owner;
    clock.cancel(this.#next);
    clock.cancel(this.#limit);
    this.#limit = null;
    this.#call?.abort();
    tell(null);
  }

  #over(result: CheckResult | null): void {
    const { clock, tell, unreached } = this.#owner;
    const { healthyAfter, unhealthyAfter } = this.#options;
    clock.cancel(this.#limit);
    this.#limit = null;
    this.#next = clock.after(Math.max(0, this.#dueMs - clock.monotonicMs()), () => this.start());
    if (result === null) return;
    const { why, reached } = result;
    const before = this.#state;
    let { isHealthy } = before;
    this.#against = (why === null) === isHealthy ? 0 : this.#against + 1;
    if (this.#against >= (isHealthy ? unhealthyAfter : healthyAfter)) {
      this.#against = 0;
      isHealthy = !isHealthy;
    }
    this.#state = { isHealthy, why };
    if (why !== before.why || isHealthy !== before.isHealthy) tell(this.#state);
    if (!reached) unreached(this.#endpoint.address);
  }
}
