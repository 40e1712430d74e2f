import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../../src/config/index.ts';
import { SharedMemory, type System, thisMachine } from '../../../../src/core/index.ts';
import { SharedPermits } from '../../../../src/limits/index.ts';
import { makeLogger } from '../../../../src/observe/index.ts';
import { ControlPlane } from '../../../../src/process/workers/control-plane.ts';
import type { PlaneHost } from '../../../../src/process/workers/index.ts';
import type { Link } from '../../../../src/process/workers/link.ts';
import { freePort } from '../../../support/free-port.ts';
import { writeGatewayConfig } from '../../../support/gateway.ts';
import { linkInThread } from '../../../support/in-thread-host.ts';
import { waitFor } from '../../../support/wait.ts';
import { FrozenClock } from '../../limits/frozen-clock.ts';
import { mainPartOf } from './thread-parts.ts';

const wait = () => {
  throw new Error('nobody waits here');
};

const AT_ONCE = Promise.resolve(null);

/** A control plane whose workers are played by the test. The second one prepares nothing, or fails when the test says so. */
async function playedWorkers(port: number, opened: Promise<null> = AT_ONCE, code: Promise<null> = AT_ONCE) {
  const listen = { http: `127.0.0.1:${port}`, admin: 'off' };
  const path = await writeGatewayConfig({ upstreamPort: 1, config: { workers: 2, listen } });
  const load = async (generation: number) => {
    const loaded = await loadConfig(path, { env: {}, generation });
    if (!loaded.ok) throw new Error('the configuration has errors');
    return loaded;
  };
  const clock = new FrozenClock();
  const system: System = { ...thisMachine, clock };
  const lines: string[] = [];
  const [starts, opens]: [number[], number[]] = [[], []];
  const prepares: {
    readonly generation: number;
    readonly done: () => void;
    readonly fail: (error: Error) => void;
  }[] = [];
  const told: string[] = [];
  const ends: number[] = [];
  const deaths = new Map<number, (cause: string) => void>();
  /** A test may answer otherwise for workers that start later. */
  const later: { play?: (inside: Link, worker: number) => void } = {};
  const host: PlaneHost = {
    wait,
    start({ worker }) {
      starts.push(worker);
      const [link, inside] = linkInThread();
      const { promise: ended, resolve } = Promise.withResolvers<string>();
      play(inside, worker);
      later.play?.(inside, worker);
      const die = (cause: string) => {
        link.close(cause);
        resolve(cause);
      };
      deaths.set(worker, die);
      const end = () => {
        ends.push(worker);
        die('it was ended');
      };
      return { link, ended, end };
    },
  };
  const play = (inside: Link, worker: number) => {
    inside.answer('load', () => (worker === 1 ? AT_ONCE : code));
    inside.answer('open', () => {
      opens.push(worker);
      return opened;
    });
    inside.answer('listen', async addresses => addresses);
    inside.answer('prepare', ({ generation }) => {
      const { promise, resolve, reject } = Promise.withResolvers<null>();
      if (worker === 1) resolve(null);
      else prepares.push({ generation, done: () => resolve(null), fail: reject });
      return promise;
    });
    inside.answer('drain', async () => true);
    for (const name of ['commit', 'discard'] as const)
      inside.on(name, generation => void told.push(`${worker}: ${name} ${generation}`));
  };
  const memory = SharedMemory.create(2, randomBytes, wait);
  const control = new ControlPlane({
    ...{ loaded: await load(1), host, system, memory },
    permits: new SharedPermits(memory, 16),
    part: mainPartOf(clock),
    log: makeLogger('info', { write: line => lines.push(line) }),
  });
  return { control, load, clock, lines, starts, opens, prepares, told, ends, deaths, later };
}

