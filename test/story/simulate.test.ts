import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { readPart } from '../../src/config/index.ts';
import { replayLogs } from '../../src/offline/simulation/index.ts';
import { type LocalGateway, startGateway, withoutWorkers } from '../support/gateway.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { startLimited } from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { tempFolder, tempText } from '../support/temp.ts';
import { validFor } from '../support/test-issuer.ts';
import { startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const BUCKETS = {
  messages: { main: 'channel', user: '3/1s', resource: '9/2s' },
  smooth: { user: '10/1s', algorithm: 'smooth' },
};
const LIMITS = {
  global: { address: '12/1s' },
  buckets: BUCKETS,
  routes: { 'GET /v1/channels/{channel}/messages': 'messages', 'GET /v1/smooth/**': 'smooth' },
};

interface Served {
  readonly limits: object;
  readonly callers: number;
  /** Of each caller. */
  readonly requests: number;
}

/** A gateway that has served requests of several callers over several windows, and its log. */
async function servedGateway({ limits, callers, requests }: Served): Promise<LocalGateway> {
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    const status = exchange.request.target.includes('/channels/4/') ? '404 Not Found' : '200 OK';
    await exchange.send(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
  });
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    clock: new FrozenClock(Date.now()),
    config: {
      limits: await tempText('limits.yaml', JSON.stringify(limits)),
      log: { level: 'info' },
      trusted_proxies: ['127.0.0.0/8'],
    },
  });
  const names = Array.from({ length: callers }, (_, i) => `203.0.113.${i + 1}`);
  let isDone = false;
  const calls = Promise.all(names.map((caller, i) => callFor(gateway, caller, i, requests)));
  void calls.finally(() => (isDone = true));
  // Some are held for a while.
  await gateway.time.advanceUntil('all are answered', () => isDone, 1);
  await calls;
  await expect.poll(() => gateway.logLines.length).toBeGreaterThanOrEqual(callers * requests);
  return gateway;
}

async function callFor(gateway: LocalGateway, caller: string, number: number, times: number): Promise<void> {
  const client = await gateway.connect();
  for (let i = 0; i < times; i++) {
    const path = i % 3 === 0 ? `/v1/smooth/${i}` : `/v1/channels/${(i + number) % 6}/messages`;
    await client.ask(head(`GET ${path}`, `X-Forwarded-For: ${caller}`));
    await new Promise<void>(over => gateway.time.after(number + 2, over));
  }
  client.destroy();
}

const WORDS: Readonly<Record<string, string>> = { nothing: 'admitted', restriction: 'restricted' };

/** What was refused before the limits has no bucket in the log. */
function tell(bucket: string | null, outcome: string): string {
  return outcome === 'restricted' || outcome === 'blocked' ? outcome : `${bucket} ${outcome}`;
}

/** By number of the request: what the gateway decided, and what the replay does by the limits that ran. */
async function replayed(log: string, limits: object) {
  const lived = new Map<number, string>();
  const again = new Map<number, string>();
  const loaded = await readPart('limits', await tempText('limits.yaml', JSON.stringify(limits)), {});
  if (!loaded.ok) throw new Error('the limits have errors');
  const { counts, restrictions } = await replayLogs({
    limits: loaded.limits,
    logs: [log],
    store: 'memory',
    onDecision: ({ sequence, bucket, outcome }, after) => {
      lived.set(sequence, tell(bucket, outcome));
      again.set(sequence, tell(after.bucket, WORDS[after.refusedBy] ?? after.refusedBy));
    },
  });
  expect(counts).toMatchObject({ broken: 0, torn: [] });
  return { lived, again, early: counts.early, restrictions };
}

/** How many requests the replay decides differently: those of one millisecond may come in another order. */
function differing({ lived, again }: { lived: Map<number, string>; again: Map<number, string> }): number {
  return [...lived].filter(([sequence, outcome]) => again.get(sequence) !== outcome).length;
}

test('limits that ran are found to decide as they did, but for a few requests; others are not', async () => {
  const gateway = await servedGateway({ limits: LIMITS, callers: 8, requests: 300 });
  const log = join(await tempFolder(), 'weir.log.gz');
  await writeFile(log, gzipSync(gateway.logLines.join('')));
  const { lived, again } = await replayed(log, LIMITS);
  expect(lived.size).toBe(2_400);
  expect(new Set([...lived.values()].map(each => each.split(' ')[1]))).toEqual(
    new Set(['admitted', 'global', 'caller', 'resource']),
  );
  expect(differing({ lived, again })).toBeLessThan(2_400 * 0.05);

  const stricter = { ...LIMITS, buckets: { ...BUCKETS, smooth: { user: '1/1s', algorithm: 'smooth' } } };
  const folder = await tempFolder();
  await writeFile(join(folder, 'new.yaml'), JSON.stringify(stricter));
  let out = '';
  const terminal = { env: {}, out: (text: string) => (out += text), err: (text: string) => (out += text) };
  const args = [
    '--limits',
    join(folder, 'new.yaml'),
    '--format',
    'json',
    '--svg',
    join(folder, 'x.svg'),
    log,
  ];
  expect(await runCommandLine(['simulate', ...args], terminal)).toBe(0);
  const report = JSON.parse(out);
  expect(report.requests).toBe(2_400);
  expect(report.refused.after).toBeGreaterThan(report.refused.before);
  const smooth = report.buckets.find(({ bucket }: { readonly bucket: string }) => bucket === 'smooth');
  expect(smooth).toMatchObject({ class: 'address', callers: { all: 8, hitAfter: 8 } });
  expect(await readFile(join(folder, 'x.svg'), 'utf8')).toContain('<polyline');
});

