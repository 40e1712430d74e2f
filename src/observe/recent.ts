import type * as core from '../core/index.ts';
import { errorText, ownString } from '../core/index.ts';
import type { LimitTallies, TopCaller } from './recent-decisions.ts';
import { RecentDecisions, SlidingCount, TICK_MS, TopCallers } from './recent-decisions.ts';

/** What one thread has recorded about callers and errors since the last `take`. */
export type RecentGrowth = ReturnType<Recent['take']>;

export interface RefusedAddress {
  readonly address: string;
  /** When the last one happened, in milliseconds since the epoch. */
  readonly lastMs: number;
}

/** The number of errors of one kind, and the last one. */
type ErrorCount = Pick<RecentError, 'kind' | 'count' | 'lastAtMs' | 'cause'>;

/** What happened within the last hour, for the status page. Bounded, and updated every few seconds. */
export class Recent {
  readonly decisions: RecentDecisions;
  readonly callers: RecentCallers;
  readonly errors: RecentErrors;
  readonly #upstreams: () => Iterable<string>;
  readonly #clock: core.TimerClock;
  #timer: core.Timer | null = null;

  /** @param upstreams the names of the configured upstreams */
  constructor(clock: core.TimerClock, tallies: LimitTallies, upstreams: () => Iterable<string>) {
    this.#clock = clock;
    this.decisions = new RecentDecisions(tallies);
    this.callers = new RecentCallers(clock);
    this.errors = new RecentErrors(clock);
    this.#upstreams = upstreams;
  }

  start(): void {
    this.#timer = this.#clock.every(TICK_MS, () => this.advance());
  }

  stop(): void {
    this.#clock.cancel(this.#timer);
  }

  /** Returns what was recorded since the last call, for another thread to add, and clears it. */
  take() {
    return { ...this.callers.take(), ...this.errors.take() };
  }

  add(growth: RecentGrowth): void {
    this.callers.add(growth);
    this.errors.add(growth);
  }