test('no worker reads the configuration before all have loaded their code', async () => {
  const code = Promise.withResolvers<null>();
  const { control, starts, opens } = await playedWorkers(0, AT_ONCE, code.promise);
  const listening = control.listen();
  await waitFor('both are started', () => starts.length === 2);
  await new Promise(setImmediate);
  expect(opens).toEqual([]);
  code.resolve(null);
  await listening;
  expect(opens).toEqual([1, 2]);
});

test('a worker that compiles for long and does not answer meanwhile is ended and replaced, and the reload goes on', async () => {
  const { control, load, clock, lines, starts, prepares, later } = await playedWorkers(0);
  let probes = 0;
  later.play = inside =>
    inside.answer('known', () => {
      probes++;
      return new Promise(() => {});
    });
  await control.listen();
  const prepared = control.prepare(await load(2));
  await waitFor('the second worker was asked', () => prepares.length === 1);
  clock.advance(20_000);
  await waitFor('it is asked whether it answers', () => probes === 1);
  clock.advance(10_000);
  await prepared;
  control.use((await load(2)).snapshot);
  await waitFor('it is replaced', () => starts.length === 3);
  expect(starts).toEqual([1, 2, 2]);
  expect(lines.join()).toContain('a worker hangs, and is ended');
});

test('a worker that lacks processor time, and answers while it compiles for minutes, keeps its clients', async () => {
  const { control, load, clock, lines, prepares, told, ends, later } = await playedWorkers(0);
  let probes = 0;
  later.play = inside =>
    inside.answer('known', async () => {
      probes++;
      return null;
    });
  await control.listen();
  const prepared = control.prepare(await load(2));
  await waitFor('the second worker was asked', () => prepares.length === 1);
  for (const minute of [1, 2, 3]) {
    clock.advance(60_000);
    await waitFor('it has answered, or was ended', () => probes === minute || ends.length > 0);
    await new Promise(setImmediate);
  }
  expect(ends).toEqual([]);
  prepares[0]?.done();
  await prepared;
  control.use((await load(2)).snapshot);
  expect(told).toEqual(['1: commit 2', '2: commit 2']);
  expect(lines.join()).not.toContain('a worker hangs');
});

test('workers begin with a configuration together once all have compiled it', async () => {
  const { control, load, prepares, told } = await playedWorkers(0);
  await control.listen();
  const prepared = control.prepare(await load(2));
  await waitFor('the second worker was asked', () => prepares.length === 1);
  await new Promise(setImmediate);
  expect(told).toEqual([]);
  prepares[0]?.done();
  await prepared;
  control.use((await load(2)).snapshot);
  expect(told).toEqual(['1: commit 2', '2: commit 2']);
});

test('a configuration that one worker cannot use is used by none', async () => {
  const { control, load, starts, prepares, told } = await playedWorkers(0);
  await control.listen();
  const prepared = control.prepare(await load(2));
  await waitFor('the second worker was asked', () => prepares.length === 1);
  prepares[0]?.fail(new Error('no memory'));
  await expect(prepared).rejects.toThrow('a worker cannot use it: no memory');
  const { snapshot } = await load(2);
  expect(() => control.use(snapshot)).toThrow('generation 2 was not prepared');
  expect(told.sort()).toEqual(['1: discard 2', '2: discard 2']);
  expect(starts).toEqual([1, 2]);
});

test('a reload that one worker refuses ends in all before it ends, so that the next, of the same number, meets no rest of it', async () => {
  const { control, load, prepares, told, later, clock } = await playedWorkers(0);
  const taking = Promise.withResolvers<null>();
  later.play = (inside, worker) => {
    if (worker === 1) inside.answer('prepare', () => taking.promise);
  };
  await control.listen();
  let over = false;
  const refused = control.prepare(await load(2)).finally(() => {
    over = true;
  });
  refused.catch(() => {});
  await waitFor('the second worker was asked', () => prepares.length === 1);
  prepares[0]?.fail(new Error('no memory'));
  await new Promise(setImmediate);
  expect([over, told]).toEqual([false, []]);
  taking.resolve(null);
  await expect(refused).rejects.toThrow('a worker cannot use it: no memory');
  expect(told.sort()).toEqual(['1: discard 2', '2: discard 2']);
  // No timer is left for a worker that has answered.
  expect(clock.isWaiting).toBe(false);
});

