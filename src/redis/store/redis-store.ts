import type { Clock, DecidedBy } from '../../core/index.ts';
import { type Decision, type Limit, type LimitSet, type LimitStore, UNLIMITED } from '../../limits/index.ts';
import { type Health, type RedisConnection, RedisError } from '../connection/index.ts';
import { DECIDE, NOTE_OPENED, REFUND } from './counter-scripts.ts';
import { Fallback, type FallbackDependencies } from './fallback.ts';
import { Keys } from './keys.ts';
import { KnownRefusals } from './known-refusals.ts';
import {
  type Plan,
  PlanTable,
  type Question,
  readScriptResponse,
  type ScriptResponse,
  textOf,
} from './plan.ts';
import { RedisAllowances } from './redis-allowances.ts';

export interface RedisStoreDependencies extends FallbackDependencies {
  readonly connection: Pick<RedisConnection, 'isCluster' | 'prefix' | 'run'>;
  readonly health: Pick<Health, 'isShared' | 'failed'>;
  readonly keysPerCaller: number;
  readonly clock: Clock;
}

/** What the script does: it looks, or consumes and returns the windows of the units, the resource's or all. */
const LOOK = '0';
const CONSUME = '1';
const CONSUME_AND_RETURN_ALL = '2';

/** Whether a question is asked as a whole, or in a cluster of the caller's limits first and then of the resource. */
type Trip = '0' | '1' | '2';

/** Stand in place of the number of counters for main values that a caller may hold. */
const NO_VALUES = '0';
const NO_FURTHER_VALUE = '-1';
const SHARED_BY_VALUES = '-2';

/** One call to the script. */
interface ScriptCall {
  readonly plan: Plan;
  readonly keys: readonly string[];
  readonly most: string;
  readonly mode: string;
  readonly trip: Trip;
}

type OnResponse = (response: ScriptResponse | null, error: RedisError) => void;

/**
 * Counts in Redis, for all gateways together. A decision is one round trip: one script checks all limits of the request and
 * consumes a unit of each or of none. In a cluster, a resource's counter may be on another node than its caller's, so a request
 * with both takes two round trips, and if the second refuses, the units of the first are returned. It takes a third where the
 * caller holds all main values that it may and nobody has opened this one.
 *
 * Returns without a promise when the refusal is already known, or when Redis is unreachable and the policy decides.
 */
export class RedisStore implements LimitStore {
  /** Shows and resets counters. After a reset, call `forgetRefusals`. */
  readonly allowances: RedisAllowances;
  readonly #dependencies: RedisStoreDependencies;
  readonly #keys: Keys;
  readonly #plans = new PlanTable();
  readonly #fallback: Fallback;
  readonly #refusals: KnownRefusals;
  #keysPerCaller: number;
  #callerOverflows = 0;

