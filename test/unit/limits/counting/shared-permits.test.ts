import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Owner, type Permits, ProcessPermits, SharedMemory, Words } from '../../../../src/core/index.ts';
import { SharedPermits } from '../../../../src/limits/counting/shared-permits.ts';
import { Random } from '../../../support/random.ts';
import { runs } from '../../../support/runs.ts';

const CAPACITY = 24;
const NAMES = ['requests', 'connections', 'requests to api'];

/** Planes of one thread never wait for each other: a lock that is taken is a mistake. */
function neverWait(): never {
  throw new Error('taken');
}

let main: SharedMemory;
let ofMain: SharedPermits;

function startMain(): void {
  main = SharedMemory.create(3, randomBytes, neverWait);
  ofMain = new SharedPermits(main, CAPACITY);
}

beforeEach(startMain);
afterEach(() => void vi.restoreAllMocks());

/** Five neighbours have an owner, and all of them another. */
function ownersOf(key: string): readonly Owner[] {
  const letters = { key: 'owner of letters', shares: 3 };
  const number = Number(key);
  return Number.isNaN(number) ? [letters] : [{ key: `owner ${number % 4}`, shares: 2 }, letters];
}

/** The permits of a worker that has just started. */
function start(worker: number, name = 'requests'): Permits {
  const memory = new SharedMemory(structuredClone(main.handover), worker, neverWait);
  return new SharedPermits(memory, CAPACITY).named(name);
}

/** Gives back what a worker held that is gone. */
function bury(worker: number): Promise<void> {
  main.recover(worker);
  return ofMain.giveBackAll(worker);
}

/** Has a thread die in the middle: before it writes a word for the `writes`th time. Returns false if it writes fewer. */
function dieInside(act: () => void, writes: number): boolean {
  const parts = [main.handover.control, ...main.handover.tables.values()].map(part => new Uint8Array(part));
  let left: Uint8Array[] | null = null;
  const { set } = Words.prototype;
  let written = 0;
  vi.spyOn(Words.prototype, 'set').mockImplementation(function (this: Words, at, value) {
    if (written++ === writes) {
      left = parts.map(part => part.slice());
      throw new Error('dead');
    }
    set.call(this, at, value);
  });
  try {
    act();
  } catch (error) {
    if (left === null) throw error;
  }
  vi.restoreAllMocks();
  for (const [index, part] of parts.entries()) part.set((left ?? [])[index] ?? part);
  return left !== null;
}

