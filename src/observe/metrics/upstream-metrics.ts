import { type EndpointEvent, OUT_REASONS, type OutReason, type UpstreamListener } from '../../core/index.ts';
import type { MetricSet, Tally } from './metric-set.ts';

/** The endpoints of an upstream, read at each scrape. */
export interface EndpointsView {
  readonly upstream: string;
  /** Why each endpoint is out; `null` for one in use. */
  readonly states: readonly (OutReason | null)[];
  /** True if every endpoint is out. Then all of them get requests nonetheless. */
  readonly allOut: boolean;
  /** True if a name cannot be looked up. */
  readonly lookupFailed: boolean;
}

/** Shows the state of the endpoints of upstreams. No label names an endpoint, since addresses come and go. */
export class UpstreamMetrics implements Partial<UpstreamListener> {
  readonly #set: MetricSet;
  readonly #out: Tally;
  readonly #retriesRefused: Tally;

  constructor(set: MetricSet) {
    this.#set = set;
    this.#out = set.counter('weir_upstream_endpoints_out_total');
    this.#retriesRefused = set.counter('weir_upstream_retries_refused_total');
  }

  /** Registers what is read at each scrape. */
  observe(endpoints: () => readonly EndpointsView[]): void {
    this.#set.read('weir_upstream_endpoints', () =>
      endpoints().flatMap(({ upstream, states }) =>
        [null, ...OUT_REASONS].map(
          reason =>
            [{ upstream, state: reason ?? 'used' }, states.filter(state => state === reason).length] as const,
        ),
      ),
    );
    this.#set.read('weir_upstream_all_endpoints_out', () =>
      endpoints().map(({ upstream, allOut }) => [{ upstream }, allOut ? 1 : 0]),
    );
    this.#set.read('weir_upstream_lookup_failed', () =>
      endpoints().map(({ upstream, lookupFailed }) => [{ upstream }, lookupFailed ? 1 : 0]),
    );
  }

  endpointChanged({ upstream, reason }: EndpointEvent): void {
    if (reason !== null) this.#out.of(upstream).of(reason).count++;
  }

  retried(upstream: string, wasAllowed: boolean): void {
    if (!wasAllowed) this.#retriesRefused.of(upstream).count++;
  }
}
