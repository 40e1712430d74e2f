import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changeConfig } from '../support/edit-config.ts';
import { frailHost } from '../support/frail-host.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { shared } from '../support/lifetime.ts';
import { head } from '../support/requests.ts';
import { dear } from '../support/runs.ts';
import { tempFolder } from '../support/temp.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { type Script, startUpstream } from '../support/wire/index.ts';

async function front(script?: Script) {
  const upstream = await startUpstream(script);
  const { host, kill, withhold } = await frailHost();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    api: { max_requests: 8, max_requests_per_caller: '100%' },
    config: { workers: 2, log: { level: 'info', access: false } },
    host,
  });
  let deaths = 0;
  /** Has the worker die, and waits until another one is in its place. */
  const replace = async (worker: number, fault = 'is terminated') => {
    kill(worker, fault);
    deaths++;
    const replacements = () => said(gateway, 'a new worker has taken its place');
    await waitFor('it is replaced', () => replacements().length === deaths);
  };
  return { gateway, upstream, kill, withhold, replace };
}

const said = ({ logLines }: LocalGateway, message: string): string[] =>
  logLines.filter(line => line.includes(`"msg":"${message}"`));

/** Clients that ask again and again, each on a new connection. Stops and tells what became of their requests. */
function startClients(gateway: LocalGateway, count: number) {
  const outcomes = new Map<string, number>();
  let goesOn = true;
  const client = async () => {
    while (goesOn) {
      const outcome = await gateway.ask(head('GET /a')).then(
        ({ status }) => `${status}`,
        () => 'closed',
      );
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      await sleep(20);
    }
  };
  const clients = Array.from({ length: count }, client);
  return {
    outcomes,
    stop: async () => {
      goesOn = false;
      await Promise.all(clients);
    },
  };
}

dear(
  'under load four workers that die of different causes are replaced, and the fifth within a minute ends the process',
  async () => {
    const { gateway, kill, replace } = await front();
    const clients = startClients(gateway, 4);
    const areServed = async () => {
      const before = clients.outcomes.get('200') ?? 0;
      await waitFor('clients are served', () => (clients.outcomes.get('200') ?? 0) > before + 20);
    };
    for (const [fault, cause] of [
      ['runs out of memory', /memory limit/],
      ['throws what nobody catches', /a fault of a test/],
      ['exits', /ended with code 3/],
      ['is terminated', /ended with code 1/],
    ] as const) {
      await areServed();
      await replace(1, fault);
      const line = said(gateway, 'a worker ended and is replaced').at(-1) ?? '{}';
      expect(JSON.parse(line)).toMatchObject({ worker: 1, cause: expect.stringMatching(cause) });
    }
    await areServed();
    await clients.stop();
    expect([...clients.outcomes.keys()].filter(outcome => outcome !== '200' && outcome !== 'closed')).toEqual(
      [],
    );
    kill(1, 'throws what nobody catches');
    expect(await gateway.app.failed).toContain('a fault of a test');
  },
);

/** What reaches the service is answered when the first of the two tests says so. */
const released = Promise.withResolvers<void>();
const held = shared(() =>
  front(async exchange => {
    await exchange.received();
    await released.promise;
    await exchange.answer(200, [], 'ok');
  }),
);

test('what a dead worker held is free for others, and what the others hold is not', async () => {
  const { gateway, upstream, replace } = await held();
  const outcomes: string[] = [];
  const count = (which: string) => outcomes.filter(outcome => outcome === which).length;
  const asked: Promise<void>[] = [];
  const ask = async () => {
    const outcome = await gateway.ask(head('GET /a')).then(
      ({ status }) => `${status}`,
      () => 'closed',
    );
    outcomes.push(outcome);
  };
  const fill = async () => {
    for (const refused = count('503'); count('503') === refused; ) {
      const { length } = upstream.requests;
      asked.push(ask());
      await waitFor(
        'it is upstream, or refused',
        () => count('503') > refused || upstream.requests.length > length,
      );
    }
  };
  await fill();
  expect(upstream.requests).toHaveLength(8);
  await replace(1);
  await fill();
  released.resolve();
  await Promise.all(asked);
  expect([count('200'), count('closed')]).toEqual([8, upstream.requests.length - 8]);
});