describe('permits that threads share', () => {
  test('are taken up to the cap by all together, and by each key up to its share', () => {
    const [one, two] = [start(1), start(2)];
    expect([one.take('a', 3, 2), two.take('a', 3, 2), one.take('a', 3, 2)]).toEqual([
      null,
      null,
      'share taken',
    ]);
    expect([two.take('b', 3, 2), one.take('c', 3, 2), one.take('a', 3, 2)]).toEqual([null, 'full', 'both']);
    two.giveBack('a');
    expect([one.taken, one.takenBy('a'), one.takenBy('c'), one.take('c', 3, 2)]).toEqual([2, 1, 0, null]);
  });

  test('of one name say nothing about those of another', () => {
    start(1).take('a', 1, 1);
    expect(start(2, 'connections').take('a', 1, 1)).toBe(null);
  });

  test('may have the empty key, which is not that of all', () => {
    const one = start(1);
    for (const key of ['', '', 'a']) one.take(key, 9, 9);
    expect([one.taken, one.takenBy('')]).toEqual([3, 2]);
  });

  test('come back when the thread that holds them dies, and its successor begins anew', async () => {
    const [one, two] = [start(1), start(2)];
    for (const key of ['a', 'a', 'b']) one.take(key, 4, 4);
    two.take('a', 4, 4);
    await bury(1);
    expect([two.taken, two.takenBy('a'), two.takenBy('b')]).toEqual([1, 1, 0]);
    const next = start(1);
    expect([next.take('a', 3, 3), next.take('a', 3, 3), next.take('a', 3, 3)]).toEqual([null, null, 'both']);
  });

  test('refuse nobody when the table is full: the thread counts what is new by itself', async () => {
    const [one, two] = [start(1), start(2)];
    for (let key = 0; key < CAPACITY - 1; key++) one.take(`${key}`, 99, 9);
    expect([one.take('new', 99, 2), one.take('new', 99, 2), one.take('new', 99, 2)]).toEqual([
      null,
      null,
      'share taken',
    ]);
    expect([one.taken, two.taken]).toEqual([CAPACITY + 1, CAPACITY - 1]);
    expect(two.take('new', 99, 2)).toBe(null);
    for (const permits of [one, one, two]) permits.giveBack('new');
    expect([one.taken, one.takenBy('new'), two.takenBy('new')]).toEqual([CAPACITY - 1, 0, 0]);
    await bury(1);
    expect([two.take('new', 99, 2), one.taken]).toEqual([null, 1]);
  });

  test('of any number of keys are given back at once for a thread that died, in memory whose journal is short', async () => {
    const keys = 9_000;
    const large = SharedMemory.create(1, randomBytes, neverWait);
    const permitsOfMain = new SharedPermits(large, 2 * keys);
    const memory = new SharedMemory(structuredClone(large.handover), 1, neverWait);
    const worker = new SharedPermits(memory, 2 * keys).named('requests');
    for (let key = 0; key < keys; key++) worker.take(`${key}`, keys, 1);
    expect(permitsOfMain.named('requests').taken).toBe(keys);
    await permitsOfMain.giveBackAll(1);
    expect(permitsOfMain.named('requests').taken).toBe(0);
    expect(permitsOfMain.named('requests').takenBy('0')).toBe(0);
  });

  test('are counted for all threads whichever record of the table their key has, the first included', () => {
    const small = SharedMemory.create(2, randomBytes, neverWait);
    new SharedPermits(small, 4);
    const [one, two] = [1, 2].map(worker => {
      const memory = new SharedMemory(structuredClone(small.handover), worker, neverWait);
      return new SharedPermits(memory, 4);
    });
    const [former, requests] = ['former', 'requests'].map(name => one?.named(name));
    former?.take('a', 9, 9);
    requests?.take('a', 9, 9);
    former?.giveBack('a');
    // The two keys take the first records, of the former name, in whichever order.
    for (const key of ['b', 'c']) {
      requests?.take(key, 9, 9);
      expect(two?.named('requests').takenBy(key)).toBe(1);
    }
  });

  test('that nobody has taken are not given back', () => {
    const [one, two] = [start(1), start(2)];
    one.giveBack('a');
    two.take('a', 9, 9);
    one.giveBack('b');
    expect([one.taken, two.taken, two.takenBy('a'), one.takenBy('b')]).toEqual([1, 1, 1, 0]);
  });

  test('are looked for in a chain that another thread changes meanwhile, and not for ever', () => {
    const small = SharedMemory.create(1, randomBytes, neverWait);
    const permits = new SharedPermits(small, 2).named('requests');
    permits.take('a', 9, 9);
    const records = small.handover.tables.get('permits');
    if (records === undefined) throw new Error('there is a table');
    // Both records come after themselves.
    const words = new Int32Array(records);
    const width = words.length / 2;
    words[0] = 1;
    words[width] = 2;
    expect(Array.from({ length: 20 }, (_, key) => permits.takenBy(`${key}`))).toEqual(Array(20).fill(0));
  });

  test('reserve no more than 256 MiB, however many threads and keys there may be', () => {
    const many = SharedMemory.create(256, randomBytes);
    const { capacity } = new SharedPermits(many, 6_000_000);
    expect(capacity).toBeGreaterThan(200_000);
    const bytes = Array.from(many.handover.tables.values(), ({ byteLength }) => byteLength);
    expect(Math.max(...bytes)).toBeLessThanOrEqual(256 * 2 ** 20);
  });

  test('find room for any number of keys, one after another', () => {
    const one = start(1);
    for (let key = 0; key < 10 * CAPACITY; key++) {
      expect(one.take(`${key}`, 9, 9)).toBe(null);
      one.giveBack(`${key}`);
    }
    expect(start(2).take('last', 1, 1)).toBe(null);
  });

  test('are apart where the hashes of names or keys differ in one half alone', () => {
    const hashOf = (low: number, high: number) => ({ key: '', low, high, at: -1 });
    const hashes = [
      [1, 2],
      [1, 3],
      // In the same chain as the first.
      [1 + 2 ** 16, 2],
    ].map(([low = 0, high = 0]) => hashOf(low, high));
    const pairs = hashes.flatMap(name => hashes.map(key => [name, key] as const));
    main.whole(() => {
      for (const [name, key] of pairs) {
        expect(ofMain.find(name, { ...key })).toBe(-1);
        const at = ofMain.open(name, { ...key }, []);
        ofMain.add(at, 1);
        expect(ofMain.find(name, { ...key })).toBe(at);
      }
    });
    const found = pairs.map(([name, key]) => ofMain.find(name, { ...key }));
    expect(new Set(found).size).toBe(pairs.length);
  });

  test('are counted anew where the record of their key was given back, and nobody has taken it since', () => {
    const [one, two] = [start(1), start(2, 'connections')];
    for (const key of ['a', 'b']) one.take(key, 9, 9);
    for (const key of ['a', 'b']) one.giveBack(key);
    two.take('c', 9, 9);
    for (const key of ['a', 'b']) {
      expect(one.take(key, 9, 9)).toBe(null);
      expect(one.takenBy(key)).toBe(1);
    }
    expect([one.taken, two.taken, two.takenBy('c')]).toEqual([2, 1, 1]);
  });

  test('are given back by the thread that counts them itself before those in the table', () => {
    const [one, two] = [start(1), start(2)];
    for (let key = 0; key < CAPACITY - 1; key++) two.take(`${key}`, 99, 9);
    one.take('new', 99, 9);
    two.giveBack('0');
    // Now there is room, and one permit of the same key is in the table.
    one.take('new', 99, 9);
    expect([one.takenBy('new'), two.takenBy('new'), two.taken]).toEqual([2, 1, CAPACITY - 1]);
    one.giveBack('new');
    expect([one.takenBy('new'), two.takenBy('new')]).toEqual([1, 1]);
    one.giveBack('new');
    expect([one.takenBy('new'), two.takenBy('new'), one.taken]).toEqual([0, 0, CAPACITY - 2]);
  });

  test('are taken by any number of keys, of which a thread remembers the hashes of a thousand', () => {
    const placeOf = vi.spyOn(SharedPermits.prototype, 'placeOf');
    const one = start(1);
    for (let key = 0; key < 5_000; key++) expect(one.takenBy(`${key}`)).toBe(0);
    placeOf.mockClear();
    one.take('4999', 9, 9);
    one.takenBy('4998');
    expect(placeOf).not.toHaveBeenCalled();
    for (let key = 0; key < 5_000; key++) one.takenBy(`${key}`);
    expect(placeOf.mock.calls.length).toBeGreaterThan(3_900);
  });

  test('are found where they are now, not where a thread found them before', () => {
    const [one, two] = [start(1), start(2)];
    const keys = Array.from({ length: CAPACITY }, (_, key) => `${key}`);
    one.take('moved', 99, 9);
    one.giveBack('moved');
    for (const key of keys) two.take(key, 99, 9);
    for (const key of keys) two.giveBack(key);
    expect([two.take('moved', 99, 9), one.takenBy('moved'), one.take('moved', 99, 1)]).toEqual([
      null,
      1,
      'share taken',
    ]);
    expect(keys.map(key => one.takenBy(key))).toEqual(keys.map(() => 0));
  });
});

