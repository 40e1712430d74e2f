import { type Clock, WeakMemo } from '../../../core/index.ts';
import type { Decision, Limit, LimitSet, LimitStore, Place, ShadowRole } from '../../index.ts';
import {
  AT_ONCE_WAIT_MS,
  groupCounterKey,
  isSharedRole,
  LIMIT_ROLES,
  mostPressing,
  OTHER_PARTS,
  UNLIMITED,
  unitsTaken,
  windowsOf,
} from '../../index.ts';
import {
  type Argument,
  type Health,
  type RedisConnection,
  RedisError,
  type RedisScript,
  readReply,
} from '../connection/index.ts';
import { DECIDE, HOLD, REFUND } from './counter-scripts.ts';
import { Fallback, type FallbackDependencies } from './fallback.ts';
import { Keys } from './keys.ts';
import { KnownRefusals } from './known-refusals.ts';
import { Leases } from './leases.ts';
import type { LeaseAsked, Question, ScriptResponse, Step } from './plan.ts';
import { byPeriod, has, planOf, readScriptResponse, textOf } from './plan.ts';
import { RedisAllowances } from './redis-allowances.ts';
import { MODE, NONE, REPLY, STEP } from './script-words.ts';

export interface RedisStoreDependencies extends FallbackDependencies {
  readonly connection: Pick<RedisConnection, 'isCluster' | 'prefix' | 'run'>;
  readonly health: Pick<Health, 'isShared' | 'failed' | 'mention'>;
  readonly keysPerCaller: number;
  readonly clock: Clock;
  /** Used in the names of this gateway's leases, so that no other gateway uses the same names. */
  readonly id: string;
}

/** A step that Redis has taken, and what it replied. */
interface Taken {
  readonly step: Step;
  /** The keys of its limits, in order, and further ones of the caller. */
  readonly keys: readonly string[];
  readonly response: ScriptResponse;
}

type OnTaken = (taken: Taken | RedisError) => void;

/**
 * Counts in Redis, for all gateways together. A decision is one round trip: one script checks all limits of the request and
 * consumes a unit of all or of none. In a cluster, the counter of a group or a resource may be on another node than its caller's,
 * so a request takes a round trip for its caller and one for each of them, and if a later one refuses, the units of earlier ones
 * are returned. It takes one more if the caller already holds the maximum of main values, and the shared counter of this value has
 * not been opened by anyone.
 *
 * Returns without a promise when the refusal is already known, or when Redis is unreachable and the policy decides.
 */
export class RedisStore implements LimitStore {
  /** Shows and resets counters. After a reset, call `forgetRefusals`. */
  readonly allowances: RedisAllowances;
  readonly #dependencies: RedisStoreDependencies;
  readonly #keys: Keys;
  readonly #plans = new WeakMemo(planOf);
  readonly #fallback: Fallback;
  readonly #refusals: KnownRefusals;
  readonly #leases: Leases;
  #leasesAsked = 0;
  #keysPerCaller: number;

  constructor(dependencies: RedisStoreDependencies) {
    this.#dependencies = dependencies;
    this.#keys = new Keys(dependencies.connection.prefix);
    this.#fallback = new Fallback(dependencies);
    this.#refusals = new KnownRefusals(dependencies.clock);
    this.#leases = new Leases(dependencies);
    this.#keysPerCaller = dependencies.keysPerCaller;
    this.allowances = new RedisAllowances({
      ...dependencies,
      keys: this.#keys,
      fallback: this.#fallback,
      keysPerCaller: () => this.#keysPerCaller,
    });
  }

  /** A reload may change this number; callers keep the keys they hold. */
  set keysPerCaller(max: number) {
    this.#keysPerCaller = max;
  }

  /**
   * Renews the leases of requests in flight, and ends those of requests that ended while Redis was unavailable. Call it once a
   * second.
   */
  renewLeases(): void {
    this.#leases.renew();
  }

  /** Asks Redis again about every key. Call it after a reload, a reset or a lifted restriction. */
  forgetRefusals(): void {
    this.#refusals.forget();
  }

