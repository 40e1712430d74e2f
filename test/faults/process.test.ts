import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { frailHost } from '../support/frail-host.ts';
import { startGateway } from '../support/gateway.ts';
import type { GatewayProcess } from '../support/gateway-process.ts';
import { H2C } from '../support/http2-client.ts';
import { ensureInstalled } from '../support/installed.ts';
import { startRedis } from '../support/redis.ts';
import { startRedisGatewayProcess } from '../support/redis-gateway.ts';
import { head } from '../support/requests.ts';
import { tempFolder, tempText } from '../support/temp.ts';
import { sleep } from '../support/wait.ts';
import { header, type RawClient } from '../support/wire/index.ts';
import { Account } from './account.ts';
import { fill, smallDisk } from './disk.ts';
import { expectAtRest, underFault, waitFor } from './fault.ts';
import { front } from './front.ts';
import { Load } from './load.ts';
import { frontOf, startService } from './service.ts';
import { tell } from './table.ts';

test('The disk of the log is full', async () => {
  const folder = await smallDisk();
  const stdout = openSync(join(folder, 'weir.log'), 'a');
  onTestFinished(() => closeSync(stdout));
  const { gateway, load } = await front({ stdout }, {}, { log: { level: 'info', access: true } });
  const isBlocked = async () => (await gateway.metric('weir_log_blocked')).get('') === 1;
  const seen = await underFault(load, {
    begin: () => fill(join(folder, 'filler')),
    isNoticed: isBlocked,
    end: () => rmSync(join(folder, 'filler')),
    isHealed: async () => !(await isBlocked()),
  });
  await expectAtRest(load, [gateway]);
  const lines = load.account.entries.filter(({ kind }) => kind !== 'message').length;
  await waitFor('all lines are there, without a gap', () => {
    const text = readFileSync(join(folder, 'weir.log'), 'utf8');
    const sequences = Array.from(text.matchAll(/"type":"access".*"sequence":(\d+),/g), ([, n]) => Number(n));
    const isWhole = sequences.sort((a, b) => a - b).every((sequence, index) => sequence === index + 1);
    return isWhole && sequences.length >= lines;
  });
  tell('The disk of the log is full', seen);
});

test('No descriptors are left', async () => {
  const { gateway, load } = await front({}, { perConnection: 5 });
  const { pid } = gateway.process;
  const limit = (count: number) => execFileSync('prlimit', ['--pid', String(pid), `--nofile=${count}:`]);
  const mayEnd = ['broken', 'unconnected', '502', 'UNAVAILABLE'] as const;
  const seen = await underFault(load, {
    begin: () => limit(readdirSync(`/proc/${pid}/fd`).length - 12),
    isNoticed: () => 'broken' in load.account.counts(),
    end: () => limit(1_024),
    mayEnd,
  });
  await expectAtRest(load, [gateway]);
  const sides = [...(await gateway.counted('weir_errors_total')).keys()];
  expect(sides.filter(side => side.includes('side="upstream"'))).toEqual([]);
  tell('No descriptors are left', seen, mayEnd);
});

test('One of two workers dies', async () => {
  const account = new Account();
  const { host, kill } = await frailHost();
  const config = {
    ...{ workers: 2, listen: H2C, log: { level: 'info', access: false } },
    ...frontOf([await startService(account)]),
  };
  const gateway = await startGateway({ upstreamPort: 0, config, host });
  const load = new Load(account, [gateway.port]);
  const isReplaced = () => gateway.logLines.some(line => line.includes('a new worker has taken its place'));
  const mayEnd = ['broken', 'cut', 'unconnected'] as const;
  const seen = await underFault(load, {
    begin: () => kill(1, 'is terminated'),
    isNoticed: isReplaced,
    end: () => {},
    mayEnd,
  });
  await expectAtRest(load, [gateway]);
  tell('One of two workers dies', seen, mayEnd);
});

test('One of two gateways on a Redis is killed, and another started', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const account = new Account();
  const config = frontOf([await startService(account)]);
  const store = { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' };
  const limits = { global: { address: '60000/1h' } };
  const start = () => startRedisGatewayProcess({ store, limits, config, upstreamPort: 0 }, { h2c: true });
  const gateways = [await start(), await start()];
  const load = new Load(
    account,
    gateways.map(({ port }) => port),
  );
  const mayEnd = ['broken', 'cut', 'unconnected'] as const;
  const seen = await underFault(load, {
    begin: () => gateways.shift()?.signal('SIGKILL'),
    isNoticed: () => load.account.counts()['unconnected'] !== undefined,
    end: async () => {
      gateways.push(await start());
      load.ports.splice(0, 2, ...gateways.map(({ port }) => port));
    },
    mayEnd,
  });
  await expectAtRest(load, gateways);
  tell('One of two gateways on a Redis is killed, and another started', seen, mayEnd);
});

/** How far the clock of the gateway is ahead of ours, rounded to hours. */
async function hoursAhead(gateway: GatewayProcess): Promise<number> {
  const date = header(await gateway.ask(head('GET /metered')), 'date') ?? '';
  return Math.round((Date.parse(date) - Date.now()) / 3_600_000);
}

/** Draws on a limit of 20 in 3 seconds until it refuses, waits as told, and is admitted. */
async function waitsAsTold(client: RawClient): Promise<void> {
  let response = await client.ask(head('GET /metered'));
  for (let asked = 1; response.status === 200; asked++) {
    expect(asked).toBeLessThan(60);
    response = await client.ask(head('GET /metered'));
  }
  const { retry_after: waitS } = JSON.parse(response.body.toString());
  expect([response.status, waitS <= 3]).toEqual([429, true]);
  await sleep(waitS * 1_000);
  expect((await client.ask(head('GET /metered'))).status).toBe(200);
}

describe('a clock that steps', () => {
  test.each<[string, hours: number]>([
    ['The clock is an hour ahead, and right again', 1],
    ['The clock is an hour behind, and right again', -1],
  ])('%s', async (name, hours) => {
    ensureInstalled({ command: 'faketime', versionArgs: ['--version'], packages: ['faketime'] });
    const file = join(await tempFolder(), 'faketime');
    writeFileSync(file, '+0');
    const library = execFileSync('sh', ['-c', 'ls /usr/lib/*/faketime/libfaketime.so.1'], {
      encoding: 'utf8',
    }).trim();
    const before = `export LD_PRELOAD=${library} FAKETIME_TIMESTAMP_FILE=${file} FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1`;
    const limits = { global: 'off', buckets: { few: { address: '20/3s' } }, routes: { '/metered': 'few' } };
    const { gateway, load } = await front(
      { before },
      {},
      {
        limits: await tempText('limits.yaml', JSON.stringify(limits)),
        routes: [{ path: '/metered', authentication: 'none', respond: { status: 200 } }],
      },
    );
    const client = await gateway.connect({ localAddress: '127.0.0.9' });
    await waitsAsTold(client);
    const seen = await underFault(load, {
      begin: () => writeFileSync(file, `${hours < 0 ? '' : '+'}${hours * 3_600}`),
      isNoticed: async () => (await hoursAhead(gateway)) === hours,
      meanwhile: () => waitsAsTold(client),
      end: () => writeFileSync(file, '+0'),
      isHealed: async () => (await hoursAhead(gateway)) === 0,
    });
    await waitsAsTold(client);
    client.destroy();
    await expectAtRest(load, [gateway]);
    tell(name, seen);
  });
});