  /** Ends a tick. */
  advance(): void {
    this.decisions.advance();
    this.callers.advance();
    this.errors.advance(new Set(this.#upstreams()));
  }
}

/** Callers kept in each list. */
const CAPACITY = 128;
/** Maximum callers for whom the address that refused them is remembered, and for how long. */
const MAX_BEHIND = 1_024;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** The callers that limits and restrictions refuse most, and those close to a limit. */
class RecentCallers implements Partial<core.LimitListener & core.ExchangeListener> {
  readonly #clock: core.Clock;
  readonly #refused = new TopCallers(CAPACITY);
  readonly #nearLimit = new TopCallers(CAPACITY);
  /** By principal; the caller that was refused longest ago comes first. */
  readonly #behindAddress = new Map<string, RefusedAddress>();

  constructor(clock: core.Clock) {
    this.#clock = clock;
  }

  decided({ bucket, callerClass, caller, outcome, nearLimit, quota }: core.DecisionEvent): void {
    const isAdmitted = outcome === 'admitted';
    if (isAdmitted && !nearLimit) return;
    const list = isAdmitted ? this.#nearLimit : this.#refused;
    const entry = list.note(bucket ?? 'none', callerClass, caller, this.#clock.epochMs());
    entry.why = outcome;
    entry.quota = quota;
  }

  refusedByRestriction({ callerClass, caller, why }: core.RestrictionRefusal): void {
    const entry = this.#refused.note('none', callerClass, caller, this.#clock.epochMs());
    entry.restricted++;
    entry.why = why;
    entry.quota = undefined;
  }

  finished({ restriction, caller, clientAddress, arrivedAtMs }: core.ExchangeRecord): void {
    const { principal } = caller;
    if (principal === null || (restriction?.by !== 'address' && restriction?.by !== 'blocked_address'))
      return;
    this.#noteBehind(ownString(principal), { address: ownString(clientAddress), lastMs: arrivedAtMs });
  }

  #noteBehind(principal: string, refused: RefusedAddress): void {
    this.#behindAddress.delete(principal);
    this.#behindAddress.set(principal, refused);
    const [oldest] = this.#behindAddress.keys();
    if (this.#behindAddress.size > MAX_BEHIND && oldest !== undefined) this.#behindAddress.delete(oldest);
  }

  /** The restricted address that last refused this caller; `null` if none did within the last hour. */
  addressThatRefused(principal: string): RefusedAddress | null {
    return this.#behindAddress.get(principal) ?? null;
  }

  advance(): void {
    const nowMs = this.#clock.epochMs();
    for (const [principal, { lastMs }] of this.#behindAddress)
      if (nowMs - lastMs > HOUR_MS) this.#behindAddress.delete(principal);
    this.#refused.sweep(nowMs);
    this.#nearLimit.sweep(nowMs);
  }

  take() {
    const behindAddress = [...this.#behindAddress];
    this.#behindAddress.clear();
    return { refused: this.#refused.take(), nearLimit: this.#nearLimit.take(), behindAddress };
  }

  add({ refused, nearLimit, behindAddress }: ReturnType<RecentCallers['take']>): void {
    for (const [principal, each] of behindAddress) this.#noteBehind(principal, each);
    this.#refused.add(refused);
    this.#nearLimit.add(nearLimit);
  }

  /** Callers refused within the last hour, the most refused first. */
  get refused(): readonly TopCaller[] {
    return this.#refused.list();
  }

  /** Callers admitted within the last minute with at least 80 % of a limit used up. */
  get nearLimit(): readonly TopCaller[] {
    const fromMs = this.#clock.epochMs() - MINUTE_MS;
    return this.#nearLimit.list().filter(({ lastMs }) => lastMs > fromMs);
  }
}

/** Maximum characters kept of a cause. The cause of a fault is longer, since it has a stack. */
const MAX_CAUSE = 300;

export interface RecentError {
  /** The kind of error, from a closed list with the names of configured upstreams. */
  readonly kind: string;
  /** Since the start. */
  readonly count: number;
  readonly lastMinute: number;
  readonly lastHour: number;
  /** When the last one happened, milliseconds since the epoch. */
  readonly lastAtMs: number;
  /** The cause of the last one; null if the kind says everything. May contain text from outside: escape it. */
  readonly cause: string | null;
}

interface Kept {
  count: number;
  lastAtMs: number;
  cause: string | null;
  readonly lately: SlidingCount;
}

type Heard = core.ExchangeListener &
  core.AuthListener &
  core.SignInListener &
  core.StoreListener &
  core.ConnectionListener &
  core.LimitListener &
  core.NoticeListener;

/** The last error of each kind, and how many there were. */
export class RecentErrors {
  readonly #clock: core.Clock;
  readonly #kinds = new Map<string, Kept>();
  readonly #upstreams = new Map<string, Kept>();
  readonly heard = {
    finished: ({ error, outcome, upstream }) => {
      const ofUpstream = upstream ?? 'none';
      if (error === null) {
        if (outcome === 'truncated') this.#noteUpstream(ofUpstream, 'the response broke off');
      } else if (error.cap !== null) this.#note(`cap ${error.cap}`, null);
      else if (error.side === 'upstream') this.#noteUpstream(ofUpstream, describe(error));
      // Sign-in and the store report their own errors elsewhere.
      else if (error.side === 'gateway') this.#note('gateway', describe(error));
    },
    tokenRefused: (reason, claim) => this.#note(`token refused: ${reason}`, claim),
    budgetSpent: () => this.#note('signatures not checked: too many bad ones from an address', null),
    keySetFailed: cause => this.#note('keys of the provider', errorText(cause)),
    discovered: ({ outcome, cause }) => {
      if (outcome === 'failed') this.#note('discovery of the provider', errorText(cause));
    },
    redeemed: event => this.#noteAttempt(event.grant === 'code' ? 'sign-in' : 'refresh', event),
    tokenHandedOut: refusal => {
      if (refusal !== null)
        this.#note(`sign-in issues tokens that are refused: ${refusal.reason}`, refusal.claim);
    },
    introspected: ({ error, outcome }) => {
      if (error !== null) this.#note(`introspection: ${outcome}`, errorText(error.cause ?? error.message));
    },
    signedOut: event => this.#noteAttempt('sign-out', event),
    noticeReceived: ({ kind, outcome, flaw, claim }) => {
      if (outcome !== 'accepted' && outcome !== 'outdated') this.#note(`${kind}: ${outcome}`, claim ?? flaw);
    },
    failed: (failure, cause) => this.#note(`Redis: ${failure}`, cause),
    proxyHeaderRefused: fault => this.#note(`PROXY protocol: ${fault}`, null),
    handshakeEnded: (listener, outcome) => {
      if (outcome !== 'full' && outcome !== 'resumed')
        this.#note(`TLS handshake: ${outcome}`, `listen.${listener}`);
    },
    http2Closed: fault => this.#note(`HTTP/2: ${fault}`, null),
    readTooSlowly: () => this.#note('client reads too slowly', null),
    buffersFull: (connections, bytes) =>
      this.#note('caps.buffered', `${connections} connections ended, which held ${bytes} bytes`),
    evicted: ({ reason }) => this.#note('restriction ended early for lack of room', reason),
  } satisfies Partial<Heard>;

  constructor(clock: core.Clock) {
    this.#clock = clock;
  }

  take() {
    return { kinds: takeCounts(this.#kinds), upstreams: takeCounts(this.#upstreams) };
  }

  add({ kinds, upstreams }: ReturnType<RecentErrors['take']>): void {
    for (const error of kinds) addCount(this.#kinds, error);
    for (const error of upstreams) addCount(this.#upstreams, error);
  }

  /** @param upstreams the configured upstreams: others are forgotten */
  advance(upstreams: ReadonlySet<string>): void {
    for (const kept of this.#kinds.values()) kept.lately.advance(kept.count);
    for (const [upstream, kept] of this.#upstreams) {
      if (upstreams.has(upstream)) kept.lately.advance(kept.count);
      else this.#upstreams.delete(upstream);
    }
  }

  /** All kinds except the errors of upstreams, the latest first. */
  get list(): readonly RecentError[] {
    const all = [...this.#kinds].map(([kind, kept]) => view(kind, kept));
    return all.sort((one, other) => other.lastAtMs - one.lastAtMs);
  }

  /** The last error of an upstream; `null` if it had none. */
  ofUpstream(upstream: string): RecentError | null {
    const kept = this.#upstreams.get(upstream);
    return kept === undefined ? null : view(upstream, kept);
  }

  /** Omits errors of clients, which are everyday events. */
  #noteAttempt(what: string, { error, outcome }: core.RedeemEvent | core.SignOutEvent): void {
    if (error === null || error.side === 'client') return;
    const cause = error.cause === undefined ? error.message : errorText(error.cause);
    this.#note(`${what}: ${outcome}`, cause);
  }

  #noteUpstream(upstream: string, cause: string): void {
    addCount(this.#upstreams, { kind: upstream, count: 1, lastAtMs: this.#clock.epochMs(), cause });
  }

  #note(kind: string, cause: string | null): void {
    addCount(this.#kinds, { kind, count: 1, lastAtMs: this.#clock.epochMs(), cause });
  }
}

function addCount(kinds: Map<string, Kept>, { kind, count, lastAtMs, cause }: ErrorCount): void {
  const kept = kinds.get(kind) ?? { count: 0, lastAtMs: 0, cause: null, lately: new SlidingCount() };
  if (kept.count === 0) kinds.set(kind, kept);
  kept.count += count;
  if (lastAtMs < kept.lastAtMs) return;
  kept.lastAtMs = lastAtMs;
  kept.cause = cause;
}

function takeCounts(kinds: Map<string, Kept>): ErrorCount[] {
  const taken = Array.from(kinds, ([kind, { count, lastAtMs, cause }]) => ({
    kind,
    count,
    lastAtMs,
    cause: shortened(cause),
  }));
  kinds.clear();
  return taken;
}

function shortened(cause: string | null): string | null {
  return cause === null ? null : cause.slice(0, MAX_CAUSE);
}

function view(kind: string, { count, lastAtMs, cause, lately }: Kept): RecentError {
  return {
    kind,
    count,
    lastMinute: lately.lastMinute(count),
    lastHour: lately.lastHour(count),
    lastAtMs,
    cause: shortened(cause),
  };
}

function describe({ message, cause }: NonNullable<core.ExchangeRecord['error']>): string {
  return cause ?? message;
}