test('what a worker has counted outlives it, and a new one begins with the configuration in use, at the addresses of the start', async () => {
  const { gateway, replace } = await held();
  released.resolve();
  const sum = async (name: string) =>
    [...(await gateway.metric(name)).values()].reduce((all, value) => all + value, 0);
  const replacements = () => gateway.metric('weir_worker_replacements_total');
  const [counted, before] = [await sum('weir_requests_total'), await replacements()];
  for (let sent = 0; sent < 20; sent++) await gateway.ask(head('GET /a'));
  await waitFor('all are counted', async () => (await sum('weir_requests_total')) === counted + 20);
  const ofWorkers = await sum('weir_worker_requests_total');
  await replace(1);
  expect(await sum('weir_requests_total')).toBe(counted + 20);
  expect(await sum('weir_worker_requests_total')).toBe(ofWorkers);
  expect(await gateway.countedSince(before, 'weir_worker_replacements_total')).toEqual(
    new Map([['{worker="1"}', 1]]),
  );
  await waitFor('both are up', async () => (await sum('weir_worker_up')) === 2);
  await changeConfig(gateway, {
    routes: [{ path: '/b', upstream: 'api', authentication: 'none' }],
    listen: { http: '127.0.0.1:0', grpc: '127.0.0.1:0', admin: '127.0.0.1:0' },
  });
  await gateway.app.reload();
  await replace(1);
  await replace(2);
  for (let count = 0; count < 20; count++) {
    expect((await gateway.ask(head('GET /b'))).status).toBe(200);
    expect((await gateway.ask(head('GET /a'))).status).toBe(404);
  }
});

dear('a worker that gets no thread is tried again, and then the process ends with the cause', async () => {
  const { gateway, kill, withhold, replace } = await front();
  withhold(2);
  await replace(1);
  const [, refused = '{}'] = said(gateway, 'a worker ended and is replaced');
  expect(JSON.parse(refused).cause).toMatch(/^the system gives it no thread: /);
  withhold(2);
  kill(2, 'is terminated');
  expect(await gateway.app.failed).toMatch(/^the system gives it no thread: /);
});

dear('a process that ends because workers die again and again finishes what the others serve', async () => {
  const released = Promise.withResolvers<void>();
  const upstream = await startUpstream(async exchange => {
    await released.promise;
    await exchange.answer(200, [], 'ok');
  });
  const doom = join(await tempFolder(), 'doom');
  const preload = new URL('../support/doomed-worker.ts', import.meta.url);
  const gateway = await startGatewayProcess(
    { upstreamPort: upstream.port, config: { workers: 2, log: { level: 'info', access: false } } },
    { before: `export WEIR_DOOM=${doom} NODE_OPTIONS=--import=${preload}` },
  );
  // The kernel spreads them: that all are at worker 1 does not happen.
  const asked = Array.from({ length: 20 }, () =>
    gateway.ask(head('GET /a')).then(
      ({ status }) => status,
      () => 'closed',
    ),
  );
  await waitFor('all are upstream', () => upstream.requests.length === 20);
  await writeFile(doom, '');
  await waitFor('it drains', () => gateway.output.includes('"msg":"draining: workers die repeatedly"'));
  released.resolve();
  const outcomes = await Promise.all(asked);
  expect(outcomes).toContain(200);
  expect(outcomes.filter(outcome => outcome !== 200 && outcome !== 'closed')).toEqual([]);
  expect(await gateway.exit).toBe(1);
  expect(gateway.output).toContain('a fault of a test');
});

dear(
  'a gateway of which a worker dies as it starts ends with code 1, and says which one and why',
  async () => {
    const fault = `if (process.getBuiltinModule('worker_threads').workerData?.worker === 2) throw Error('a fault of a test')`;
    const preload = `data:text/javascript,${encodeURIComponent(fault)}`;
    const started = startGatewayProcess(
      { upstreamPort: 1, config: { workers: 2 } },
      { before: `export NODE_OPTIONS="--import=${preload}"` },
    );
    await expect(started).rejects.toThrow(
      'the gateway ended at start: weir serve: worker 2 ended: Error: a fault of a test\n',
    );
  },
);
