import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type Owner, ownMemory, SharedMemory, thisMachine } from '../../../../src/core/index.ts';
import { Buffered, type Holding } from '../../../../src/edge/server/buffered.ts';

const MIB = 1_048_576;
const CLIENT_READ_MS = 60_000;

/** Waits for the end of this turn of the event loop, when memory is freed. */
const turn = () => new Promise<void>(resolve => setImmediate(resolve));

/** An account without a kernel to ask, whose connections are swept twice a second. */
class Account {
  readonly buffered: Buffered;
  readonly ended: string[] = [];
  readonly told: (readonly [connections: number, bytes: number])[] = [];
  readonly #clients: Client[] = [];
  nowMs = 0;

  constructor(
    capBytes: number,
    ownersOf: (address: string) => readonly Owner[] = key => [{ key, shares: 1 }],
    memory = ownMemory(thisMachine.randomBytes),
  ) {
    const files = { ...thisMachine.files, open: () => Promise.reject(new Error('no kernel')) };
    const listener = {
      buffersFull: (connections: number, bytes: number) => void this.told.push([connections, bytes]),
    };
    this.buffered = new Buffered({ memory, files, listener });
    this.buffered.use({ capBytes, ownersOf });
  }

  client(name: string, address = '192.0.2.1'): Client {
    const client = new Client(this, name, address);
    this.#clients.push(client);
    return client;
  }

  /** Lets time go by. Each client takes so many bytes a second. */
  pass(ms: number): void {
    for (const end = this.nowMs + ms; this.nowMs < end; ) {
      this.nowMs += 500;
      for (const client of this.#clients) client.sweep(this.nowMs);
      this.buffered.sweep(this.nowMs, CLIENT_READ_MS);
    }
  }
}

class Client {
  readonly holding: Holding;
  readonly socket = { remoteAddress: '192.0.2.1', remotePort: 1 } as Socket;
  takenBytes = 0;
  bytesPerS = 0;
  readonly #account: Account;
  readonly #name: string;

  constructor(account: Account, name: string, address: string) {
    this.#account = account;
    this.#name = name;
    this.holding = account.buffered.open(this, address);
  }

  reads(bytesPerS: number): this {
    this.bytesPerS = bytesPerS;
    return this;
  }

  holds(bytes: number): this {
    this.holding.set(bytes);
    return this;
  }

  sweep(nowMs: number): void {
    this.takenBytes += this.bytesPerS / 2;
    if (this.holding.bytes > 0)
      this.holding.isTooSlow(nowMs, { clientReadMs: CLIENT_READ_MS, minBytesPerS: null });
  }

  /** What was written since the last count. */
  written = 0;

  count(): void {
    this.holding.set(this.holding.bytes - this.written);
    this.written = 0;
  }

