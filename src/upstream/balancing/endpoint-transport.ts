import { createHmac } from 'node:crypto';
import type * as core from '../../core/index.ts';
import { formatHostPort } from '../../core/index.ts';
import type { OutgoingRequest } from '../../wire/http1/index.ts';
import { type EndpointSource, FixedEndpoints, type SourcedEndpoint } from '../endpoint-source.ts';
import { type CheckState, HealthChecks, type HealthOptions } from '../health/index.ts';
import type * as transport from '../transport.ts';
import { type Balance, Balancer } from './balancer.ts';
import { Endpoint, type EndpointOwner } from './endpoint.ts';
import { type CallShare, EndpointCall } from './endpoint-call.ts';
import { RetryBudget } from './retry-budget.ts';

export interface EndpointsState {
  readonly endpoints: readonly EndpointState[];
  /** True if every endpoint is out. Then all of them get requests nonetheless. */
  readonly allOut: boolean;
  /** Why the last lookup of a name found nothing; `null` if it found something, or if there is no name. */
  readonly lookupFault: string | null;
}

interface EndpointState {
  /** `host:port`, with an IPv6 address in brackets. */
  readonly name: string;
  readonly outFor: core.OutReason | null;
  /** Its last fault; `null` if there was none. */
  readonly why: string | null;
  readonly weight: number;
  readonly connections: number;
  readonly inFlight: number;
}

/** How requests are distributed over the addresses of an upstream. */
export interface Spreading {
  readonly endpoints: readonly transport.EndpointOptions[];
  readonly balance: Balance;
  /** How addresses are checked; `null` if they are not. */
  readonly health: HealthOptions | null;
}

interface EndpointTransportDependencies {
  readonly clock: core.TimerClock;
  readonly random: core.Random;
  /** Opens the address source of one configured URL. */
  readonly openSource: (configured: transport.EndpointOptions) => EndpointSource;
  readonly openPool: (endpoint: SourcedEndpoint) => transport.EndpointPool;
  readonly listener: core.UpstreamListener;
  readonly part: Pick<core.ProcessPart, 'isMain' | 'memory' | 'rates'>;
  /** The results of checks, which the main thread makes for all threads. */
  readonly checks: core.States<CheckState>;
  /** The key for cookie values if the configuration has none. The same in all threads of the process. */
  readonly cookieKey: Buffer;
}

/** Sends each request to one of an upstream's endpoints, which may come and go. Has none until `use`. */
export class EndpointTransport implements transport.Transport, CallShare, EndpointOwner {
  readonly isGrpc: boolean;
  /** How long a request waits for the first address of a name. */
  readonly #connectTimeoutMs: number;
  readonly #parts: EndpointTransportDependencies;
  readonly #name: string;
  #balance: Balance = 'least_requests';
  #health: HealthOptions | null = null;
  /** Kept across reloads, like the endpoints. */
  #checks: HealthChecks;
  /** The configured entries, by everything except their weight. */
  #listed: ReadonlyMap<string, Listed> = new Map();
  /** The endpoints in use, by address and name. */
  #serving: ReadonlyMap<string, Endpoint> = new Map();
  /** The endpoints in use by their cookie values; empty without `balance: { cookie }`. */
  #marked: ReadonlyMap<string, Endpoint> = new Map();
  readonly #balancer: Balancer<Endpoint>;
  /** Kept across reloads as well. */
  #budget: RetryBudget;
  /** The only endpoint, which is used whatever its health. */
  #sole: Endpoint | null = null;
  /** The pool of the only address, if that never changes: requests go straight to it. */
  #only: transport.EndpointPool | null = null;
  /** Pools of removed addresses, until their requests are done. */
  readonly #draining = new Map<transport.Transport, Promise<void>>();
  #isClosed = false;

  /** @param name the name of the upstream */
  constructor(
    name: string,
    { protocol, connectTimeoutMs }: Pick<transport.ConnectionOptions, 'protocol' | 'connectTimeoutMs'>,
    parts: EndpointTransportDependencies,
  ) {
    this.#name = name;
    this.isGrpc = protocol === 'grpc';
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#parts = parts;
    this.#balancer = new Balancer(parts.random);
    const { clock, random, part, checks: states } = parts;
    this.#checks = new HealthChecks({ upstream: name, clock, random, part, states });
    this.#budget = new RetryBudget(name, parts.part);
  }

