import type { Clock, States } from '../../core/index.ts';
import type { CheckedEndpoint, CheckState, Checks, HealthOptions } from './health-checks.ts';

/** An endpoint that another thread checks. */
interface Learnt {
  /** Its known state; `null` for none. */
  state: CheckState | null;
  end(): void;
}

/** The results of another thread's checks of an upstream's endpoints. */
export class LearntChecks implements Checks {
  readonly #upstream: string;
  readonly #states: States<CheckState>;
  readonly #clock: Clock;
  readonly #learnt = new Map<CheckedEndpoint, Learnt>();
  #isTaking = false;

  constructor(upstream: string, states: States<CheckState>, clock: Clock) {
    this.#upstream = upstream;
    this.#states = states;
    this.#clock = clock;
  }

  get isLearning(): boolean {
    return this.#isTaking;
  }

  use(options: HealthOptions | null, endpoints: ReadonlyMap<string, CheckedEndpoint>): void {
    const checked = options === null ? new Map<string, CheckedEndpoint>() : endpoints;
    const staying = new Set(checked.values());
    for (const [endpoint, learnt] of this.#learnt) {
      if (staying.has(endpoint)) continue;
      learnt.end();
      this.#take(endpoint, null);
      this.#learnt.delete(endpoint);
    }
    for (const [key, endpoint] of checked) {
      if (this.#learnt.has(endpoint)) continue;
      const learnt: Learnt = { state: null, end: () => {} };
      this.#learnt.set(endpoint, learnt);
      learnt.end = this.#states.follow(`${this.#upstream} ${key}`, state => {
        learnt.state = state;
        this.#take(endpoint, state);
      });
    }
  }

  failureOf(endpoint: CheckedEndpoint): string | null {
    return this.#learnt.get(endpoint)?.state?.why ?? null;
  }

  stop(): void {
    this.use(null, new Map());
  }

  /** Without a state, the endpoint counts as healthy. */
  #take(endpoint: CheckedEndpoint, state: CheckState | null): void {
    this.#isTaking = true;
    endpoint.health.checked(state?.isHealthy ?? true, this.#clock.monotonicMs());
    this.#isTaking = false;
  }
}
