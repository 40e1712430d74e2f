import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { loadLimits } from '../../src/config/index.ts';
import { replayLogs } from '../../src/simulation/index.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { tempFolder, tempText } from '../support/temp.ts';
import { sleep } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

const BUCKETS = {
  messages: { main: 'channel', user: '3/1s', resource: '9/2s' },
  smooth: { user: '10/1s', algorithm: 'smooth' },
};
const LIMITS = {
  global: { address: '12/1s' },
  buckets: BUCKETS,
  routes: { 'GET /v1/channels/{channel}/messages': 'messages', 'GET /v1/smooth/**': 'smooth' },
};

/** A gateway that has served some thousand requests of eight callers over several windows, and its log. */
async function servedGateway(): Promise<LocalGateway> {
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    const status = exchange.request.target.includes('/channels/4/') ? '404 Not Found' : '200 OK';
    await exchange.send(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
  });
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: {
      limits: await tempText('limits.yaml', JSON.stringify(LIMITS)),
      log: { level: 'info' },
      trusted_proxies: ['127.0.0.0/8'],
    },
  });
  const callers = Array.from({ length: 8 }, (_, i) => `203.0.113.${i + 1}`);
  await Promise.all(callers.map((caller, i) => callFor(gateway, caller, i)));
  return gateway;
}

async function callFor(gateway: LocalGateway, caller: string, number: number): Promise<void> {
  const client = await gateway.connect();
  for (let i = 0; i < 300; i++) {
    const path = i % 3 === 0 ? `/v1/smooth/${i}` : `/v1/channels/${(i + number) % 6}/messages`;
    await client.ask(head(`GET ${path}`, `X-Forwarded-For: ${caller}`));
    await sleep(number + 2);
  }
  client.destroy();
}

test('limits that ran are found to decide as they did, line for line; others are not', async () => {
  const gateway = await servedGateway();
  const log = join(await tempFolder(), 'weir.log.gz');
  await expect.poll(() => gateway.logLines.length).toBeGreaterThanOrEqual(2_400);
  await writeFile(log, gzipSync(gateway.logLines.join('')));
  const lived = new Map<number, string>();
  const replayed = new Map<number, string>();
  const loaded = await loadLimits(await tempText('limits.yaml', JSON.stringify(LIMITS)), {});
  if (!loaded.ok) throw new Error('the limits have errors');
  const { counts } = await replayLogs({
    limits: loaded.limits,
    logs: [log],
    store: 'memory',
    onDecision: ({ sequence, bucket, outcome }, after) => {
      lived.set(sequence, `${bucket} ${outcome}`);
      replayed.set(
        sequence,
        `${after.bucket} ${after.refusedBy === 'nothing' ? 'admitted' : after.refusedBy}`,
      );
    },
  });
  expect(counts).toMatchObject({ broken: 0, torn: [] });
  expect(lived.size).toBe(2_400);
  expect(new Set([...lived.values()].map(each => each.split(' ')[1]))).toEqual(
    new Set(['admitted', 'global', 'caller', 'resource']),
  );
  expect(Object.fromEntries(replayed)).toEqual(Object.fromEntries(lived));

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
  expect(smooth).toMatchObject({
    class: 'address',
    callers: { all: 8, hitAfter: 8 },
  });
  expect(await readFile(join(folder, 'x.svg'), 'utf8')).toContain('<polyline');
});
