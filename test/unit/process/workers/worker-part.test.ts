import { randomBytes } from 'node:crypto';
import { MessageChannel } from 'node:worker_threads';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Snapshot } from '../../../../src/config/index.ts';
import type {
  Fact,
  Holder,
  MainPart,
  ProcessPart,
  RestrictionEvent,
  RestrictionReason,
} from '../../../../src/core/index.ts';
import { digestOf } from '../../../../src/core/index.ts';
import { Limiting } from '../../../../src/gateway/runtime/index.ts';
import { sharedClaims } from '../../../../src/gateway/runtime/replication.ts';
import { REVOCATION_LIMITS, Revocations } from '../../../../src/identity/auth/index.ts';
import { digestOfWhom, NONE_ELSEWHERE } from '../../../../src/limits/index.ts';
import { makeLogger } from '../../../../src/observe/index.ts';
import { lateLog } from '../../../../src/process/workers/late-log.ts';
import { type Packet, PacketLink } from '../../../../src/process/workers/link.ts';
import { connectWorker } from '../../../../src/process/workers/worker-part.ts';
import { linkInThread } from '../../../support/in-thread-host.ts';
import { Random } from '../../../support/random.ts';
import { anAddress } from '../../../support/restricted-clients.ts';
import { runs, seedOfRun } from '../../../support/runs.ts';
import { waitFor } from '../../../support/wait.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';
import { mainPartOf, quietListener, quietStoreListener, snapshotOf, workerPartOf } from './thread-parts.ts';

const SESSION = { subject: null, session: 'session', unnamedSessions: null };

const ADDRESS = '192.0.2.1';
const ISSUER = 'https://id.example.com/realms/main';
const RULE = 'global: off\ninvalid_requests: { limit: 2/10m, restrict_for: 10m }\n';
const quiet = () => {};

let clock: FrozenClock;
let hub: MainPart;
let snapshot: Snapshot;
/** What the process reports. */
let told: string[];
/** How many answers went out before all knew. */
let lateAnswers: number;
const late = () => void lateAnswers++;

beforeEach(async () => {
  clock = new FrozenClock();
  hub = mainPartOf(clock, { late });
  told = [];
  lateAnswers = 0;
  snapshot = await snapshotOf(RULE);
});

const tell =
  (what: string) =>
  ({ key }: Pick<RestrictionEvent, 'kind'> & { readonly key: string | null }) =>
    void told.push(`${what} ${key}`);

const listener = {
  ...quietListener,
  ...{ restricted: tell('restricted'), prolonged: tell('prolonged'), released: tell('released') },
  evicted: tell('evicted'),
};

/** What a thread knows. */
class Plane {
  readonly part: ProcessPart;
  readonly limiting: Limiting;
  readonly revocations = new Revocations(REVOCATION_LIMITS, clock, quiet);

  constructor(part: ProcessPart) {
    this.part = part;
    const others = { listener, storeListener: quietStoreListener, inFlightElsewhere: NONE_ELSEWHERE };
    const dependencies = { clock, randomBytes, ...others, limitKeys: 100, part };
    this.limiting = new Limiting(snapshot.limits, dependencies);
    this.limiting.shareRevocations(this.revocations);
    this.revocations.of(ISSUER).use({ notBeforeS: 0, leewayS: 0, maxLifetimeS: 86_400 });
  }

  restrict(key = ADDRESS, forMs = 600_000, reason: RestrictionReason = 'invalid_requests'): void {
    this.limiting.restrictions.restrict({ ...offenceOf(key), reason }, forMs);
  }

  reason(): RestrictionReason {
    return this.limiting.restrictions.reasonFor({ kind: 'address', key: ADDRESS });
  }

  waitMs(): number {
    return this.limiting.restrictions.waitMs(anAddress(ADDRESS));
  }

  /** Ends a session, and tells the others. */
  signOut(): void {
    this.revocations.of(ISSUER).endSession('session');
  }

  get refusesSession(): boolean {
    const issuedAtS = Math.floor(clock.epochMs() / 1_000) - 1;
    return this.revocations.of(ISSUER).refusal({ ...SESSION, issuedAtS }) !== null;
  }

  /** Whether it refuses each of these addresses. */
  refuses(...keys: readonly string[]): readonly boolean[] {
    return keys.map(key => this.limiting.restrictions.isRestricted(offenceOf(key)));
  }
}

const offenceOf = (key: string) =>
  ({ kind: 'address', key, webhook: '', reason: 'invalid_requests' }) as const;
const digestOfAddress = (key: string) => digestOfWhom({ kind: 'address', key, webhook: '' });

function mainPlane(): Plane {
  return new Plane(hub);
}

