import type { Clock, DecidedBy } from '../../../core/index.ts';
import type { Decision, Limit, LimitSet, LimitStore, Place, ShadowRole } from '../../index.ts';
import { AT_ONCE_WAIT_MS, groupCounterKey, isSharedRole, LIMIT_ROLES, UNLIMITED } from '../../index.ts';
import { type Health, type RedisConnection, RedisError, type RedisScript } from '../connection/index.ts';
import { DECIDE, NOTE_OPENED, REFUND } from './counter-scripts.ts';
import { Fallback, type FallbackDependencies } from './fallback.ts';
import { Keys } from './keys.ts';
import { KnownRefusals } from './known-refusals.ts';
import { Leases } from './leases.ts';
import type { LeaseAsked, Plan, Question, ScriptResponse } from './plan.ts';
import { PlanTable, readScriptResponse, textOf } from './plan.ts';
import { RedisAllowances } from './redis-allowances.ts';

export interface RedisStoreDependencies extends FallbackDependencies {
  readonly connection: Pick<RedisConnection, 'isCluster' | 'prefix' | 'run'>;
  readonly health: Pick<Health, 'isShared' | 'failed'>;
  readonly keysPerCaller: number;
  readonly clock: Clock;
  /** Used in the names of this gateway's leases, so that no other gateway uses the same names. */
  readonly id: string;
}

/** What the script does: only look, or consume and return the windows of units, of shared limits or of all. */
const LOOK = '0';
const CONSUME = '1';
const CONSUME_AND_RETURN_ALL = '2';

/** Whether a question is asked as a whole or, in a cluster, for the caller's limits first and then for each shared one. */
type Trip = '0' | '1' | '2';

/** Used instead of the number of counters for main values that a caller may hold. */
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
  readonly cost: number;
  readonly lease: LeaseAsked | null;
}

/** The questions about shared limits, in turn. */
interface SharedAsk {
  readonly question: Question;
  /** The caller holds the maximum of counters for main values. */
  readonly isFull: boolean;
  readonly plans: readonly Plan[];
}

/** Redis' reply about one shared limit. */
interface SharedReply {
  readonly plan: Plan;
  readonly keys: readonly string[];
  readonly response: ScriptResponse;
}

type OnResponse = (response: ScriptResponse | null, error: RedisError) => void;

