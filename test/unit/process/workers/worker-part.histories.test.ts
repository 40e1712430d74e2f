import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Consumption, consumptionOf, type Snapshot } from '../../../../src/config/index.ts';
import { type ProcessPart, SharedMemory } from '../../../../src/core/index.ts';
import { followLimits, Limiting, noteRefusal } from '../../../../src/gateway/runtime/index.ts';
import {
  type Decision,
  defineLimit,
  digestOfWhom,
  KnownClient,
  type Limit,
  type LimitSet,
  NO_LIMITS,
  NONE_ELSEWHERE,
  type OffenceRule,
  type Quota,
  type Restricted,
} from '../../../../src/limits/index.ts';
import type { PacketLink } from '../../../../src/process/workers/link.ts';
import { connectWorker } from '../../../../src/process/workers/worker-part.ts';
import { linkInThread } from '../../../support/in-thread-host.ts';
import { Random } from '../../../support/random.ts';
import { runs, seedOfRun } from '../../../support/runs.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';
import { MortalMemory } from '../../limits/mortal-threads.ts';
import { NaiveLimiter } from '../../limits/naive-limiter.ts';
import { mainPartOf, quietListener, quietStoreListener, snapshotOf, workerPartOf } from './thread-parts.ts';

const HISTORIES = runs(50);
const STEPS = 200;
const WORKERS = 2;
const LIMIT_KEYS = 200;
/** More than the histories write to of any table: that much is copied at a death. */
const COPIED_BYTES = 1 << 16;
/** A restriction ends so much earlier than announced. */
const SLACK_MS = 20;

const rules = (invalid: number, ignored: number, webhook: number) => `
global: { user: 12/5s, address: 9/5s }
buckets: { things: { main: id, user: 3/4s, address: 2/4s } }
routes: { '/things/{id}': things }
invalid_requests: { limit: ${invalid}/10s, restrict_for: 4s }
ignored_refusals: { limit: ${ignored}/9s, restrict_for: 6s, addresses: true }
webhook_not_found: { limit: ${webhook}/8s, restrict_for: 5s }
`;

const ADDRESSES = ['192.0.2.1', '192.0.2.2'];
const PRINCIPALS = ['user:a', 'user:b'];
const HOOKS = ['one', 'two'];
const CLIENTS: readonly Omit<Restricted, 'reason'>[] = [
  ...ADDRESSES.map(key => ({ kind: 'address', key, webhook: '' }) as const),
  ...PRINCIPALS.map(key => ({ kind: 'principal', key, webhook: '' }) as const),
  ...ADDRESSES.flatMap(key => HOOKS.map(webhook => ({ kind: 'webhook', key, webhook }) as const)),
];

/** Whom one gateway refuses, and why, as one would write it down with unlimited memory. */
class Model {
  readonly limiter = new NaiveLimiter();
  readonly #offences = new NaiveLimiter();
  readonly #restricted = new Map<string, { readonly untilMs: number; readonly reason: string }>();
  readonly #refusals = new Map<string, { readonly firstMs: number; readonly untilMs: number }>();
  /** How many restrictions began or were prolonged. */
  restrictions = 0;