test('a name in a log cannot steer the terminal that shows it', async () => {
  const gateway = await servedGateway({ limits: LIMITS, callers: 1, requests: 20 });
  const log = await tempText(
    'weir.log',
    gateway.logLines.join('').replaceAll('"203.0.113.1"', '"\\u001b[2J\\u009bevil"'),
  );
  let out = '';
  const limits = await tempText('new.yaml', 'global: { address: 1/1m }');
  const terminal = { env: {}, out: (text: string) => (out += text), err: () => undefined };
  expect(await runCommandLine(['simulate', '--limits', limits, log], terminal)).toBe(0);
  expect(out).toContain('\n  \ufffd[2J\ufffdevil  (no bucket): ');
  expect(out).not.toMatch(/[\x1b\x9b]/);
});

test('limits with patience are found to decide as they did: the log has the moment at which a held request was decided', async () => {
  // Requests that wait for the same millisecond at several workers are let go in no order.
  withoutWorkers();
  const limits = { ...LIMITS, global: 'off', patience: '120ms' };
  const gateway = await servedGateway({ limits, callers: 3, requests: 80 });
  const log = await tempText('weir.log', gateway.logLines.join(''));
  const { lived, again } = await replayed(log, limits);
  expect(gateway.logLines.filter(line => line.includes('"waitedMs"')).length).toBeGreaterThan(0);
  expect(lived.size).toBe(240);
  expect(differing({ lived, again })).toBeLessThan(240 * 0.05);
});

const RESTRICTING = {
  global: { user: '40/1s', address: '60/1s' },
  buckets: { messages: { main: 'channel', user: '3/3s', address: '5/1s', resource: '9/2s' } },
  routes: { 'GET /v1/channels/{channel}/messages': 'messages' },
  invalid_requests: { limit: '12/2s', restrict_for: '1s' },
  webhook_not_found: { limit: '3/3s', restrict_for: '1s' },
  ignored_refusals: { limit: '3/2s', restrict_for: '1s', addresses: true },
  blocked: { addresses: ['203.0.113.7'], callers: [{ client: 'app', subject: 'mallory' }] },
  never_restrict: ['203.0.113.4', { client: 'app', subject: 'spared' }],
};
const CLIENTS = 14;
/** Of each client, in some three seconds. */
const REQUESTS = 130;
const STATUSES = [200, 200, 401, 403, 429, 404];

/** A gateway whose callers are restricted in each way, over and over again, and its log. */
async function restrictingGateway(): Promise<string> {
  // As much time passes on a busy machine, so that as many are restricted.
  const time = new FrozenClock(Date.now());
  const front = await startLimited(RESTRICTING, {
    clock: time,
    routes: [
      { path: '/v1/**', authentication: 'optional' },
      { path: '/hooks/{id}', authentication: 'none', webhook: true },
    ],
    config: { trusted_proxies: ['127.0.0.0/8'] },
    upstream: exchange => {
      const status = Number(exchange.request.target.split('?')[1]);
      return exchange.answer(status, ['X-RateLimit-Scope', status % 2 === 0 ? 'shared' : 'user']);
    },
  });
  const { gateway, issuer } = front;
  const subjects = ['alice', 'bob', 'spared', null, null, null, null, 'mallory'];
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => gateway.connect()));
  const ask = async (number: number, sent: number): Promise<void> => {
    const from = `X-Forwarded-For: 203.0.113.${(number % 8) + 1}`;
    const subject = subjects[number % 8] ?? null;
    const token = subject === null ? [] : [issuer.bearer({ sub: subject, ...validFor(600, time) })];
    const isHook = number % 8 === 5 || sent % 5 === 0;
    const status = isHook ? 404 : STATUSES[(sent * 7 + number) % STATUSES.length];
    const target = isHook ? `/hooks/${number % 2}` : `/v1/channels/${sent % 3}/messages`;
    await clients[number]?.ask(head(`GET ${target}?${status}`, from, ...token));
  };
  // One after the other: the order of those in one millisecond is not in the log.
  for (let sent = 0; sent < REQUESTS; sent++) {
    for (let number = 0; number < CLIENTS; number++) {
      await ask(number, sent);
      time.advance(2);
    }
  }
  for (const client of clients) client.destroy();
  await expect.poll(() => accessLines(gateway).length).toBe(CLIENTS * REQUESTS);
  return tempText('weir.log', gateway.logLines.join(''));
}

test('restrictions begin and end in the replay as they did, line for line', async () => {
  const log = await restrictingGateway();
  const { lived, again, early, restrictions } = await replayed(log, RESTRICTING);
  expect(early).toBe(0);
  expect(lived.size).toBe(CLIENTS * REQUESTS);
  expect(Object.fromEntries(again)).toEqual(Object.fromEntries(lived));
  expect(restrictions.after).toEqual(restrictions.before);
  expect([...lived.values()].filter(each => each === 'blocked').length).toBeGreaterThan(REQUESTS);
  expect(restrictions.before).toEqual({
    requests: expect.any(Number),
    addresses: expect.toSatisfy(count => count > 1),
    callers: 2,
    webhooks: expect.toSatisfy(count => count > 0),
  });
  expect(restrictions.unknown).toEqual({ callers: 0, outcomes: 0 });
});