function worker(): Plane {
  const [mine, other] = linkInThread();
  connectWorker(hub, mine);
  return new Plane(workerPartOf(other, clock, { late }));
}

describe('a restriction', () => {
  test('holds in the thread that decides, and then in all, and is reported once', () => {
    const [main, one, two] = [mainPlane(), worker(), worker()];
    one.restrict();
    for (const plane of [main, one, two]) expect(plane.refuses(ADDRESS, '192.0.2.2')).toEqual([true, false]);
    expect(told).toEqual([`restricted ${ADDRESS}`]);
    // The process knows its client by name, though no other thread has seen it.
    expect(main.limiting.restrictions.listed.byName(9)).toMatchObject([{ key: ADDRESS }]);
    expect([main, one, two].map(({ limiting }) => limiting.sharing.adopted)).toEqual([0, 0, 0]);
  });

  test('is known to a worker that starts later, or in place of a dead one, and the dead one is told no more', () => {
    mainPlane();
    const [mine, other] = linkInThread();
    const disconnect = connectWorker(hub, mine);
    const dead = new Plane(workerPartOf(other, clock, { late }));
    dead.restrict();
    disconnect();
    const next = worker();
    next.restrict('192.0.2.2');
    expect([next, dead].map(plane => plane.refuses(ADDRESS, '192.0.2.2'))).toEqual([
      [true, true],
      [true, false],
    ]);
  });

  test('that is lifted by one is over in all, and one that began after the lift is not', () => {
    const [main, one, two] = [mainPlane(), worker(), worker()];
    one.restrict();
    expect(main.limiting.restrictions.lift(digestOfAddress(ADDRESS))).toBe(true);
    for (const plane of [main, one, two]) expect(plane.refuses(ADDRESS)).toEqual([false]);
    expect(told).toEqual([`restricted ${ADDRESS}`, `released ${ADDRESS}`]);
    two.restrict();
    for (const plane of [main, one, two, worker()]) expect(plane.refuses(ADDRESS)).toEqual([true]);
  });
});

/** Three workers whose packets wait until the test hands one over. */
function slowWorkers() {
  const lines: Line[] = [];
  const links: { readonly mine: PacketLink; readonly other: PacketLink }[] = [];
  const planes = [1, 2, 3].map(() => {
    const toMain: Packet[] = [];
    const toWorker: Packet[] = [];
    const mine = new PacketLink(packet => toWorker.push(structuredClone(packet)));
    const other = new PacketLink(packet => toMain.push(structuredClone(packet)));
    lines.push({ to: mine, packets: toMain }, { to: other, packets: toWorker });
    links.push({ mine, other });
    connectWorker(hub, mine);
    return new Plane(workerPartOf(other, clock, { late }));
  });
  return { planes, lines, links };
}

interface Line {
  readonly to: PacketLink;
  readonly packets: Packet[];
}

/** Answers are made in later microtasks. */
const settle = () => new Promise(setImmediate);

/** Asks a thread to say when all know. */
function asked({ part }: Plane): { readonly isAnswered: boolean } {
  const answer = { isAnswered: false };
  void part.allKnow().then(() => {
    answer.isAnswered = true;
  });
  return answer;
}

function handOver({ to, packets }: Line): void {
  const packet = packets.shift();
  if (packet !== undefined) to.take(packet);
}

test('whatever order threads hear of restrictions and lifts in, they come to agree', () => {
  const random = new Random(seedOfRun());
  const keys = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
  const outcomes = new Set<string>();
  for (let round = 0; round < runs(200); round++) {
    hub = mainPartOf(clock, { late });
    const main = mainPlane();
    const { planes: workers, lines } = slowWorkers();
    const planes = [main, ...workers];
    for (let step = 0; step < 60; step++) {
      const [plane, key] = [random.pick(planes), random.pick(keys)];
      if (random.chance(0.2)) plane.restrict(key);
      else if (random.chance(0.1)) plane.limiting.restrictions.lift(digestOfAddress(key));
      else handOver(random.pick(lines));
    }
    while (lines.some(({ packets }) => packets.length > 0)) for (const line of lines) handOver(line);
    const [first = []] = planes.map(plane => plane.refuses(...keys));
    for (const plane of planes) expect(plane.refuses(...keys)).toEqual(first);
    outcomes.add(first.join());
  }
  expect(outcomes.size).toBeGreaterThan(3);
});

test('a revocation that one worker learns refuses the token at all, also at one that starts later', () => {
  const planes = [mainPlane(), worker(), worker()];
  const nowS = Math.floor(clock.epochMs() / 1_000);
  planes[1]?.revocations.of(ISSUER).endSession('session', nowS);
  const refusals = [...planes, worker()].map(({ revocations }) =>
    revocations.of(ISSUER).refusal({ ...SESSION, issuedAtS: nowS - 1 }),
  );
  expect(refusals).toEqual(Array(4).fill('signed_out'));
});