  decide(limits: LimitSet, caller: string, main: string, group = '', cost = 1): Decision | Promise<Decision> {
    if (this.#isUnlimited(limits)) return UNLIMITED;
    const question = this.#questionOf(limits, caller, main, group, cost, true);
    if (!this.#dependencies.health.isShared) return this.#decideAlone(question);
    const known = this.#refusals.isEmpty ? null : this.#knownRefusal(question);
    if (known === null) return this.#ask(question);
    this.#dependencies.listener.decidedBy('known_refusal');
    return known;
  }

  peek(limits: LimitSet, caller: string, main: string, group = '', cost = 1): Decision | Promise<Decision> {
    if (this.#isUnlimited(limits)) return UNLIMITED;
    const question = this.#questionOf(limits, caller, main, group, cost, false);
    return this.#dependencies.health.isShared ? this.#ask(question) : this.#fallback.decide(question);
  }

  #questionOf(
    ...[limits, caller, main, group, cost, consuming]: [
      ...Required<Parameters<LimitStore['decide']>>,
      boolean,
    ]
  ): Question {
    const callerKeys = this.#keys.caller(caller);
    const lease = this.#leaseFor(limits, callerKeys, main);
    return { limits, caller, callerKeys, main, group, cost, lease, consuming };
  }

  #isUnlimited(limits: LimitSet): boolean {
    return this.#plans.of(limits).whole.limits.length === 0 && concurrencyOf(limits) === null;
  }

  #leaseFor(limits: LimitSet, callerKeys: string, main: string): LeaseAsked | null {
    const limit = concurrencyOf(limits);
    if (limit === null) return null;
    const id = `${this.#dependencies.id}:${++this.#leasesAsked}`;
    return {
      limit,
      key: this.#keys.leases(callerKeys, limit, main),
      id,
      inShadow: limits.concurrent === null,
    };
  }

  /** Decides without Redis. A place is counted here, and reported to Redis when that is back. */
  #decideAlone(question: Question): Decision {
    const decision = this.#fallback.decide(question);
    const { lease } = question;
    if (lease === null || decision.place === null) return decision;
    return { ...decision, place: this.#leases.hold(lease.key, lease.id, decision.place) };
  }