test('of two that start at the same moment at the same address one is refused, until the first listens', async () => {
  const port = await freePort();
  const opened = Promise.withResolvers<null>();
  const [first, second] = [await playedWorkers(port, opened.promise), await playedWorkers(port)];
  const listening = first.control.listen();
  await expect(second.control.listen()).rejects.toMatchObject({
    code: 'EADDRINUSE',
    syscall: 'listen',
    port,
  });
  opened.resolve(null);
  await listening;
  await second.control.listen();
});

/** The second worker has died. The one in its place answers this question when the test says so. */
async function replacing(question: 'open' | 'listen') {
  const played = await playedWorkers(0);
  const addresses = await played.control.listen();
  const asked = Promise.withResolvers<Link>();
  const answered = Promise.withResolvers<void>();
  played.later.play = inside => {
    const late = () => {
      asked.resolve(inside);
      return answered.promise;
    };
    if (question === 'open') inside.answer('open', () => late().then(() => null));
    else inside.answer('listen', () => late().then(() => addresses));
  };
  played.deaths.get(2)?.('a fault of a test');
  return { ...played, inside: await asked.promise, answer: answered.resolve };
}

test('a worker that begins to listen as all are drained finishes what it has accepted', async () => {
  const { control, ends, inside, answer } = await replacing('listen');
  const finished = Promise.withResolvers<boolean>();
  inside.answer('drain', () => finished.promise);
  const drained = control.drain(0, 1_000);
  answer();
  await new Promise(setImmediate);
  expect(ends).toEqual([]);
  finished.resolve(true);
  expect(await drained).toBe(true);
});

test('a worker that is being replaced as all are drained is ended, and nobody is told of an error', async () => {
  const { control, ends, lines } = await replacing('open');
  expect(await control.drain(0, 1_000)).toBe(true);
  await new Promise(setImmediate);
  expect(ends).toContain(2);
  expect(lines.join()).not.toContain('a worker cannot start');
});

test('what is asked of a worker that dies fails with its cause, without a stack of this side', async () => {
  const { control, opens, deaths } = await playedWorkers(0, new Promise(() => {}));
  const listening = control.listen();
  await waitFor('both are asked', () => opens.length === 2);
  deaths.get(2)?.('worker 2 ended: a fault of a test');
  await expect(listening).rejects.toMatchObject({ stack: 'worker 2 ended: a fault of a test' });
});

test('a worker that hangs as all are drained is ended five seconds after the time for that, which was then not enough', async () => {
  const { control, clock, ends, later } = await playedWorkers(0);
  const asked = Promise.withResolvers<void>();
  later.play = inside =>
    inside.answer('drain', () => {
      asked.resolve();
      return new Promise(() => {});
    });
  await control.listen();
  const drained = control.drain(1_000, 2_000);
  await asked.promise;
  clock.advance(7_999);
  await new Promise(setImmediate);
  expect(ends).toEqual([]);
  clock.advance(1);
  expect([await drained, ends]).toEqual([false, [1, 2]]);
});

test('a worker that dies while it drains is told, and the others finish', async () => {
  const { control, lines, starts, deaths, later } = await playedWorkers(0);
  later.play = (inside, worker) => {
    if (worker === 2) inside.answer('drain', () => new Promise(() => {}));
  };
  await control.listen();
  const drained = control.drain(0, 1_000);
  deaths.get(2)?.('a fault of a test');
  expect(await drained).toBe(false);
  await new Promise(setImmediate);
  expect(lines.join()).toContain('"a worker ended while it drained"');
  expect(starts).toEqual([1, 2]);
});