describe('an answer that says what a thread has learnt', () => {
  test('waits until all threads that serve know, in whatever order they are told and begin to serve', async () => {
    const random = new Random(seedOfRun());
    const rounds = runs(100);
    let begunLater = 0;
    for (let round = 0; round < rounds; round++) {
      hub = mainPartOf(clock, { late });
      const serving = new Set([mainPlane()]);
      const { planes, lines, links } = slowWorkers();
      let answer: ReturnType<typeof asked> | null = null;
      const expectRefusals = () => {
        if (answer?.isAnswered) for (const each of serving) expect(each.refusesSession).toBe(true);
      };
      for (const [at, plane] of planes.entries()) {
        links[at]?.other.answer('load', async () => null);
        links[at]?.other.on('commit', () => {
          if (answer?.isAnswered) begunLater++;
          serving.add(plane);
          expectRefusals();
        });
        void links[at]?.mine.ask('load', null).then(() => links[at]?.mine.post('commit', 1));
      }
      const signsOutAt = random.below(30);
      for (let step = 0; answer === null || lines.some(({ packets }) => packets.length > 0); step++) {
        if (step === signsOutAt) {
          const plane = random.pick([...serving]);
          plane.signOut();
          answer = asked(plane);
        }
        handOver(random.pick(lines));
        if (random.chance(0.5) || lines.every(({ packets }) => packets.length === 0)) await settle();
        expectRefusals();
      }
      expect([answer.isAnswered, serving.size]).toEqual([true, 4]);
    }
    expect([lateAnswers, clock.isWaiting]).toEqual([0, false]);
    expect(begunLater).toBeGreaterThan(rounds / 10);
  });

  test.each([0, 1])('waits a second for one that hangs, and goes out then (thread %i)', async at => {
    const main = mainPlane();
    const { planes: workers, lines } = slowWorkers();
    const deliver = async (some: readonly Line[]) => {
      for (let turn = 0; turn < 5; turn++) {
        for (const line of some) while (line.packets.length > 0) handOver(line);
        await settle();
      }
    };
    await deliver(lines);
    const plane = [main, ...workers][at] ?? main;
    plane.signOut();
    const answer = asked(plane);
    await deliver(lines.slice(0, 4));
    expect([main, ...workers].map(each => each.refusesSession)).toEqual([true, true, true, false]);
    clock.advance(999);
    await settle();
    expect([answer.isAnswered, lateAnswers]).toEqual([false, 0]);
    clock.advance(1);
    await settle();
    expect([answer.isAnswered, lateAnswers]).toEqual([true, 1]);
    await deliver(lines);
    expect(workers[2]?.refusesSession).toBe(true);
  });

  test('does not wait for the main thread if that hangs, for longer than a second', async () => {
    mainPlane();
    const [worker] = slowWorkers().planes;
    const answer = worker && asked(worker);
    clock.advance(1_000);
    await settle();
    expect([answer?.isAnswered, lateAnswers]).toEqual([true, 1]);
  });

  test('does not wait for one that dies meanwhile, nor for the one in its place before that serves, which knows then', async () => {
    const main = mainPlane();
    const [mine, other] = [new PacketLink(() => {}), new PacketLink(() => {})];
    const disconnect = connectWorker(hub, mine);
    const dead = new Plane(workerPartOf(other, clock, { late }));
    mine.take({ kind: 'message', name: 'wanted', value: 'revocation' });
    main.signOut();
    const answer = asked(main);
    await settle();
    expect(answer.isAnswered).toBe(false);
    mine.close('it died');
    disconnect();
    const packets: Packet[] = [];
    const link = new PacketLink(packet => packets.push(packet));
    connectWorker(hub, link);
    await settle();
    expect([answer.isAnswered, dead.refusesSession]).toEqual([true, false]);
    const another = asked(main);
    await settle();
    expect([another.isAnswered, packets, lateAnswers]).toEqual([true, [], 0]);
    expect(worker().refusesSession).toBe(true);
  });

  test('that did not wait for all is a line of the log, once a minute', () => {
    const lines: string[] = [];
    const note = lateLog(makeLogger('info', { write: line => lines.push(line) }), clock);
    for (let answers = 0; answers < 3; answers++) note();
    clock.advance(60_000);
    note();
    const told = lines.map(line => JSON.parse(line));
    expect(told).toMatchObject([1, 3].map(answers => ({ type: 'worker', answers, waitedMs: 1_000 })));
  });

  test('waits for nobody where there are no workers', async () => {
    const answer = asked(mainPlane());
    await Promise.resolve();
    await settle();
    expect(answer.isAnswered).toBe(true);
  });
});