  constructor(dependencies: RedisStoreDependencies) {
    this.#dependencies = dependencies;
    this.#keys = new Keys(dependencies.connection.prefix);
    this.#fallback = new Fallback(dependencies);
    this.#refusals = new KnownRefusals(dependencies.clock);
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

  /** Requests for a main value beyond those that the caller may hold, since the start. */
  get callerOverflows(): number {
    return this.#callerOverflows;
  }

  /** Asks Redis again about every key. Call it after a reload, a reset or a lifted restriction. */
  forgetRefusals(): void {
    this.#refusals.forget();
  }

  decide(limits: LimitSet, caller: string, main: string): Decision | Promise<Decision> {
    if (this.#plans.of(limits).whole.limits.length === 0) return UNLIMITED;
    if (!this.#dependencies.health.isShared)
      return this.#fallback.decide({ limits, caller, main, consuming: true });
    const callerKeys = this.#keys.caller(caller);
    const known = this.#refusals.isEmpty ? null : this.#knownRefusal(limits, callerKeys, main);
    if (known !== null) return this.#by('known_refusal', known);
    return this.#ask({ limits, caller, main, consuming: true }, callerKeys);
  }

  peek(limits: LimitSet, caller: string, main: string): Decision | Promise<Decision> {
    if (this.#plans.of(limits).whole.limits.length === 0) return UNLIMITED;
    const question = { limits, caller, main, consuming: false };
    return this.#dependencies.health.isShared
      ? this.#ask(question, this.#keys.caller(caller))
      : this.#fallback.decide(question);
  }

  refund(limit: Limit, main: string, resourceWindow: number): void {
    if (this.#fallback.refund(limit, main, resourceWindow) || !this.#dependencies.health.isShared) return;
    this.#giveBack([this.#keys.resource(limit, main)], [textOf([limit]), String(resourceWindow), 'refund']);
  }

  #knownRefusal({ global, caller }: LimitSet, callerKeys: string, main: string): Decision | null {
    const refusal =
      global === null ? null : this.#refusals.find(this.#keys.global(callerKeys, global), global);
    if (refusal !== null || caller === null) return refusal;
    return this.#refusals.find(this.#keys.own(callerKeys, caller, main), caller);
  }

  #ask(question: Question, callerKeys: string): Promise<Decision> {
    const plans = this.#plans.of(question.limits);
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const { ofCaller, ofResources, whole } = plans;
    const isOfCaller = ofCaller.limits.length > 0 || question.main !== '';
    const places = ofResources.length + (isOfCaller ? 1 : 0);
    if (this.#dependencies.connection.isCluster && ofResources.length > 0 && places > 1)
      this.#askInTurn(question, callerKeys, isOfCaller, resolve);
    else
      this.#call(this.#callOf(question, whole, callerKeys, '0'), (response, error) => {
        resolve(response === null ? this.#failed(error, question) : this.#by('redis', response.decision));
      });
    return promise;
  }

  /** Asks about the caller's limits first: a flood from one caller must not consume what others share. */
  #askInTurn(
    question: Question,
    callerKeys: string,
    isOfCaller: boolean,
    resolve: (decision: Decision) => void,
  ): void {
    const { ofCaller, ofResources } = this.#plans.of(question.limits);
    const askOfResources = (own: ScriptResponse | null) =>
      this.#askOfResources(question, callerKeys, own?.isFull === true, ofResources, (shared, error) => {
        if (shared === null) {
          resolve(this.#failed(error, question));
          return;
        }
        if (own !== null && !shared.admitted && question.consuming)
          this.#undo(question, ofCaller, callerKeys, own);
        resolve(this.#by('redis', own === null ? shared : both(own.decision, shared)));
      });
    if (!isOfCaller) {
      askOfResources(null);
      return;
    }
    this.#call(this.#callOf(question, ofCaller, callerKeys, '1'), (own, error) => {
      if (own === null) resolve(this.#failed(error, question));
      else if (!own.decision.admitted) resolve(this.#by('redis', own.decision));
      else askOfResources(own);
    });
  }

  /** Asks about the limit that holds and then, if that admits, about the one in shadow. */
  #askOfResources(
    question: Question,
    callerKeys: string,
    isFull: boolean,
    [plan, ...others]: readonly Plan[],
    respond: (decision: Decision | null, error: RedisError) => void,
  ): void {
    if (plan === undefined) return;
    this.#askOfResource(question, callerKeys, isFull, plan, (response, error) => {
      const decision = response === null ? null : response.decision;
      if (decision === null || !decision.admitted || others.length === 0) {
        respond(decision, error);
        return;
      }
      this.#askOfResources(question, callerKeys, isFull, others, (tried, error) =>
        respond(tried === null ? null : { ...decision, shadow: tried.shadow }, error),
      );
    });
  }

  #askOfResource(
    { main, consuming }: Question,
    callerKeys: string,
    isFull: boolean,
    plan: Plan,
    respond: OnResponse,
  ): void {
    const keys = plan.limits.map(limit => this.#keys.resource(limit, main));
    const call = { plan, keys, mode: consuming ? CONSUME : LOOK } as const;
    this.#call({ ...call, most: isFull ? NO_FURTHER_VALUE : NO_VALUES, trip: '2' }, (response, error) => {
      if (response?.isUndecided === true) {
        const others = plan.limits.map(limit => this.#keys.others(callerKeys, limit));
        this.#call({ ...call, keys: others, most: SHARED_BY_VALUES, trip: '0' }, respond);
        return;
      }
      if (response?.hasOpened === true && main !== '') this.#noteOpened(callerKeys, keys, response);
      respond(response, error);
    });
  }

  /** The caller holds what it has opened, until its Reset. Nothing waits for this. */
  #noteOpened(
    callerKeys: string,
    [key = '']: readonly string[],
    { windows: [window = 0] }: ScriptResponse,
  ): void {
    const index = this.#keys.parts(callerKeys);
    this.#dependencies.connection.run(NOTE_OPENED, [index], [key, String(window)], error => {
      if (error !== null) this.#dependencies.health.failed(error);
    });
  }

  #call({ plan, keys, most, mode, trip }: ScriptCall, respond: OnResponse): void {
    const { connection, clock } = this.#dependencies;
    const askedAtMs = clock.monotonicMs();
    const { version } = this.#refusals;
    connection.run(DECIDE, keys, [plan.text, most, mode, trip], (error, value) => {
      const response = error === null ? readScriptResponse(value, plan) : null;
      if (response !== null) this.#note(response, plan, keys, askedAtMs, version);
      respond(response, error ?? UNEXPECTED);
    });
  }

  #callOf({ main, consuming }: Question, plan: Plan, callerKeys: string, trip: Trip): ScriptCall {
    const consume = trip === '1' ? CONSUME_AND_RETURN_ALL : CONSUME;
    const keys = this.#keysOf(main, plan, callerKeys, trip);
    const most = keys.length > plan.limits.length ? String(this.#keysPerCaller) : NO_VALUES;
    return { plan, keys, most, mode: consuming ? consume : LOOK, trip };
  }

  #keysOf(main: string, { limits }: Plan, callerKeys: string, trip: Trip): string[] {
    const keys: string[] = [];
    const others: string[] = [];
    for (const limit of limits) {
      if (limit.role === 'global') keys.push(this.#keys.global(callerKeys, limit));
      else if (limit.role === 'resource') keys.push(this.#keys.resource(limit, main));
      else keys.push(this.#keys.own(callerKeys, limit, main));
      if (limit.role !== 'global' && main !== '') others.push(this.#keys.others(callerKeys, limit));
    }
    if (others.length > 0 || (trip === '1' && main !== ''))
      keys.push(this.#keys.parts(callerKeys), ...others);
    return keys;
  }

  #note(
    response: ScriptResponse,
    plan: Plan,
    keys: readonly string[],
    askedAtMs: number,
    version: number,
  ): void {
    if (response.byOtherParts) this.#callerOverflows++;
    const limit = plan.limits[response.refusedBy];
    const key = keys[response.refusedBy];
    if (limit === undefined || key === undefined || limit.role === 'resource') return;
    // The refusing key is shared with other main values, so it may change at any time.
    if (response.refusedByOtherParts) return;
    this.#refusals.note(key, limit, response.decision, askedAtMs, version);
  }

  #undo(question: Question, plan: Plan, callerKeys: string, { windows, byOtherParts }: ScriptResponse): void {
    const keys = this.#keysOf(question.main, plan, callerKeys, '1');
    const consumed = plan.limits.map((limit, at) =>
      byOtherParts && limit.role === 'caller' ? this.#keys.others(callerKeys, limit) : (keys[at] ?? ''),
    );
    this.#giveBack(consumed, [plan.text, ...plan.limits.map((_, at) => String(windows[at] ?? 0)), 'undo']);
  }

  /** Nothing waits for this. A unit that cannot be returned is lost until its window is over. */
  #giveBack(keys: readonly string[], args: readonly string[]): void {
    this.#dependencies.connection.run(REFUND, keys, args, error => {
      if (error !== null) this.#dependencies.health.failed(error);
    });
  }

  #failed(error: RedisError, question: Question): Decision {
    this.#dependencies.health.failed(error);
    // A copy: the decision is delivered in a later microtask, and the local store overwrites its own at the next call.
    return { ...this.#fallback.decide(question) };
  }

  #by(who: DecidedBy, decision: Decision): Decision {
    this.#dependencies.listener.decidedBy(who);
    return decision;
  }
}

/** Joins the two decisions. On admission the header fields describe the caller's limit, or the resource's if the bucket has no other. */
function both(own: Decision, shared: Decision): Decision {
  if (!shared.admitted) return shared;
  const { resourceWindow, decidedAtMs } = shared;
  const shadow = {
    refused: [...own.shadow.refused, ...shared.shadow.refused],
    resourceWindow: shared.shadow.resourceWindow,
  };
  return own.role === null ? { ...shared, shadow } : { ...own, resourceWindow, decidedAtMs, shadow };
}

const UNEXPECTED = new RedisError('error', 'Redis gave an unexpected reply to the limit script');
