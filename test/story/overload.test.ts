import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { frailHost } from '../support/frail-host.ts';
import { startGateway } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { shared } from '../support/lifetime.ts';
import { realTime } from '../support/real-time.ts';
import { head } from '../support/requests.ts';
import { dear } from '../support/runs.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';
import { clientsOfEach } from '../support/workers.ts';

realTime('it stops processes for a while, which notice that by the clock of this machine');

async function front(event_loop_delay: string) {
  const told = Promise.withResolvers<void>();
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    if (exchange.request.target !== '/stream') return exchange.answer(200, [], 'ok');
    await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello');
    await told.promise;
    await exchange.send('again');
  });
  const log = { level: 'info', access: false };
  const gateway = await startGatewayProcess({
    upstreamPort: upstream.port,
    config: { log, caps: { event_loop_delay } },
  });
  return { gateway, finish: told.resolve };
}

/** Shared: each test waits for what it did to be over. */
const watchful = shared(() => front('250ms'));
const patient = shared(() => front('off'));

/** Leaves processes a moment now and then, until told otherwise: each turn of their event loops is half a second late. */
function starve(...gateways: readonly GatewayProcess[]): () => Promise<void> {
  let over = false;
  const done = (async () => {
    while (!over) {
      for (const gateway of gateways) gateway.signal('SIGSTOP');
      await sleep(500);
      for (const gateway of gateways) gateway.signal('SIGCONT');
      await sleep(20);
    }
  })();
  return async () => {
    over = true;
    await done;
  };
}

function overloadLevels({ output }: GatewayProcess): string[] {
  const lines = output.split('\n').filter(line => line.includes('"type":"overload"'));
  return lines.map(line => JSON.parse(line).level);
}

test('a process that falls behind says so once each time, stays healthy, serves what is under way, and recovers', async () => {
  const { gateway, finish } = await watchful();
  const stream = await gateway.connect();
  await stream.send(head('GET /stream'));
  await waitFor('the stream is under way', () => stream.bytesRead > 0);
  const feed = starve(gateway);
  await waitFor('it is overloaded', () => overloadLevels(gateway).length > 0);
  await feed();
  expect((await gateway.admin('/healthz')).status).toBe(200);
  expect((await gateway.admin('/readyz')).status).toBe(200);
  expect(await gateway.metric('weir_overloaded')).toEqual(new Map([['', 1]]));
  finish();
  expect((await stream.answer()).body.toString()).toBe('helloagain');
  // A busy machine may have made it late again: each time is counted once, and its beginning and its end are said once.
  await waitFor('it has recovered, each time', async () => {
    const times = (await gateway.metric('weir_overloads_total')).get('') ?? 0;
    return times > 0 && overloadLevels(gateway).length === 2 * times;
  });
  const levels = overloadLevels(gateway);
  expect(levels).toEqual(levels.map((_, i) => (i % 2 === 0 ? 'error' : 'info')));
  expect(await gateway.metric('weir_overloaded')).toEqual(new Map([['', 0]]));
});

dear('a worker that falls behind refuses its own clients, while the other one serves', async () => {
  const upstream = await startUpstream();
  const { host, kill } = await frailHost();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { workers: 2, log: { level: 'info', access: true }, caps: { event_loop_delay: '500ms' } },
    host,
  });
  const clients = await clientsOfEach(gateway, 2);
  kill(1, 'is late');
  await waitFor('it is overloaded', () => gateway.logLines.join('').includes('"type":"overload"'));
  // A busy machine may make the other one late as well, for a moment.
  const statuses = async () => {
    const responses = await Promise.all(clients.map(client => client.ask(head('GET /a'))));
    return responses.map(({ status }) => status).sort();
  };
  await expect.poll(statuses).toEqual([200, 503]);
  await waitFor('the refusal is logged', () =>
    gateway.logLines.join('').includes('"cap":"event_loop_delay"'),
  );
});

dear('with event_loop_delay off no delay counts', async () => {
  const [{ gateway }, { gateway: other }] = [await patient(), await watchful()];
  const before = overloadLevels(other).length;
  const feed = starve(gateway, other);
  await waitFor('one that starves as well is overloaded', () => overloadLevels(other).length > before);
  await feed();
  expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  expect(overloadLevels(gateway)).toEqual([]);
});

dear('at most 512 connections wait while a process accepts none: the kernel drops the others', async () => {
  const { gateway } = await patient();
  gateway.signal('SIGSTOP');
  let connected = 0;
  const sockets = Array.from({ length: 800 }, () =>
    connect(gateway.port, '127.0.0.1', () => connected++).on('error', () => {}),
  );
  await waitFor('the queue is full', () => connected >= 512);
  // A handshake on loopback takes no time, and a dropped one is repeated after a second.
  await sleep(300);
  for (const socket of sockets) socket.destroy();
  gateway.signal('SIGCONT');
  expect(connected).toBe(512);
  expect((await gateway.ask(head('GET /a'))).status).toBe(200);
});