test.each<[string, (permits: Permits) => void]>([
  ['takes its first permit', permits => permits.take('new', 9, 9)],
  ['takes one more', permits => permits.take('a', 9, 9)],
  ['takes one as the first of a name', () => start(1, 'connections').take('a', 9, 9)],
  ['gives one back', permits => permits.giveBack('a')],
])('a thread that dies while it %s leaves everything in order, at whichever step', async (_, act) => {
  for (let writes = 0; ; writes++) {
    startMain();
    const [one, two] = [start(1), start(2)];
    for (const permits of [one, one, two]) permits.take('a', 9, 9);
    // Leaves something to clean up.
    for (const key of ['x', 'y', 'z']) two.take(key, 9, 9);
    for (const key of ['x', 'y', 'z']) two.giveBack(key);
    if (!dieInside(() => act(one), writes)) {
      expect(writes).toBeGreaterThan(3);
      return;
    }
    expect(() => two.take('b', 9, 9)).toThrow('taken');
    main.recover(1);
    expect([two.taken, two.takenBy('a'), two.takenBy('new')]).toEqual([3, 3, 0]);
    await bury(1);
    expect([two.taken, two.takenBy('a')]).toEqual([1, 1]);
    for (let key = 0; key < 10; key++) expect(two.take(`${key}`, 11, 1)).toBe(null);
    expect(two.take('b', 11, 1)).toBe('full');
  }
});