test('a name is claimed by one thread of all, until its time is over', async () => {
  const [main, one, two] = [mainPlane(), worker(), worker()];
  const claims = await Promise.all([one, main, two, one].map(each => each.limiting.claim('a notice', 1_000)));
  expect(claims).toEqual([true, false, false, false]);
  clock.advance(1_000);
  expect(await two.limiting.claim('a notice', 1_000)).toBe(true);
});

describe('beside other processes', () => {
  let posted: Fact[];
  let withdrawn: string[];
  let topics: Map<string, Holder<Fact>>;
  let claimed: string[];
  let claim: Limiting['claim'];
  /** The main thread as one of several processes. */
  let main: Plane;

  beforeEach(() => {
    [posted, withdrawn, topics, claimed] = [[], [], new Map(), []];
    hub.carry({
      join: (topic, holder) => void topics.set(topic, holder),
      post: fact => void posted.push(fact),
      withdraw: name => void withdrawn.push(name),
    });
    main = mainPlane();
    claim = sharedClaims(hub, clock, { claim: async name => claimed.push(name) === 1 });
  });

  const names = () => posted.map(({ name }) => name.split(':').slice(0, 3).join(':'));
  const tellOfRestriction = () =>
    topics
      .get('restriction')
      ?.learn({ name: `address:invalid_requests:${digestOfAddress(ADDRESS)}`, value: 0, forMs: 60_000 });

  test('they are told what any thread learns', () => {
    const one = worker();
    one.restrict();
    main.restrict('192.0.2.2');
    expect(names()).toEqual(['restriction:address:invalid_requests', 'restriction:address:invalid_requests']);
    expect([...topics.keys()].sort()).toEqual(['lift', 'reset', 'restriction', 'revocation']);
  });

  test('their restrictions are known to all threads; the first to meet a client names it to the others', async () => {
    const [one, two] = [worker(), worker()];
    tellOfRestriction();
    expect(told).toEqual([]);
    await waitFor('the workers know', async () => one.refuses(ADDRESS)[0] === true);
    expect(told).toEqual([`restricted ${ADDRESS}`]);
    expect(main.limiting.restrictions.listed.byName(9)).toMatchObject([{ key: ADDRESS }]);
    expect(two.refuses(ADDRESS)).toEqual([true]);
    expect([told.length, posted.length]).toEqual([1, 0]);
  });

  test('an answer that says what this process has heard from them waits until its threads know, too', async () => {
    const one = worker();
    const value = Math.floor(clock.epochMs() / 1_000) + 1;
    topics.get('revocation')?.learn({ name: `session:${digestOf(ISSUER)}:session`, value, forMs: 60_000 });
    main.signOut();
    expect([posted, main.refusesSession, one.refusesSession]).toEqual([[], true, false]);
    await main.part.allKnow();
    expect(one.refusesSession).toBe(true);
  });

  test('they are told what is superfluous, and claims are theirs as well', async () => {
    const nowS = Math.floor(clock.epochMs() / 1_000);
    const one = worker();
    const sessions = one.revocations.of(ISSUER);
    for (let n = 0; n <= REVOCATION_LIMITS.maxEntries; n++) sessions.endSession(`session ${n}`, nowS);
    expect(withdrawn).toContainEqual(expect.stringMatching(/^revocation:session:.*:session 0$/));
    expect(await one.limiting.claim('a notice', 1_000)).toBe(true);
    clock.advance(1_000);
    expect([await claim('a notice', 1_000), claimed]).toEqual([false, ['a notice', 'a notice']]);
  });
});

test('it works over the ports of threads as well', async () => {
  const main = mainPlane();
  const workers = [1, 2].map(() => {
    const { port1, port2 } = new MessageChannel();
    onTestFinished(() => port1.close());
    const mine = new PacketLink(packet => port1.postMessage(packet));
    const other = new PacketLink(packet => port2.postMessage(packet));
    port1.on('message', (packet: Packet) => mine.take(packet));
    port2.on('message', (packet: Packet) => other.take(packet));
    connectWorker(hub, mine);
    return new Plane(workerPartOf(other, clock, { late }));
  });
  const [one, two] = workers;
  one?.restrict();
  await waitFor('the other thread refuses', async () => two?.refuses(ADDRESS)[0] === true);
  expect(main.refuses(ADDRESS)).toEqual([true]);
  expect(await two?.limiting.claim('a notice', 1_000)).toBe(true);
  expect(await one?.limiting.claim('a notice', 1_000)).toBe(false);
});