  /** The endpoints that requests may go to. */
  get endpoints(): readonly Endpoint[] {
    this.#balancer.review(this.nowMs());
    return [...this.#serving.values()];
  }

  /** Their state, for the status page and the admin API. */
  get state(): EndpointsState {
    const [fault] = this.#sources.flatMap(source => source.fault ?? []);
    return {
      endpoints: this.endpoints.map(endpoint => ({
        name: endpoint.name,
        outFor: endpoint.health.outFor,
        why: this.#whyOf(endpoint),
        weight: endpoint.weight,
        connections: endpoint.pool.connections,
        // Requests that go straight to the pool are counted only there.
        inFlight: this.#only === null ? endpoint.inFlight : this.#only.inFlight,
      })),
      allOut: this.#balancer.allOut(this.nowMs()),
      lookupFault: fault?.message ?? null,
    };
  }

  get connections(): number {
    let sum = 0;
    for (const { pool } of this.#serving.values()) sum += pool.connections;
    for (const pool of this.#draining.keys()) sum += pool.connections;
    return sum;
  }

  /**
   * Sends requests to these addresses from now on. Call it once.
   *
   * @param before the transport of the previous configuration, if that reached the upstream in the same way. Addresses that stay
   *   keep their connections and health; removed ones finish their requests. Requests that began under the previous configuration
   *   still go to its addresses, and both transports learn when an endpoint is taken out or comes back.
   */
  use({ endpoints, balance, health }: Spreading, before: EndpointTransport | null): void {
    this.#balance = balance;
    this.#health = health;
    if (before !== null) {
      this.#checks = before.#checks;
      this.#budget = before.#budget;
      this.#balancer.follow(before.#balancer);
    }
    const known = before === null ? new Map<string, Listed>() : before.#listed;
    const serving = before === null ? this.#serving : before.#serving;
    this.#listed = new Map(
      endpoints.map(each => [sourceKey(each), this.#list(each, known, before === null)]),
    );
    for (const [key, { followed }] of known) if (!this.#listed.has(key)) followed.source.close();
    this.#take(serving);
    for (const [key, { followed }] of this.#listed)
      if (!known.has(key)) followed.source.start(() => followed.follower.#changed());
  }

  send(request: OutgoingRequest, sink: transport.CallSink, caller: string): transport.TransportCall {
    if (this.#only !== null) return this.#only.send(request, sink, caller);
    const { owner } = sink;
    const owned = owner === null || owner === undefined ? null : this.#holderFor(owner);
    return new EndpointCall(this, request, sink, caller).start(owned ?? this.#firstFor(caller, sink.marks));
  }

  /**
   * Chooses the first endpoint for a request. Reading the clock costs more than everything else, so it is avoided if there is no
   * choice.
   */
  #firstFor(caller: string, marks: readonly string[] = NO_MARKS): Endpoint | null {
    if (this.#sole !== null) return this.#sole;
    const nowMs = this.nowMs();
    this.#budget.sent(nowMs);
    return this.#markedBy(marks, NONE, nowMs) ?? this.#balancer.choose(nowMs, caller, NONE);
  }

  /** The endpoint that a cookie of the client names, if it is in use now. */
  #markedBy(marks: readonly string[], tried: readonly Endpoint[], nowMs: number): Endpoint | null {
    for (const mark of marks) {
      const endpoint = this.#marked.get(mark);
      if (endpoint === undefined || tried.includes(endpoint)) continue;
      if (this.#balancer.uses(endpoint, nowMs)) return endpoint;
    }
    return null;
  }

  #holderFor(owner: transport.ConnectionOwner): Endpoint | null {
    for (const endpoint of this.#serving.values()) if (endpoint.pool.holdsFor(owner)) return endpoint;
    return null;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#checks.stop();
    for (const source of this.#sources) source.close();
    await Promise.all([...this.endpoints.map(({ pool }) => pool.close()), ...this.#draining.values()]);
  }

  get #sources(): readonly EndpointSource[] {
    return [...this.#listed.values()].map(({ followed }) => followed.source);
  }

  nowMs(): number {
    return this.#parts.clock.monotonicMs();
  }

  choose(caller: string, tried: readonly Endpoint[], marks: readonly string[]): Endpoint | null {
    const nowMs = this.nowMs();
    return this.#markedBy(marks, tried, nowMs) ?? this.#balancer.choose(nowMs, caller, tried);
  }

  takeRetry(): boolean {
    const isAllowed = this.#budget.take(this.nowMs());
    this.#parts.listener.retried(this.#name, isAllowed);
    return isAllowed;
  }

  suspect({ address }: Endpoint): void {
    void this.#refresh(address);
  }

  lookAgain(failed: Endpoint | null, then: () => void): () => void {
    const { clock } = this.#parts;
    let timer: core.Timer | null = null;
    let isOver = false;
    const end = () => {
      isOver = true;
      clock.cancel(timer);
    };
    const goOn = () => {
      if (isOver) return;
      end();
      then();
    };
    timer = clock.after(this.#connectTimeoutMs, goOn);
    const address = failed?.address ?? null;
    void this.#refresh(address).then(goOn);
    return end;
  }

  /** Has the names looked up again. */
  async #refresh(failed: transport.EndpointAddress | null): Promise<void> {
    await Promise.all(this.#sources.map(source => source.refresh(failed)));
  }

  noEndpoint(): Error {
    const [fault] = this.#sources.flatMap(source => source.fault ?? []);
    return fault ?? new Error('the upstream has no address');
  }

  mayEject(endpoint: Endpoint): boolean {
    return this.#balancer.mayEject(endpoint);
  }

  changed(endpoint: Endpoint, reason: core.OutReason | null): void {
    this.#balancer.changed();
    if (this.#checks.isLearning) return;
    const { name } = endpoint;
    const cause = this.#whyOf(endpoint);
    this.#parts.listener.endpointChanged({ upstream: this.#name, endpoint: name, reason, cause });
  }

  #whyOf(endpoint: Endpoint): string | null {
    return this.#checks.failureOf(endpoint) ?? endpoint.health.lastFailure;
  }

  #list(configured: transport.EndpointOptions, known: ReadonlyMap<string, Listed>, isFirst: boolean): Listed {
    const { weight, backup = false } = configured;
    const followed = known.get(sourceKey(configured))?.followed;
    if (followed === undefined) {
      const source = this.#parts.openSource(configured);
      return { followed: { source, follower: this, isFirst }, weight, backup };
    }
    followed.follower = this;
    return { followed, weight, backup };
  }

  #changed(): void {
    if (this.#isClosed) return;
    const before = this.#serving;
    this.#take(before);
    // The first addresses are not reported as a change.
    if (before.size > 0) this.#notifyChange(before);
  }

  #notifyChange(before: ReadonlyMap<string, Endpoint>): void {
    const serving = this.#serving;
    const namesNotIn = (some: ReadonlyMap<string, Endpoint>, others: ReadonlyMap<string, Endpoint>) =>
      [...some].filter(([key]) => !others.has(key)).map(([, { name }]) => name);
    const [added, removed] = [namesNotIn(serving, before), namesNotIn(before, serving)];
    if (added.length + removed.length === 0) return;
    this.#parts.listener.addressesChanged({ upstream: this.#name, added, removed, count: serving.size });
  }

  /** Takes the current addresses from the sources. */
  #take(before: ReadonlyMap<string, Endpoint>): void {
    const serving = new Map<string, Endpoint>();
    for (const { followed, weight, backup } of this.#listed.values()) {
      const { endpoints } = followed.source;
      for (const sourced of endpoints) {
        const key = endpointKey(sourced);
        const twice = serving.get(key);
        if (twice !== undefined) {
          twice.weight += sourced.weight * weight;
          twice.isBackup &&= backup;
          continue;
        }
        const endpoint = before.get(key) ?? this.#open(sourced, before.size > 0 && !followed.isFirst);
        endpoint.weight = sourced.weight * weight;
        endpoint.isBackup = backup;
        endpoint.owner = this;
        serving.set(key, endpoint);
      }
      if (endpoints.length > 0) followed.isFirst = false;
    }
    this.#serving = serving;
    this.#mark();
    for (const [key, { pool }] of before) if (!serving.has(key)) this.#drain(pool);
    this.#balancer.use([...serving.values()], this.#balance);
    this.#checks.use(this.#health, serving, address => void this.#refresh(address));
    const [first, ...others] = serving.values();
    this.#sole = others.length === 0 ? (first ?? null) : null;
    const isFinal = this.#sources.every(source => source instanceof FixedEndpoints);
    const isPlain = isFinal && this.#marked.size === 0;
    this.#only = isPlain && this.#sole !== null ? this.#sole.pool : null;
  }

  /** Gives each endpoint the value of the cookie that names it, which tells clients nothing about its address. */
  #mark(): void {
    const { cookieKey } = this.#parts;
    const key = typeof this.#balance === 'string' ? null : (this.#balance.key ?? cookieKey);
    const marked = new Map<string, Endpoint>();
    for (const [name, endpoint] of this.#serving) {
      endpoint.mark = key === null ? null : createHmac('sha256', key).update(name).digest('base64url');
      if (endpoint.mark !== null) marked.set(endpoint.mark, endpoint);
    }
    this.#marked = marked;
  }

  #open(sourced: SourcedEndpoint, isAmongOthers: boolean): Endpoint {
    const { openPool, random } = this.#parts;
    const endpoint = new Endpoint(sourced, openPool(sourced), this, random);
    // Start it slowly: its caches are cold, and its code may not be compiled yet.
    if (isAmongOthers) endpoint.health.startSlowly(this.nowMs());
    return endpoint;
  }

  #drain(pool: transport.Transport): void {
    this.#draining.set(
      pool,
      pool.close().then(() => void this.#draining.delete(pool)),
    );
  }
}

const NONE: readonly Endpoint[] = [];
const NO_MARKS: readonly string[] = [];

/** A configured entry, and the source of its addresses. */
interface Listed {
  readonly followed: Followed;
  readonly weight: number;
  readonly backup: boolean;
}

/** A source of addresses, and the transport that follows it. A reload replaces the transport. */
interface Followed {
  readonly source: EndpointSource;
  follower: EndpointTransport;
  /** True if it was listed from the start and has not provided addresses yet: its first ones do not count as new. */
  isFirst: boolean;
}

/** Leaves out weight and backup: changing them needs no new source. */
function sourceKey({ weight: _weight, backup: _backup, ...where }: transport.EndpointOptions): string {
  return JSON.stringify(where);
}

/** Identifies an endpoint: by its address, and the name that its certificate is verified for. */
function endpointKey(endpoint: SourcedEndpoint): string {
  return `${formatHostPort(endpoint)} ${endpoint.name}`;
}