  /** @param isDead whether the thread that counted it died before it could restrict */
  offend(whom: Restricted, { quota, restrictForMs }: OffenceRule, nowMs: number, isDead = false): void {
    const who = { caller: whom.key, main: whom.webhook, group: '', cost: 1 };
    const isTolerated = this.#offences.decide(countOf(whom.reason, quota), who, nowMs).admitted;
    const untilMs = nowMs + restrictForMs;
    if (isTolerated || isDead || (this.#restricted.get(nameOf(whom))?.untilMs ?? 0) >= untilMs) return;
    this.#restricted.set(nameOf(whom), { untilMs, reason: whom.reason });
    this.restrictions++;
  }

  /** Notes a refusal. Returns whether it was asked for in spite of an earlier one. */
  ignores({ limit, caller, main }: Refused, waitMs: number, nowMs: number): boolean {
    const key = `${limit.identity} ${caller} ${limit.role === 'global' ? '' : main}`;
    const known = this.#refusals.get(key);
    if (known !== undefined && nowMs < known.untilMs) return nowMs - known.firstMs > 1_000;
    this.#refusals.set(key, { firstMs: nowMs, untilMs: nowMs + waitMs - limit.slackMs });
    return false;
  }

  lift(
    client: Omit<Restricted, 'reason'>,
    { invalidRequests, ignoredRefusals, webhookNotFound }: Rules,
  ): void {
    this.#restricted.delete(nameOf(client));
    const forget = (reason: string, rule: OffenceRule | null) => {
      const limit = rule && countOf(reason, rule.quota).caller;
      if (limit !== null) this.#offences.reset(limit, client.key, client.webhook);
    };
    if (client.kind === 'webhook') forget('webhook_not_found', webhookNotFound);
    else {
      forget('invalid_requests', invalidRequests);
      forget('ignored_refusals', ignoredRefusals);
    }
  }

  /** The wait of a client and its reason; null if it is not restricted. */
  restriction(client: Omit<Restricted, 'reason'>, nowMs: number): { waitMs: number; reason: string } | null {
    const { untilMs = 0, reason = '' } = this.#restricted.get(nameOf(client)) ?? {};
    return nowMs < untilMs - SLACK_MS ? { waitMs: untilMs - nowMs, reason } : null;
  }
}

type Rules = Snapshot['limits'];
interface Refused {
  readonly limit: Limit;
  readonly caller: string;
  readonly main: string;
}

function nameOf({ kind, key, webhook }: Omit<Restricted, 'reason'>): string {
  return `${kind} ${key} ${webhook}`;
}

function countOf(reason: string, quota: Quota): LimitSet {
  const caller = defineLimit({ role: 'caller', bucket: reason, main: null, algorithm: 'window', quota });
  return { ...NO_LIMITS, caller };
}

interface Worker {
  readonly limiting: Limiting;
  readonly memory: MortalMemory;
  readonly link: PacketLink;
  readonly disconnect: () => void;
}

/** A gateway of two workers in one thread, and what it should do. */
class History {
  readonly #clock = new FrozenClock();
  readonly #memory = SharedMemory.create(WORKERS, randomBytes, neverWait);
  readonly #part = mainPartOf(this.#clock, { memory: this.#memory });
  readonly #main: Limiting;
  readonly #workers: Worker[] = [];
  readonly #random: Random;
  readonly #snapshots: readonly Snapshot[];
  readonly model = new Model();
  #snapshot: Snapshot;
  deaths = 0;

  constructor(seed: number, snapshots: readonly [Snapshot, ...Snapshot[]]) {
    this.#random = new Random(seed);
    this.#snapshots = snapshots;
    this.#snapshot = snapshots[0];
    this.#main = this.#newLimiting(this.#part);
    for (let worker = 0; worker < WORKERS; worker++) this.#begin(worker);
  }

  step(): void {
    const random = this.#random;
    if (random.chance(0.4)) this.#clock.advance(random.below(random.chance(0.1) ? 9_000 : 900));
    const what = random.next();
    const address = random.pick(ADDRESSES);
    const at = random.below(WORKERS);
    if (what < 0.25) this.#invalid(at, address);
    else if (what < 0.4) this.#webhookNotFound(at, address, random.pick(HOOKS));
    else if (what < 0.94) for (let i = random.below(4); i >= 0; i--) this.#request(at, address);
    else if (what < 0.98) this.#lift();
    else this.#reload();
    if (random.chance(0.1)) random.pick(this.#all).restrictions.sweep();
    this.#compare();
  }

  get #all(): readonly Limiting[] {
    return [this.#main, ...this.#workers.map(({ limiting }) => limiting)];
  }

  get #nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }

  #newLimiting(part: ProcessPart): Limiting {
    const { limits } = this.#snapshot;
    const listeners = { listener: quietListener, storeListener: quietStoreListener };
    const parts = {
      clock: this.#clock,
      randomBytes,
      part,
      limitKeys: LIMIT_KEYS,
      inFlightElsewhere: NONE_ELSEWHERE,
    };
    return new Limiting(limits, { ...parts, ...listeners });
  }

  #begin(at: number): void {
    const shared = new SharedMemory(structuredClone(this.#memory.handover), at + 1, neverWait);
    const memory = new MortalMemory(shared, COPIED_BYTES);
    const [link, other] = linkInThread();
    const disconnect = connectWorker(this.#part, link);
    const limiting = this.#newLimiting(workerPartOf(other, this.#clock, { memory }));
    this.#workers[at] = { limiting, memory, link, disconnect };
  }

  /** A worker does something, and may die of it. Returns whether it counts, and whether it is dead. */
  #do(at: number, act: (limiting: Limiting) => void): { readonly counts: boolean; readonly isDead: boolean } {
    const { limiting, memory, link, disconnect } = this.#worker(at);
    const steps = this.#random.chance(0.05) ? this.#random.below(60) : Number.POSITIVE_INFINITY;
    memory.hasKept = false;
    if (!memory.dieAfter(steps, () => act(limiting))) return { counts: true, isDead: false };
    this.deaths++;
    link.close('it died');
    disconnect();
    this.#memory.recover(at + 1);
    this.#begin(at);
    return { counts: memory.hasKept, isDead: true };
  }

  #worker(at: number): Worker {
    const worker = this.#workers[at];
    if (worker === undefined) throw new Error('there is no such worker');
    return worker;
  }

  #invalid(at: number, key: string): void {
    const whom = { kind: 'address', key, webhook: '', reason: 'invalid_requests' } as const;
    if (this.model.restriction(whom, this.#nowMs) !== null) return;
    const { counts, isDead } = this.#do(at, limiting => limiting.offences.invalidRequests.note(key));
    const rule = this.#snapshot.limits.invalidRequests;
    if (counts && rule !== null) this.model.offend(whom, rule, this.#nowMs, isDead);
  }

  #webhookNotFound(at: number, key: string, webhook: string): void {
    const whom = { kind: 'webhook', key, webhook, reason: 'webhook_not_found' } as const;
    if (this.model.restriction(whom, this.#nowMs) !== null) return;
    const { counts, isDead } = this.#do(at, limiting => limiting.offences.webhookNotFound.note(key, webhook));
    const rule = this.#snapshot.limits.webhookNotFound;
    if (counts && rule !== null) this.model.offend(whom, rule, this.#nowMs, isDead);
  }

  #request(at: number, address: string): void {
    const principal = this.#random.chance(0.5) ? this.#random.pick(PRINCIPALS) : null;
    const caller = principal ?? address;
    const kind = principal === null ? 'address' : 'principal';
    const client = { kind, key: caller, webhook: '', reason: 'ignored_refusals' } as const;
    if (this.model.restriction(client, this.#nowMs) !== null) return;
    const asked = this.#asked(caller);
    const { set, main, group, cost } = asked;
    const who = { caller, main, group, cost };
    let refused: Decision | null = null;
    const { counts, isDead } = this.#do(at, ({ local }) => {
      const decision = local.decide(set, caller, main, group, cost);
      if (!decision.admitted) refused = { ...decision };
    });
    if (!counts) return;
    const expected = this.model.limiter.decide(set, who, this.#nowMs);
    if (isDead) return;
    expect(told(refused)).toEqual(told(expected.admitted ? null : expected));
    if (refused !== null) this.#refused(at, asked, refused, { address, principal });
  }

  #refused(
    at: number,
    asked: Consumption,
    decision: Decision,
    sender: { address: string; principal: string | null },
  ): void {
    const { limiting } = this.#worker(at);
    noteRefusal(limiting.offences.ignoredRefusals, asked, decision, { ...sender, isPreflight: false });
    const { caller, main, set } = asked;
    const limit = decision.role && set[decision.role];
    const rule = this.#snapshot.limits.ignoredRefusals;
    if (limit === null || rule === null) throw new Error('refused by nothing');
    if (!this.model.ignores({ limit, caller, main }, decision.retryAfterMs, this.#nowMs)) return;
    const kind = sender.principal === null ? 'address' : 'principal';
    this.model.offend({ kind, key: caller, webhook: '', reason: 'ignored_refusals' }, rule, this.#nowMs);
  }

  #asked(caller: string): Consumption {
    const path = this.#random.chance(0.7) ? `/things/${this.#random.below(2)}` : '/';
    const callerClass = caller.startsWith('user:') ? 'user' : 'address';
    const request = { method: 'GET', host: '', path, callerClass, caller, claimed: null } as const;
    const asked = consumptionOf(this.#snapshot.limits, { ...request, consumes: 'all' });
    if (asked === null) throw new Error('no path of these has a claim');
    return asked;
  }

  #lift(): void {
    const client = this.#random.pick(CLIENTS);
    if (this.model.restriction(client, this.#nowMs) === null) return;
    const { restrictions } = this.#random.pick(this.#all);
    expect(restrictions.lift(digestOfWhom(client))).toBe(true);
    this.model.lift(client, this.#snapshot.limits);
  }

  #reload(): void {
    this.#snapshot = this.#random.pick(this.#snapshots);
    for (const limiting of this.#all) {
      followLimits(limiting.local, this.#snapshot.limits);
      limiting.apply(this.#snapshot.limits);
    }
  }

  /** Every thread refuses whom the model refuses, for as long and for its reason. */
  #compare(): void {
    for (const client of CLIENTS) {
      const { kind, key, webhook } = client;
      const { waitMs = 0, reason = '' } = this.model.restriction(client, this.#nowMs) ?? {};
      for (const { restrictions } of this.#all) {
        const wait =
          kind === 'webhook'
            ? restrictions.webhookWaitMs(key, webhook)
            : restrictions.waitMs(new KnownClient(kind, key));
        if (wait !== waitMs) throw new Error(`${nameOf(client)} waits ${wait} in place of ${waitMs} ms`);
        if (waitMs > 0 && kind !== 'webhook') expect(restrictions.reasonFor({ kind, key })).toBe(reason);
      }
    }
  }
}

/** What both say of a refusal; nothing of a request that is admitted. */
function told(decision: Pick<Decision, 'role' | 'retryAfterMs' | 'resetAfterMs'> | null) {
  return (
    decision && {
      role: decision.role,
      retryAfterMs: decision.retryAfterMs,
      resetAfterMs: decision.resetAfterMs,
    }
  );
}

function neverWait(): never {
  throw new Error('another thread is inside');
}

test(`in ${HISTORIES} histories, workers that share limits and offences, and of which some die, refuse whom one gateway would`, async () => {
  const seed = seedOfRun();
  const snapshots = [await snapshotOf(rules(3, 2, 3)), await snapshotOf(rules(5, 1, 2))] as const;
  let [deaths, restrictions] = [0, 0];
  for (let n = 0; n < HISTORIES; n++) {
    const history = new History(seed + n, snapshots);
    for (let step = 0; step < STEPS; step++) history.step();
    deaths += history.deaths;
    restrictions += history.model.restrictions;
  }
  expect(deaths).toBeGreaterThan(HISTORIES);
  expect(restrictions).toBeGreaterThan(5 * HISTORIES);
});