/**
 * Counts in Redis, for all gateways together. A decision is one round trip: one script checks all limits of the request and
 * consumes a unit of all or of none. In a cluster, the counter of a group or a resource may be on another node than its caller's,
 * so a request takes a round trip for its caller and one for each of them, and if a later one refuses, the units of earlier ones
 * are returned. It takes one more if the caller holds the maximum of main values and nobody has opened this one.
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
    if (known !== null) return this.#by('known_refusal', known);
    return this.#ask(question);
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

  refund(limit: Limit, part: string, window: number, cost = 1): void {
    if (this.#fallback.refund(limit, part, window, cost) || !this.#dependencies.health.isShared) return;
    const windows = [textOf([limit]), String(window)];
    this.#tell(REFUND, [this.#keys.shared(limit, part)], [...windows, 'refund', String(cost)]);
  }

  #knownRefusal({ limits, callerKeys, main, cost }: Question): Decision | null {
    const { global, caller } = limits;
    const refusal =
      global === null ? null : this.#refusals.find(this.#keys.global(callerKeys, global), global, 1);
    if (refusal !== null || caller === null) return refusal;
    return this.#refusals.find(this.#keys.own(callerKeys, caller, main), caller, cost);
  }

  #ask(question: Question): Promise<Decision> {
    const plans = this.#plans.of(question.limits);
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const { ofCaller, ofShared, whole } = plans;
    const isOfCaller = ofCaller.limits.length > 0 || question.main !== '' || question.lease !== null;
    const places = ofShared.length + (isOfCaller ? 1 : 0);
    if (this.#dependencies.connection.isCluster && ofShared.length > 0 && places > 1)
      this.#askInTurn(question, isOfCaller, resolve);
    else
      this.#call(this.#callOf(question, whole, '0'), (response, error) => {
        resolve(
          response === null
            ? this.#failed(error, question)
            : this.#by('redis', this.#withPlace(response.decision, question, response.hasLease)),
        );
      });
    return promise;
  }

  /** Asks about the caller's limits first: a flood from one caller must not consume what others share. */
  #askInTurn(question: Question, isOfCaller: boolean, resolve: (decision: Decision) => void): void {
    const { ofCaller, ofShared } = this.#plans.of(question.limits);
    const askOfShared = (own: ScriptResponse | null) => {
      const asked: SharedAsk = { question, isFull: own?.isFull === true, plans: ofShared };
      this.#askOfShared(asked, [], (replies, error) => {
        if (replies === null) {
          resolve(this.#failed(error, question));
          return;
        }
        const isAdmitted = replies.every(({ response }) => response.decision.admitted);
        if (question.consuming && isAdmitted) this.#noteOpened(question, replies);
        else if (question.consuming) {
          if (own !== null) this.#undo(question, ofCaller, own);
          if (question.lease !== null && own?.hasLease === true)
            this.#leases.end(question.lease.key, question.lease.id);
          this.#undoShared(question, replies);
        }
        const hasLease = isAdmitted && own?.hasLease === true;
        resolve(this.#by('redis', this.#withPlace(joinedDecision(own, replies), question, hasLease)));
      });
    };
    if (!isOfCaller) {
      askOfShared(null);
      return;
    }
    this.#call(this.#callOf(question, ofCaller, '1'), (own, error) => {
      if (own === null) resolve(this.#failed(error, question));
      else if (!own.decision.admitted)
        resolve(this.#by('redis', this.#withPlace(own.decision, question, false)));
      else askOfShared(own);
    });
  }

  #withPlace(decision: Decision, question: Question, hasLease: boolean): Decision {
    const timed = decision.atOnce ? { ...decision, retryAfterMs: AT_ONCE_WAIT_MS } : decision;
    const place = this.#placeOf(question, hasLease);
    return place === null ? timed : { ...timed, place };
  }

  /** Asks about the shared limits one after the other, enforced ones first, until one refuses. */
  #askOfShared(
    asked: SharedAsk,
    replies: readonly SharedReply[],
    respond: (replies: readonly SharedReply[] | null, error: RedisError) => void,
  ): void {
    const [plan, ...plans] = asked.plans;
    if (plan === undefined) {
      respond(replies, UNEXPECTED);
      return;
    }
    this.#askOfOne(asked, plan, (reply, error) => {
      if (reply === null) respond(null, error);
      else if (!reply.response.decision.admitted) respond([...replies, reply], error);
      else this.#askOfShared({ ...asked, plans }, [...replies, reply], respond);
    });
  }

  #askOfOne(
    { question, isFull }: SharedAsk,
    plan: Plan,
    respond: (reply: SharedReply | null, error: RedisError) => void,
  ): void {
    const keys = plan.limits.map(limit => this.#keys.shared(limit, partOf(limit, question)));
    const mode = question.consuming ? CONSUME_AND_RETURN_ALL : LOOK;
    const call = { plan, keys, mode, cost: question.cost, lease: null };
    this.#call({ ...call, most: isFull ? NO_FURTHER_VALUE : NO_VALUES, trip: '2' }, (response, error) => {
      if (response?.isUndecided !== true) {
        respond(response && { plan, keys, response }, error);
        return;
      }
      const others = plan.limits.map(limit => this.#keys.others(question.callerKeys, limit));
      this.#call({ ...call, keys: others, most: SHARED_BY_VALUES, trip: '0' }, (response, error) =>
        respond(response && { plan, keys: others, response }, error),
      );
    });
  }

  /** Records in Redis which shared counters the caller has opened: it holds them until their Reset. Nothing waits for this. */
  #noteOpened({ main, callerKeys }: Question, replies: readonly SharedReply[]): void {
    if (main === '') return;
    const index = this.#keys.parts(callerKeys);
    for (const { keys, response } of replies) {
      if (!response.hasOpened) continue;
      const args = [keys[0] ?? '', String(response.windows[0] ?? 0)];
      this.#tell(NOTE_OPENED, [index], args);
    }
  }

  /** Returns the units of shared limits that admitted the request before one refused. */
  #undoShared({ cost }: Question, replies: readonly SharedReply[]): void {
    for (const { plan, keys, response } of replies.slice(0, -1))
      this.#tell(REFUND, keys, [plan.text, ...undoArgs(response, cost)]);
  }

  #call({ plan, keys, most, mode, trip, cost, lease }: ScriptCall, respond: OnResponse): void {
    const { connection, clock } = this.#dependencies;
    const askedAtMs = clock.monotonicMs();
    const { version } = this.#refusals;
    const args = [plan.text, most, mode, trip, String(cost)];
    if (lease !== null) args.push(String(lease.limit.units), lease.id, lease.inShadow ? '1' : '0');
    const all = lease === null ? keys : [...keys, lease.key];
    connection.run(DECIDE, all, args, (error, value) => {
      const isUndoable = mode === CONSUME_AND_RETURN_ALL;
      const response = error === null ? readScriptResponse(value, plan, isUndoable) : null;
      if (response !== null) this.#note(response, { plan, keys, cost }, askedAtMs, version);
      respond(response, error ?? UNEXPECTED);
    });
  }

  #callOf(question: Question, plan: Plan, trip: Trip): ScriptCall {
    const { cost, lease } = question;
    const consume = trip === '1' ? CONSUME_AND_RETURN_ALL : CONSUME;
    const keys = this.#keysOf(question, plan, trip);
    const most = keys.length > plan.limits.length ? String(this.#keysPerCaller) : NO_VALUES;
    return { plan, keys, most, mode: question.consuming ? consume : LOOK, trip, cost, lease };
  }

  #keysOf(question: Question, { limits }: Plan, trip: Trip): string[] {
    const { main, callerKeys } = question;
    const keys: string[] = [];
    const others: string[] = [];
    for (const limit of limits) {
      if (limit.role === 'global') keys.push(this.#keys.global(callerKeys, limit));
      else if (isSharedRole(limit.role)) keys.push(this.#keys.shared(limit, partOf(limit, question)));
      else keys.push(this.#keys.own(callerKeys, limit, main));
      if (limit.role !== 'global' && main !== '') others.push(this.#keys.others(callerKeys, limit));
    }
    if (others.length > 0 || (trip === '1' && main !== ''))
      keys.push(this.#keys.parts(callerKeys), ...others);
    return keys;
  }

  #note(
    response: ScriptResponse,
    { plan, keys, cost }: Pick<ScriptCall, 'plan' | 'keys' | 'cost'>,
    askedAtMs: number,
    version: number,
  ): void {
    if (response.byOtherParts) this.#dependencies.local.countCallerOverflow();
    const limit = plan.limits[response.refusedBy];
    const key = keys[response.refusedBy];
    if (limit === undefined || key === undefined || isSharedRole(limit.role)) return;
    // The refusing key is shared with other main values, so it may change at any time.
    if (response.refusedByOtherParts) return;
    const units = limit.role === 'global' ? 1 : cost;
    this.#refusals.note(key, limit, units, response.decision, askedAtMs, version);
  }

  #undo(question: Question, plan: Plan, own: ScriptResponse): void {
    const keys = this.#keysOf(question, plan, '1');
    const consumed = plan.limits.map((limit, at) =>
      own.drewOnOthers[at] === true ? this.#keys.others(question.callerKeys, limit) : (keys[at] ?? ''),
    );
    if (question.main !== '') consumed.push(this.#keys.parts(question.callerKeys));
    this.#tell(REFUND, consumed, [plan.text, ...undoArgs(own, question.cost)]);
  }

  /** Runs a script that nothing waits for. A unit that cannot be returned is lost until its window is over. */
  #tell(script: RedisScript, keys: readonly string[], args: readonly string[]): void {
    this.#dependencies.connection.run(script, keys, args, error => {
      if (error !== null) this.#dependencies.health.failed(error);
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

  #by(who: DecidedBy, decision: Decision): Decision {
    this.#dependencies.listener.decidedBy(who);
    return decision;
  }
}

/** The arguments for REFUND, after the limits, to undo a decision. */
function undoArgs({ windows, toRestore }: ScriptResponse, cost: number): string[] {
  return [...windows.map(String), 'undo', String(cost), ...toRestore.map(String)];
}

/** How many requests of a caller may be in flight: the enforced limit, or the one in shadow. */
function concurrencyOf({ concurrent, shadow }: LimitSet): Limit | null {
  return concurrent ?? (shadow === null ? null : shadow.concurrent);
}

/** The part that a shared limit counts under. */
function partOf({ role }: Limit, { main, group }: Question): string {
  return role === 'group' ? groupCounterKey(group, main) : main;
}

/** Joins the decisions. On admission the header fields describe the caller's limit, or the resource's if the bucket has no other. */
function joinedDecision(own: ScriptResponse | null, replies: readonly SharedReply[]): Decision {
  const last = replies.at(-1);
  if (last !== undefined && !last.response.decision.admitted) return last.response.decision;
  const decisions = [...(own === null ? [] : [own.decision]), ...replies.map(decisionOf)];
  const described = decisions.find(({ role }) => role !== null) ?? decisions[0] ?? UNLIMITED;
  const sumOf = (numberOf: (decision: Decision) => number) =>
    decisions.reduce((sum, decision) => sum + numberOf(decision), 0);
  return {
    ...described,
    // Each comes from one decision, and is 0 in all others.
    groupWindow: sumOf(({ groupWindow }) => groupWindow),
    resourceWindow: sumOf(({ resourceWindow }) => resourceWindow),
    decidedAtMs: decisions.at(-1)?.decidedAtMs ?? 0,
    shadow: {
      refused: SHADOW_ROLES.filter(role => decisions.some(({ shadow }) => shadow.refused.includes(role))),
      groupWindow: sumOf(({ shadow }) => shadow.groupWindow),
      resourceWindow: sumOf(({ shadow }) => shadow.resourceWindow),
    },
  };
}

/** A counter shared by several values does not show whose unit it was. Such a unit cannot be returned. */
function decisionOf({ response: { decision, byOtherParts } }: SharedReply): Decision {
  return byOtherParts
    ? { ...decision, ...NO_WINDOWS, shadow: { ...decision.shadow, ...NO_WINDOWS } }
    : decision;
}

const SHADOW_ROLES: readonly ShadowRole[] = [...LIMIT_ROLES, 'concurrent'];

const NO_WINDOWS = { groupWindow: 0, resourceWindow: 0 };

const UNEXPECTED = new RedisError('error', 'Redis gave an unexpected reply to the limit script');
