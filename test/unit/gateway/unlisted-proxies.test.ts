import { describe, expect, test } from 'vitest';
import { UnlistedProxies } from '../../../src/gateway/index.ts';
import { AddressSet } from '../../../src/wire/http/index.ts';

const HOUR_MS = 3_600_000;
const EPOCH_MS = Date.parse('2026-01-31T12:00:00Z');
const NOBODY = new AddressSet([]);

function watching() {
  const heard: Readonly<Record<string, unknown>>[] = [];
  let nowMs = 0;
  const clock = { epochMs: () => EPOCH_MS + nowMs, monotonicMs: () => nowMs };
  const proxies = new UnlistedProxies(clock, {
    warned: (line, message) => void heard.push({ ...line, message }),
  });
  /** `sender` forwards this many requests for this many clients. */
  const forwards = (sender: string, requests: number, clients: number, prefix = '203.0.113.') => {
    for (let i = 0; i < requests; i++) proxies.saw(sender, 'X-Forwarded-For', `${prefix}${i % clients}`);
  };
  const addresses = () => heard.map(({ address }) => address);
  const reported = (trusted = NOBODY) => proxies.reports(trusted).map(({ address }) => address);
  const wait = (ms: number) => {
    nowMs += ms;
  };
  return { proxies, heard, forwards, addresses, reported, wait };
}

describe('a private sender', () => {
  test('is reported when it forwards for many clients', () => {
    const { forwards, heard, proxies } = watching();
    forwards('10.0.0.5', 49, 10);
    expect(heard).toEqual([]);
    forwards('10.0.0.5', 1, 1);
    const report = {
      address: '10.0.0.5',
      field: 'X-Forwarded-For',
      message:
        '10.0.0.5 sends X-Forwarded-For and is not in trusted_proxies: all of its clients count as one address',
    };
    expect(heard).toEqual([{ type: 'proxy', ...report }]);
    expect(proxies.reports(NOBODY)).toEqual([{ ...report, sinceMs: EPOCH_MS }]);
  });

  test.each(['172.16.9.9', '192.168.0.1', '127.0.0.1', '100.64.0.1', 'fd00::5', '::1', 'fe80::5'])(
    'is one of these networks: %s',
    sender => {
      const { forwards, addresses } = watching();
      forwards(sender, 50, 10);
      expect(addresses()).toEqual([sender]);
    },
  );

  test('is not reported for a few clients, however many requests they send', () => {
    const { forwards, heard } = watching();
    forwards('10.0.0.5', 10_000, 9);
    expect(heard).toEqual([]);
  });

  test('is not reported for values that are not addresses, or not a client’s', () => {
    const { proxies, heard } = watching();
    for (let i = 0; i < 1_000; i++) {
      for (const value of [
        `client-${i}`,
        `127.0.0.${i % 255}`,
        `' OR ${i}=${i}`,
        '',
        `203.0.113.${i % 255},`,
      ])
        proxies.saw('10.0.0.5', 'X-Forwarded-For', value);
    }
    expect(heard).toEqual([]);
  });

  test('counts the address that it saw itself, whatever its clients prepend', () => {
    const { proxies, heard } = watching();
    for (let i = 0; i < 100; i++) proxies.saw('10.0.0.5', 'X-Forwarded-For', `192.0.2.${i}, 203.0.113.7`);
    expect(heard).toEqual([]);
  });

  test('is found by Forwarded as well', () => {
    const { proxies, heard } = watching();
    for (let i = 0; i < 50; i++)
      proxies.saw('10.0.0.5', 'Forwarded', `for=unknown, For="[2001:db8:${i}::7]:443";proto=https`);
    expect(heard.map(({ message }) => message)).toEqual([
      '10.0.0.5 sends Forwarded and is not in trusted_proxies: all of its clients count as one address',
    ]);
  });

  test('is reported once an hour, for as long as it goes on', () => {
    const { forwards, addresses, reported, wait, proxies } = watching();
    forwards('10.0.0.5', 500, 100);
    wait(HOUR_MS - 1);
    forwards('10.0.0.5', 500, 100);
    expect(addresses()).toEqual(['10.0.0.5']);
    wait(1);
    forwards('10.0.0.5', 49, 49);
    expect(addresses()).toEqual(['10.0.0.5']);
    expect(reported()).toEqual(['10.0.0.5']);
    forwards('10.0.0.5', 1, 1);
    expect(addresses()).toEqual(['10.0.0.5', '10.0.0.5']);
    expect(proxies.reports(NOBODY).map(({ sinceMs }) => sinceMs)).toEqual([EPOCH_MS]);
    wait(2 * HOUR_MS);
    expect(reported()).toEqual([]);
  });

  test('is no longer reported once it is trusted', () => {
    const { forwards, reported } = watching();
    forwards('10.0.0.5', 50, 50);
    expect(reported(new AddressSet(['10.0.0.0/24']))).toEqual([]);
    expect(reported(new AddressSet(['10.0.1.0/24']))).toEqual(['10.0.0.5']);
  });
});

describe('a public sender', () => {
  test('is reported when it forwards for very many public clients, with a word of caution', () => {
    const { forwards, heard } = watching();
    forwards('192.0.2.1', 499, 100);
    expect(heard).toEqual([]);
    forwards('192.0.2.1', 1, 1);
    expect(heard.map(({ message }) => message)).toEqual([
      '192.0.2.1 sends X-Forwarded-For and is not in trusted_proxies: all of its clients count as one address. Add it only if it is a proxy of yours: anyone can send this field',
    ]);
  });

  test("is not reported for private clients: it is some company's own proxy", () => {
    const { forwards, heard } = watching();
    forwards('192.0.2.1', 1_000, 250, '10.0.0.');
    expect(heard).toEqual([]);
  });

  test('is counted by its /64', () => {
    const { forwards, addresses } = watching();
    for (let i = 0; i < 500; i++) forwards(`2001:db8::${i + 1}`, 1, 1, `203.0.${i % 100}.`);
    expect(addresses()).toEqual(['2001:db8::500']);
  });
});

describe('a flood of senders', () => {
  const publicSenders = Array.from(
    { length: 10_000 },
    (_, i) => `198.${18 + (i >> 13)}.${(i >> 5) & 255}.${i & 31}`,
  );

  test('does not hide a private one', () => {
    const { forwards, addresses } = watching();
    for (const sender of publicSenders) forwards(sender, 3, 3);
    for (let i = 0; i < 50; i++) {
      forwards('10.0.0.5', 1, 1, `203.0.${i}.`);
      for (const sender of publicSenders.slice(0, 100)) forwards(sender, 1, 1);
    }
    expect(addresses()).toEqual(['10.0.0.5']);
  });

  test('fills neither the log nor memory', () => {
    const { forwards, heard, reported } = watching();
    for (const sender of publicSenders.slice(0, 500)) forwards(sender, 500, 100);
    expect(heard).toHaveLength(64);
    expect(reported()).toHaveLength(64);
    forwards('10.0.0.5', 50, 50);
    expect(reported()).toHaveLength(64);
    expect(reported()).toContain('10.0.0.5');
  });

  test('makes room for others once it has passed', () => {
    const { forwards, reported, wait } = watching();
    for (const sender of publicSenders.slice(0, 64)) forwards(sender, 500, 100);
    wait(2 * HOUR_MS);
    forwards('192.0.2.1', 500, 100);
    expect(reported()).toEqual(['192.0.2.1']);
  });
});