  /** Makes a place from the lease that Redis granted. It counts here as well, in case Redis becomes unavailable. */
  #placeOf({ lease, caller, main }: Question, hasLease: boolean): Place | null {
    if (lease === null || !hasLease) return null;
    const local = this.#dependencies.local.inFlight.enter(lease.limit, caller, main);
    return this.#leases.hold(lease.key, lease.id, local);
  }

  refund(limit: Limit, part: string, window: number, cost = 1, caller: string | null = null): void {
    if (this.#fallback.refund(limit, part, window, cost, caller) || !this.#dependencies.health.isShared)
      return;
    const key = this.#keyOf(limit, part, caller);
    this.#refusals.drop(key);
    const text = textOf([limit], this.#dependencies.clock.epochMs());
    this.#tell('return units', REFUND, [key], [text, MODE.refund, cost, window]);
  }

  /** The key of the counter that units came from. */
  #keyOf(limit: Limit, part: string, caller: string | null): string {
    if (caller === null) return this.#keys.shared(limit, part);
    if (part === OTHER_PARTS) return this.#keys.others(this.#keys.caller(caller), limit);
    return isSharedRole(limit.role)
      ? this.#keys.shared(limit, part)
      : this.#keys.own(this.#keys.caller(caller), limit, part);
  }

  #knownRefusal({ limits, callerKeys, main, cost }: Question): Decision | null {
    for (const global of windowsOf(limits.global)) {
      const refusal = this.#refusals.find(this.#keys.global(callerKeys, global), global, 1);
      if (refusal !== null) return refusal;
    }
    for (const own of windowsOf(limits.caller)) {
      const units = unitsTaken(own, cost);
      const refusal = this.#refusals.find(this.#keys.own(callerKeys, own, main), own, units);
      if (refusal !== null) return refusal;
    }
    return null;
  }

  #ask(question: Question): Promise<Decision> {
    const { own, shared, whole } = this.#plans.of(question.limits);
    const isOfCaller = own.limits.length > 0 || question.main !== '' || question.lease !== null;
    const places = shared.length + (isOfCaller ? 1 : 0);
    const { promise, resolve } = Promise.withResolvers<Decision>();
    if (this.#dependencies.connection.isCluster && shared.length > 0 && places > 1)
      this.#askInSteps(question, isOfCaller ? [own, ...shared] : shared).then(resolve, error =>
        resolve(this.#failed(RedisError.of(error), question)),
      );
    else
      this.#take(question, whole, taken => {
        if (taken instanceof RedisError) resolve(this.#failed(taken, question));
        else resolve(this.#decided(question, taken.response.decision, [taken]));
      });
    return promise;
  }

  /**
   * Takes the steps until one refuses, which undoes those before it. The caller's limits come first: a flood from one caller must
   * not consume what others share. Rejects with a RedisError.
   */
  async #askInSteps(question: Question, steps: readonly Step[]): Promise<Decision> {
    const taken: Taken[] = [];
    for (const step of steps) {
      const isFull = taken[0] !== undefined && has(taken[0].response, REPLY.full);
      const last = await this.#takeOne(question, step, isFull);
      if (!last.response.decision.admitted) {
        if (question.consuming) this.#undo(question, taken);
        return this.#decided(question, last.response.decision, []);
      }
      taken.push(last);
    }
    const drawn = question.consuming ? this.#undoTrials(question, taken) : taken;
    if (question.consuming && question.main !== '') this.#noteOpened(question, drawn);
    return this.#decided(question, joinedDecision(drawn), drawn);
  }

  /** Returns what one window of a limit in shadow has consumed where another would have refused. Returns the steps that count. */
  #undoTrials(question: Question, taken: readonly Taken[]): readonly Taken[] {
    const refused = new Set(
      taken.flatMap(({ step, response }) => (isOfTrial(step) ? response.decision.shadow.refused : [])),
    );
    const isHalf = ({ step, response }: Taken) =>
      isOfTrial(step) &&
      response.decision.shadow.refused.length === 0 &&
      step.shadow.some(role => refused.has(role));
    const half = taken.filter(isHalf);
    if (half.length === 0) return taken;
    this.#undo(question, half);
    return taken.filter(each => !half.includes(each));
  }

  async #takeOne(question: Question, step: Step, isFull: boolean): Promise<Taken> {
    const take = (asked: Step) =>
      new Promise<Taken>((resolve, reject) => {
        this.#take(question, asked, taken => (taken instanceof RedisError ? reject(taken) : resolve(taken)));
      });
    if (step.kind === STEP.own || !isFull) return take(step);
    const taken = await take({ ...step, kind: STEP.sharedIfOpen });
    return has(taken.response, REPLY.undecided) ? take({ ...step, kind: STEP.others }) : taken;
  }

  #decided(question: Question, decision: Decision, taken: readonly Taken[]): Decision {
    this.#dependencies.listener.decidedBy('redis');
    const timed = decision.atOnce ? { ...decision, retryAfterMs: AT_ONCE_WAIT_MS } : decision;
    const hasLease = taken[0] !== undefined && has(taken[0].response, REPLY.leased);
    const place = this.#placeOf(question, hasLease);
    return place === null ? timed : { ...timed, place };
  }

  /** Records in Redis which shared counters the caller has opened: it holds them until their Reset. Nothing waits for this. */
  #noteOpened({ callerKeys }: Question, taken: readonly Taken[]): void {
    for (const { keys, response } of taken) {
      if (!has(response, REPLY.opened)) continue;
      const note = [MODE.note, keys[0] ?? '', response.windows[0] ?? NONE.window];
      this.#tell('note an opened counter', HOLD, [this.#keys.parts(callerKeys)], note);
    }
  }

  /** Returns what the steps before a refusal have consumed. */
  #undo({ callerKeys, main, cost, lease }: Question, taken: readonly Taken[]): void {
    for (const { step, keys, response } of taken) {
      const consumed = step.limits.map((limit, at) =>
        response.usedOthers[at] === true ? this.#keys.others(callerKeys, limit) : (keys[at] ?? ''),
      );
      if (step.kind === STEP.own && main !== '') consumed.push(this.#keys.parts(callerKeys));
      const { windows, toRestore } = response;
      this.#tell('return the units of a refused request', REFUND, consumed, [
        step.text(this.#dependencies.clock.epochMs()),
        MODE.undo,
        cost,
        ...windows,
        ...toRestore,
      ]);
      if (lease !== null && has(response, REPLY.leased)) this.#leases.end(lease.key, lease.id);
    }
  }

  #take(question: Question, step: Step, respond: OnTaken): void {
    const { connection, clock } = this.#dependencies;
    const { cost, consuming } = question;
    const askedAtMs = clock.monotonicMs();
    const { version } = this.#refusals;
    const keys = this.#keysOf(question, step);
    const mode = consuming ? MODE.take : MODE.look;
    const args = [step.text(clock.epochMs()), mode, step.kind, this.#keysPerCaller, cost];
    const lease = step.kind === STEP.whole || step.kind === STEP.own ? question.lease : null;
    if (lease !== null) args.push(lease.limit.units, lease.id, lease.inShadow ? 1 : 0);
    connection.run(DECIDE, lease === null ? keys : [...keys, lease.key], args, (error, value) => {
      const response = error ?? readScriptResponse(value, step);
      const taken = response instanceof RedisError ? response : { step, keys, response };
      if (!(taken instanceof RedisError)) this.#note(taken, cost, askedAtMs, version);
      respond(taken);
    });
  }

  #keysOf(question: Question, { kind, limits }: Step): string[] {
    const { main, callerKeys } = question;
    const keys: string[] = [];
    const others: string[] = [];
    for (const limit of limits) {
      if (limit.role !== 'global' && main !== '') others.push(this.#keys.others(callerKeys, limit));
      if (limit.role === 'global') keys.push(this.#keys.global(callerKeys, limit));
      else if (isSharedRole(limit.role)) keys.push(this.#keys.shared(limit, partOf(limit, question)));
      else keys.push(this.#keys.own(callerKeys, limit, main));
    }
    if (kind === STEP.others) return others;
    const hasMain = main !== '' && (kind === STEP.whole || kind === STEP.own);
    return hasMain ? [...keys, this.#keys.parts(callerKeys), ...others] : keys;
  }

  #note({ step, keys, response }: Taken, cost: number, askedAtMs: number, version: number): void {
    const others = has(response, REPLY.usedOthers)
      ? step.limits.find(({ role }) => role !== 'global')
      : undefined;
    if (others !== undefined) this.#dependencies.local.countCallerOverflow(others);
    if (response.refusedBy === null) return;
    const limit = step.limits[response.refusedBy];
    const key = keys[response.refusedBy];
    if (limit === undefined || key === undefined || isSharedRole(limit.role)) return;
    // The refusing key is shared with other main values, so it may change at any time.
    if (response.decision.otherParts) return;
    this.#refusals.note(key, limit, unitsTaken(limit, cost), response.decision, askedAtMs, version);
  }

  /** Runs a script that nothing waits for. A unit that cannot be returned is lost until its window is over. */
  #tell(task: string, script: RedisScript, keys: readonly string[], args: readonly Argument[]): void {
    this.#dependencies.connection.run(script, keys, args, (error, reply) => {
      const done = error ?? readReply(reply, 'limit');
      if (done instanceof RedisError) this.#dependencies.health.mention(done, task);
    });
  }

  #failed(error: RedisError, question: Question): Decision {
    this.#dependencies.health.failed(error);
    // A copy: the decision is delivered in a later microtask, and the local store overwrites its own at the next call.
    const decision = { ...this.#decideAlone(question) };
    const { lease, consuming } = question;
    // Redis may have granted a lease whose reply was lost. If this gateway grants no place itself, end it.
    if (consuming && lease !== null && decision.place === null) this.#leases.end(lease.key, lease.id);
    return decision;
  }
}