  cut(): void {
    this.#account.ended.push(this.#name);
  }
}

describe('what is held', () => {
  test('is the sum of all connections, to the KiB', () => {
    const account = new Account(10 * MIB);
    const one = account.client('one').holds(1_000_000);
    account.client('two').holds(24_576);
    expect(account.buffered.bytes).toBe(1_001 * 1_024);
    one.holds(0);
    expect(account.buffered.bytes).toBe(24_576);
  });

  test('ends nobody up to the cap', async () => {
    const account = new Account(10 * MIB);
    for (let n = 0; n < 10; n++) account.client(`${n}`).holds(MIB);
    account.pass(30_000);
    await turn();
    expect(account.ended).toEqual([]);
    expect(account.told).toEqual([]);
  });

  test('ends connections beyond the cap until a sixteenth of it is free, and says so once', async () => {
    const account = new Account(16 * MIB);
    for (let n = 0; n < 16; n++) account.client(`${n}`).holds(MIB);
    account.pass(30_000);
    account.client('last').holds(MIB);
    await turn();
    expect(account.ended).toHaveLength(2);
    expect(account.ended).not.toContain('last');
    expect(account.told).toEqual([[2, 2 * MIB]]);
    expect(account.buffered.bytes).toBe(15 * MIB);
  });

  test('ends the slowest readers first, of equals those that hold most', async () => {
    const account = new Account(10 * MIB);
    account
      .client('fast')
      .holds(4 * MIB)
      .reads(1_000_000);
    account.client('phone').holds(MIB).reads(10_000);
    account.client('small').holds(MIB);
    account.client('large').holds(2 * MIB);
    account
      .client('trickle')
      .holds(2 * MIB)
      .reads(10);
    account.pass(30_000);
    account.client('new').holds(MIB);
    await turn();
    expect(account.ended).toEqual(['large']);
    account.client('newer').holds(3 * MIB);
    await turn();
    expect(account.ended).toEqual(['large', 'small', 'trickle']);
    account.client('newest').holds(6 * MIB);
    await turn();
    // Nobody knows yet how fast these read.
    expect(account.ended.slice(3)).toEqual(['newest']);
    account.client('more').holds(4 * MIB);
    account.pass(30_000);
    await turn();
    expect(account.ended.slice(4)).toEqual(['more']);
  });

  test('spares who reads, even if a flood fills the account at once', async () => {
    const account = new Account(10 * MIB);
    account.client('phone').holds(MIB).reads(10_000);
    account.pass(30_000);
    for (let n = 0; n < 200; n++) account.client(`flood-${n}`).holds(MIB);
    await turn();
    expect(account.ended).not.toContain('phone');
    expect(account.buffered.bytes).toBeLessThanOrEqual(10 * MIB);
  });

  test('spares a slow reader that is a few seconds old when a flood comes', async () => {
    const account = new Account(10 * MIB);
    account.client('young').holds(MIB).reads(50_000);
    account.pass(3_000);
    for (let n = 0; n < 200; n++) account.client(`flood-${n}`).holds(MIB);
    account.pass(20_000);
    for (let n = 0; n < 200; n++) account.client(`later-${n}`).holds(MIB);
    account.pass(20_000);
    await turn();
    expect(account.ended).not.toContain('young');
  });

  test('knows a slow reader again that held nothing for a moment, and whose kernel takes much now and then', async () => {
    const account = new Account(10 * MIB);
    const phone = account.client('phone').holds(MIB);
    for (let i = 0; i < 10; i++) {
      account.pass(9_000);
      phone.takenBytes += 90_000;
      if (i % 3 === 0) phone.holds(0);
      account.pass(500);
      phone.holds(MIB);
    }
    account.pass(5_000);
    for (let n = 0; n < 50; n++) account.client(`flood-${n}`).holds(MIB);
    account.pass(8_000);
    for (let n = 0; n < 50; n++) account.client(`later-${n}`).holds(MIB);
    await turn();
    expect(account.ended).not.toContain('phone');
  });

  test('does not take for read what waits in the kernel when nothing more is owed', () => {
    const account = new Account(10 * MIB);
    const client = account.client('one').holds(MIB);
    client.takenBytes = 1_000_000;
    account.pass(500);
    client.holding.acknowledge(900_000);
    account.pass(10_000);
    client.holding.rest();
    expect(client.holding.bytesPerS(account.nowMs, CLIENT_READ_MS / 8)).toBe(0);
  });

  test('ends what is kept of requests, whose senders read nothing, before what readers hold', async () => {
    const account = new Account(10 * MIB);
    account
      .client('reader')
      .holds(5 * MIB)
      .reads(1_000);
    account.client('upload').holds(5 * MIB);
    account.pass(10_000);
    account.client('new').holds(MIB);
    await turn();
    expect(account.ended).toEqual(['upload']);
  });

  test('does not count what was written in the meantime', async () => {
    const account = new Account(10 * MIB);
    const client = account.client('quick').holds(9 * MIB);
    account.client('slow').holds(MIB);
    account.pass(30_000);
    client.written = 9 * MIB;
    account.client('new').holds(2 * MIB);
    await turn();
    expect(account.ended).toEqual([]);
    expect(account.buffered.bytes).toBe(3 * MIB);
  });

  test('follows a smaller cap at once', async () => {
    const account = new Account(100 * MIB);
    for (let n = 0; n < 50; n++) account.client(`${n}`).holds(MIB);
    account.pass(2_000);
    account.buffered.use({ capBytes: 16 * MIB, ownersOf: () => [] });
    await turn();
    expect(account.buffered.bytes).toBe(15 * MIB);
  });
});

describe('an owner', () => {
  const ownersOf = (address: string): Owner[] => {
    if (address === 'a proxy') return [];
    const [network = ''] = address.split('/');
    return [
      { key: address, shares: 1 },
      { key: network, shares: 4 },
    ];
  };

  test('is over its share with more than a tenth of the cap, and its connections that hold something are not read', () => {
    const account = new Account(100 * MIB, ownersOf);
    const first = account.client('first', 'n/1').holds(9 * MIB);
    const second = account.client('second', 'n/1').holds(MIB);
    const idle = account.client('idle', 'n/1');
    expect(first.holding.isOverShare).toBe(false);
    second.holds(2 * MIB);
    expect([first, second, idle].map(({ holding }) => holding.isOverShare)).toEqual([true, true, false]);
    first.holds(8 * MIB);
    expect(second.holding.isOverShare).toBe(false);
  });

  test('of a network has four shares for all its addresses', () => {
    const account = new Account(100 * MIB, ownersOf);
    const clients = [1, 2, 3, 4, 5].map(n => account.client(`${n}`, `n/${n}`).holds(8 * MIB));
    expect(clients.some(({ holding }) => holding.isOverShare)).toBe(false);
    clients[0]?.holds(9 * MIB);
    expect(clients.every(({ holding }) => holding.isOverShare)).toBe(true);
    expect(account.client('stranger', 'm/1').holds(MIB).holding.isOverShare).toBe(false);
  });

  test('is not asked for where many clients are behind one address', () => {
    const account = new Account(100 * MIB, ownersOf);
    expect(account.client('proxy', 'a proxy').holds(90 * MIB).holding.isOverShare).toBe(false);
  });
});

describe('several threads', () => {
  /** The main thread and its workers, all in this thread. */
  function threads(workers: number): { main: SharedMemory; of: (worker: number) => SharedMemory } {
    const main = SharedMemory.create(workers, thisMachine.randomBytes);
    return { main, of: worker => new SharedMemory(main.handover, worker) };
  }

  test('share one cap: each ends its own slow readers, not those that read', async () => {
    const { main, of } = threads(2);
    const all = new Account(100 * MIB, () => [], main);
    const one = new Account(100 * MIB, () => [], of(1));
    const two = new Account(100 * MIB, () => [], of(2));
    for (let n = 0; n < 40; n++) one.client(`slow-${n}`).holds(MIB);
    for (let n = 0; n < 55; n++) two.client(`fast-${n}`).holds(MIB).reads(1_000_000);
    one.pass(30_000);
    two.pass(30_000);
    two
      .client('new')
      .holds(10 * MIB)
      .reads(1_000_000);
    expect(all.buffered.bytes).toBe(105 * MIB);
    await turn();
    expect(two.ended).toEqual([]);
    one.buffered.check();
    await turn();
    expect(one.ended).toHaveLength(12);
    expect(all.buffered.bytes).toBeLessThanOrEqual(94 * MIB);
  });

  test('forget what a dead one held when another takes its place', () => {
    const { main, of } = threads(2);
    const all = new Account(100 * MIB, () => [], main);
    new Account(100 * MIB, () => [], of(1)).client('lost').holds(MIB);
    expect(all.buffered.bytes).toBe(MIB);
    new Account(100 * MIB, () => [], of(1)).client('new').holds(4_096);
    expect(all.buffered.bytes).toBe(4_096);
  });
});