test('hold for any history of three threads, with deaths, as permits of one process would', async () => {
  const random = new Random(7);
  const model = new Map(NAMES.map(name => [name, new ProcessPermits()]));
  const workers = [1, 2, 3];
  const planes = new Map(workers.map(worker => [worker, planeOf(worker)]));
  const held: { readonly worker: number; readonly name: string; readonly key: string }[] = [];
  for (let step = 0; step < runs(20_000, 5_000); step++) {
    const name = random.pick(NAMES);
    const worker = random.pick(workers);
    const permits = planes.get(worker)?.get(name);
    const same = model.get(name);
    if (permits === undefined || same === undefined) throw new Error('no such plane');
    const chance = random.next();
    if (chance < 0.55) {
      const key = random.pick(['a', 'b', 'c', 'd']);
      const [max, share] = [3 + random.below(5), 1 + random.below(4)];
      const none = permits.take(key, max, share, ownersOf(key));
      expect(none).toBe(same.take(key, max, share, ownersOf(key)));
      if (none === null) held.push({ worker, name, key });
    } else if (chance < 0.99) {
      const at = held.findIndex(permit => permit.worker === worker && permit.name === name);
      const [permit] = at < 0 ? [] : held.splice(at, 1);
      if (permit === undefined) continue;
      permits.giveBack(permit.key, ownersOf(permit.key));
      same.giveBack(permit.key, ownersOf(permit.key));
    } else {
      const key = random.pick(['a', 'e']);
      dieInside(() => permits.take(key, 99, 99, ownersOf(key)), random.below(12));
      for (const permit of held.filter(permit => permit.worker === worker))
        model.get(permit.name)?.giveBack(permit.key, ownersOf(permit.key));
      held.splice(0, held.length, ...held.filter(permit => permit.worker !== worker));
      await bury(worker);
      planes.set(worker, planeOf(worker));
    }
    for (const key of ['a', 'b', 'c', 'd', 'e', 'owner of letters'])
      expect(permits.takenBy(key)).toBe(same.takenBy(key));
    expect(permits.taken).toBe(same.taken);
  }
});

test('count for any history of one thread, however full the table is, as permits of one process would', () => {
  const random = new Random(11);
  const one = planeOf(1);
  const model = new Map(NAMES.map(name => [name, new ProcessPermits()]));
  const held: { readonly name: string; readonly key: string }[] = [];
  for (let step = 0; step < 4_000; step++) {
    const name = random.pick(NAMES);
    const [permits, same] = [one.get(name), model.get(name)];
    if (permits === undefined || same === undefined) throw new Error('no such name');
    // Goes through times in which most records are in use, and times in which few are.
    if (random.next() < (step % 400 < 200 ? 0.7 : 0.3)) {
      const key = `${random.below(20)}`;
      const [max, share] = [1 + random.below(30), 1 + random.below(3)];
      const none = permits.take(key, max, share, ownersOf(key));
      expect(none).toBe(same.take(key, max, share, ownersOf(key)));
      if (none === null) held.push({ name, key });
    } else {
      const [permit] = held.splice(random.below(held.length || 1), 1);
      if (permit === undefined) continue;
      one.get(permit.name)?.giveBack(permit.key, ownersOf(permit.key));
      model.get(permit.name)?.giveBack(permit.key, ownersOf(permit.key));
    }
    for (const each of NAMES) expect(one.get(each)?.taken).toBe(model.get(each)?.taken);
    const key = random.pick([`${random.below(20)}`, 'owner of letters', `owner ${random.below(4)}`]);
    expect(permits.takenBy(key)).toBe(same.takenBy(key));
  }
});

test('a permit counts once where its key has a record without permits, and its name has none and finds no room', () => {
  const [one, two] = [start(1, 'connections'), start(2)];
  for (let key = 0; key < CAPACITY - 2; key++) two.take(`${key}`, 99, 9);
  const [name, key] = ['connections', 'a'].map(text => ofMain.placeOf(text));
  if (name === undefined || key === undefined) throw new Error('there are two');
  main.whole(() => ofMain.open(name, key, []));
  expect(one.take('a', 1, 9)).toBe(null);
  expect([one.taken, one.takenBy('a'), one.take('b', 1, 9)]).toEqual([1, 1, 'full']);
  one.giveBack('a');
  expect([one.taken, one.takenBy('a'), two.taken]).toEqual([0, 0, CAPACITY - 2]);
});

/** What a worker counts, by name. */
function planeOf(worker: number): Map<string, Permits> {
  return new Map(NAMES.map(name => [name, start(worker, name)]));
}