/** Whether it asks about one window of a shared limit in shadow. */
function isOfTrial({ kind, shadow }: Step): boolean {
  return kind !== STEP.own && shadow.length > 0;
}

/** How many requests of a caller may be in flight: the enforced limit, or the one in shadow. */
function concurrencyOf({ concurrent, shadow }: LimitSet): Limit | null {
  return concurrent ?? (shadow === null ? null : shadow.concurrent);
}

function partOf({ role }: Limit, { main, group }: Question): string {
  return role === 'group' ? groupCounterKey(group, main) : main;
}

/** Joins the decisions of steps that all admit. The header fields describe the caller's limit, or the resource's if there is none. */
function joinedDecision(taken: readonly Taken[]): Decision {
  const decisions = taken.map(({ response }) => response.decision);
  return {
    ...(describedOf(decisions) ?? decisions[0] ?? UNLIMITED),
    windows: byPeriod(decisions.flatMap(({ windows }) => windows)),
    drawn: decisions.flatMap(({ drawn }) => drawn),
    decidedAtMs: decisions.at(-1)?.decidedAtMs ?? 0,
    shadow: {
      refused: SHADOW_ROLES.filter(role => decisions.some(({ shadow }) => shadow.refused.includes(role))),
      drawn: decisions.flatMap(({ shadow }) => shadow.drawn),
    },
  };
}

/** The decision about the caller's limits, or of those about the resource's windows the one to describe. */
function describedOf(decisions: readonly Decision[]): Decision | null {
  const own = decisions.find(({ role }) => role === 'caller');
  if (own !== undefined) return own;
  const ofResource = decisions.flatMap(decision => {
    const { by, remaining, resetAfterMs: resetInMs } = decision;
    return by === null ? [] : [{ periodMs: by.periodMs, remaining, resetInMs, decision }];
  });
  return mostPressing(ofResource.toSorted((one, other) => one.periodMs - other.periodMs))?.decision ?? null;
}

const SHADOW_ROLES: readonly ShadowRole[] = [...LIMIT_ROLES, 'concurrent'];
