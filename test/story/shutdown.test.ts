import { describe, expect, test } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { head, withBody } from '../support/requests.ts';
import { dear } from '../support/runs.ts';
import { inTime } from '../support/test-clock.ts';
import type { TestGateway } from '../support/test-gateway.ts';
import { sleep, waitFor } from '../support/wait.ts';
import { header, openRaw, type Script, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

async function front(shutdown: { delay: string; drain: string }, script?: Script) {
  const upstream = await startUpstream(script);
  const gateway = await startGatewayProcess({ upstreamPort: upstream.port, config: { shutdown } });
  return { upstream, gateway };
}

/** The same in this process, where the test drains it, for 20 s. */
async function frontHere(script?: Script) {
  const upstream = await startUpstream(script);
  const config = { shutdown: { delay: '0s', drain: '20s' } };
  const clock = new FrozenClock(Date.now());
  const gateway = await startGateway({ upstreamPort: upstream.port, config, clock });
  return { upstream, gateway };
}

const ready = async (gateway: GatewayProcess): Promise<number> => (await gateway.admin('/readyz')).status;
async function listening(gateway: TestGateway): Promise<boolean> {
  const client = await openRaw(gateway.port).catch(() => null);
  client?.destroy();
  return client !== null;
}

describe('on SIGTERM', () => {
  test('readiness fails at once, while requests are served and clients are asked one by one to reconnect, until the delay is over', async () => {
    const { gateway } = await front({ delay: '10s', drain: '5s' });
    expect(await ready(gateway)).toBe(200);
    const clients = await Promise.all(Array.from({ length: 40 }, () => gateway.connect()));
    const stay = async () => {
      const responses = await Promise.all(clients.map(client => client.ask(head('GET /a'))));
      return responses.filter(response => header(response, 'connection') !== 'close').length;
    };
    expect(await stay()).toBe(40);
    gateway.signal('SIGTERM');
    await waitFor('it is not ready', async () => (await ready(gateway)) === 503);
    await waitFor('a client is asked', async () => (await stay()) < 40);
    expect((await gateway.ask(head('GET /b'))).status).toBe(200);
    expect((await gateway.admin('/healthz')).status).toBe(200);
    await waitFor('nobody listens', async () => !(await listening(gateway)));
    expect(await gateway.exit).toBe(0);
  });

  test('requests in flight are finished: one that waits, one in its response, one in its body', async () => {
    const told = Promise.withResolvers<void>();
    const { upstream, gateway } = await frontHere(async exchange => {
      if (exchange.request.target === '/answer')
        await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello');
      await exchange.received();
      await told.promise;
      if (exchange.request.target === '/answer') await exchange.send('again');
      else await exchange.answer(200, [], 'done');
    });
    const [waits, responses, sends] = [
      await gateway.connect(),
      await gateway.connect(),
      await gateway.connect(),
    ];
    await waits.send(head('GET /wait'));
    await responses.send(head('GET /answer'));
    const body = withBody('POST /body', 'hello');
    await sends.send(body.slice(0, -3));
    await waitFor('all are upstream', () => upstream.requests.length === 3 && responses.bytesRead > 0);
    const drained = gateway.app.drain();
    await waitFor('nobody listens', async () => !(await listening(gateway)));
    await sends.send(body.slice(-3));
    told.resolve();
    expect((await waits.answer()).body.toString()).toBe('done');
    expect((await responses.answer()).body.toString()).toBe('helloagain');
    expect((await sends.answer()).body.toString()).toBe('done');
    expect(await inTime(gateway.time, drained)).toBe(true);
  });

  test('a request on a connection that was idle is served, told to close, and the last', async () => {
    const { gateway } = await frontHere();
    const client = await gateway.connect();
    expect((await client.ask(head('GET /a'))).status).toBe(200);
    const drained = gateway.app.drain();
    await waitFor('nobody listens', async () => !(await listening(gateway)));
    const response = await client.ask(head('GET /b'));
    expect(response.status).toBe(200);
    expect(header(response, 'connection')).toBe('close');
    expect(await client.ended()).toBe('close');
    expect(await inTime(gateway.time, drained)).toBe(true);
  });

  test('even a connection that was idle for long is kept for a moment', async () => {
    const { gateway } = await frontHere();
    const { time } = gateway;
    const [client, idle] = [await gateway.connect(), await gateway.connect()];
    for (const each of [client, idle]) expect((await each.ask(head('GET /a'))).status).toBe(200);
    time.advance(30_000);
    const drained = gateway.app.drain();
    await waitFor('nobody listens', async () => !(await listening(gateway)));
    time.advance(700);
    const response = await client.ask(head('GET /b'));
    expect(header(response, 'connection')).toBe('close');
    time.advance(2_000);
    expect(await idle.ended()).toBe('close');
    expect(await drained).toBe(true);
  });

  test('under load nothing that was accepted is lost', async () => {
    const { upstream, gateway } = await front({ delay: '300ms', drain: '20s' }, async exchange => {
      await exchange.received();
      await sleep(exchange.request.bodyBytes % 7);
      await exchange.answer(200, [], 'ok');
    });
    let answered = 0;
    const lost: unknown[] = [];
    let closes = false;
    /** The kernel resets connections that the gateway has not accepted yet when it stops listening. */
    const wasAccepted = (error: Error, asked: number) =>
      !closes || asked > 0 || !error.message.includes('reset');
    /** Asks on one connection until it is told that this was the last response. */
    const ask = async (worker: number): Promise<void> => {
      for (let round = 0; ; round++) {
        const client = await openRaw(gateway.port).catch(() => null);
        if (client === null) return;
        let last = false;
        for (let asked = 0; !last; asked++) {
          const response = await client
            .ask(withBody('POST /a', 'x'.repeat((worker + round) % 50)))
            .catch(error => error);
          if (response instanceof Error) {
            if (wasAccepted(response, asked)) lost.push(response.message);
          } else if (response.status !== 200 || !response.complete) lost.push(response.status);
          else answered++;
          last = response instanceof Error || header(response, 'connection') === 'close';
        }
        client.destroy();
      }
    };
    const workers = Array.from({ length: 20 }, (_, worker) => ask(worker));
    await waitFor('they are at work', () => answered > 200);
    closes = true;
    gateway.signal('SIGTERM');
    await Promise.all(workers);
    expect(lost).toEqual([]);
    expect(await gateway.exit).toBe(0);
    expect(upstream.requests).toHaveLength(answered);
  });

  dear('a second one ends it at once, with the access lines of all workers', async () => {
    const upstream = await startUpstream();
    const config = { workers: 2, shutdown: { delay: '10m', drain: '5s' }, log: { level: 'info' } };
    const gateway = await startGatewayProcess({ upstreamPort: upstream.port, config });
    gateway.signal('SIGTERM');
    await waitFor('it is not ready', async () => (await ready(gateway)) === 503);
    await Promise.all(Array.from({ length: 20 }, () => gateway.ask(head('GET /a'))));
    gateway.signal('SIGTERM');
    expect(await gateway.exit).toBe(143);
    await waitFor('all lines are read', () => gateway.output.split('"type":"access"').length === 21);
  });

  test('what does not end in the drain time is broken off', async () => {
    const told = Promise.withResolvers<void>();
    const { upstream, gateway } = await frontHere(async exchange => {
      if (exchange.request.target === '/endless') return await exchange.gone;
      await told.promise;
      await exchange.answer(200);
    });
    const [client, other] = [await gateway.connect(), await gateway.connect()];
    await client.send(head('GET /endless'));
    await other.send(head('GET /a'));
    await waitFor('both are upstream', () => upstream.requests.length === 2);
    const drained = gateway.app.drain();
    await waitFor('nobody listens', async () => !(await listening(gateway)));
    expect(client.end).toBeNull();
    told.resolve();
    expect((await other.answer()).status).toBe(200);
    gateway.time.advance(20_000);
    expect(await drained).toBe(false);
    await client.ended();
  });
});
