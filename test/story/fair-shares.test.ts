import { describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { changeConfig } from '../support/edit-config.ts';
import { expectError } from '../support/error-object.ts';
import { type GatewaySettings, type LocalGateway, startGateway } from '../support/gateway.ts';
import { rateOf, startLimited } from '../support/limits.ts';
import { startRedis } from '../support/redis.ts';
import { redisDecides } from '../support/redis-gateway.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import {
  type CaptureUpstream,
  header,
  type RawClient,
  type Response,
  type Script,
  startUpstream,
} from '../support/wire/index.ts';

/** Answers everything but paths with `held` in them: those wait until their connection is gone. */
const holding: Script = async exchange => {
  if (exchange.request.target.includes('held')) await exchange.gone;
  await exchange.received();
  await exchange.answer(200, [], 'ok');
};

/** Two of eight, and the address is what a proxy says. */
const SHARE_OF_TWO: Partial<GatewaySettings> = {
  api: { max_requests: 8 },
  config: { trusted_proxies: ['127.0.0.1'] },
};

async function front(settings: Partial<GatewaySettings> = SHARE_OF_TWO, script: Script = holding) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port, ...settings });
  return { upstream, gateway };
}

const from = (address: string) => `X-Forwarded-For: ${address}`;

/** Sends a request that stays in flight, and waits until it is upstream. */
async function hold(
  { gateway, upstream }: { gateway: LocalGateway; upstream: CaptureUpstream },
  ...lines: string[]
): Promise<RawClient> {
  const client = await gateway.connect();
  const before = upstream.requests.length;
  await client.send(head('GET /held', ...lines));
  await waitFor('it is upstream', () => upstream.requests.length > before);
  return client;
}

function expectOverloaded(response: Response): void {
  expectError(response, 503, 14);
  expect(header(response, 'retry-after')).toMatch(/^[1-9]\d*$/);
}

async function inFlight(gateway: LocalGateway): Promise<number> {
  const { upstreams } = JSON.parse((await gateway.admin('/status.json')).text);
  return upstreams[0].requestsInFlight;
}

describe('of the requests that an upstream takes, one address without a token', () => {
  test('gets a quarter by default: past it 503, while others are served', async () => {
    const { gateway, upstream } = await front();
    const held = [
      await hold({ gateway, upstream }, from('192.0.2.1')),
      await hold({ gateway, upstream }, from('192.0.2.1')),
    ];
    expectOverloaded(await gateway.ask(head('GET /a', from('192.0.2.1'))));
    expect((await gateway.ask(head('GET /a', from('192.0.2.2')))).status).toBe(200);
    expect(upstream.requests).toHaveLength(3);
    held[0]?.reset();
    await waitFor(
      'it has room',
      async () => (await gateway.ask(head('GET /a', from('192.0.2.1')))).status === 200,
    );
  });

  test('gets no more with slow bodies, which reach the upstream late or never', async () => {
    const { gateway } = await front();
    for (let i = 0; i < 2; i++) {
      const client = await gateway.connect();
      await client.send(`${head('POST /a', 'Content-Length: 10', from('192.0.2.1'))}x`);
    }
    await waitFor('both are in flight', async () => (await inFlight(gateway)) === 2);
    expectOverloaded(await gateway.ask(head('GET /a', from('192.0.2.1'))));
    expect((await gateway.ask(head('GET /a', from('192.0.2.2')))).status).toBe(200);
  });
});

test('a share follows a reload', async () => {
  const { gateway, upstream } = await front();
  for (let i = 0; i < 2; i++) await hold({ gateway, upstream }, from('192.0.2.1'));
  expectOverloaded(await gateway.ask(head('GET /a', from('192.0.2.1'))));
  const api = { url: `http://127.0.0.1:${upstream.port}`, max_requests: 8, max_requests_per_caller: '50%' };
  await changeConfig(gateway, { upstreams: { api } });
  await gateway.app.reload();
  expect((await gateway.ask(head('GET /a', from('192.0.2.1')))).status).toBe(200);
});

test('a caller with a token has its own share, across addresses and tokens', async () => {
  const { gateway, upstream, issuer } = await startLimited(
    {},
    { api: { max_requests: 8 }, upstream: holding, config: { trusted_proxies: ['127.0.0.1'] } },
  );
  for (const jti of ['1', '2'])
    await hold({ gateway, upstream }, issuer.bearer({ jti }), from(`192.0.2.${jti}`));
  expectOverloaded(await gateway.ask(head('GET /a', issuer.bearer(), from('192.0.2.3'))));
  const berta = issuer.bearer({ sub: 'berta' });
  expect((await gateway.ask(head('GET /a', berta, from('192.0.2.1')))).status).toBe(200);
  expect((await gateway.ask(head('GET /open/a', from('192.0.2.1')))).status).toBe(200);
});

/** One request in flight, five a minute in the bucket. */
const FULL = {
  limits: {
    buckets: { things: { main: 'id', address: '5/1m', resource: '6/1m' } },
    routes: { '/things/{id}/**': 'things' },
  },
  api: { max_requests: 1 },
};

test('what the upstream has no room for draws on no limit in Redis', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const store = { store: { redis: `redis://127.0.0.1:${redis.port}`, timeout: '1s' } };
  const limits = await tempText('limits.yaml', stringify({ ...FULL.limits, global: { address: '7/1m' } }));
  const { gateway, upstream } = await front({ api: FULL.api, config: { limits, ...store } });
  await redisDecides(gateway);
  // It is full from a route without a bucket, and has room again later.
  const held = await hold({ gateway, upstream });
  for (let i = 0; i < 9; i++) expectOverloaded(await gateway.ask(head('GET /things/7/a')));
  held.reset();
  await waitFor('there is room', async () => (await inFlight(gateway)) === 0);
  const response = await gateway.ask(head('GET /things/7/a'));
  expect([response.status, rateOf(response).remaining]).toEqual([200, 4]);
});

describe('a permit comes back, once, from a request', () => {
  const start = head('POST /held', 'Content-Length: 10');
  const upstreamHas = (upstream: CaptureUpstream, count: number) =>
    waitFor('it is upstream', () => upstream.requests.length === count);

  test.each<[string, (client: RawClient, upstream: CaptureUpstream) => Promise<unknown>]>([
    ['that is answered', async client => await client.ask(head('GET /a'))],
    [
      'whose client leaves before its body',
      async (client, upstream) => {
        await client.send(start);
        await upstreamHas(upstream, 2);
        client.reset();
      },
    ],
    [
      'whose client leaves inside its body',
      async (client, upstream) => {
        await client.send(`${start}hello`);
        await upstreamHas(upstream, 2);
        client.reset();
      },
    ],
    [
      'whose client leaves with the response on its way',
      async (client, upstream) => {
        await client.send(`${start}helloworld`);
        await upstreamHas(upstream, 2);
        client.destroy();
      },
    ],
    [
      'whose client leaves inside the response',
      async client => {
        await client.send(head('GET /endless'));
        await waitFor('the response flows', () => client.bytesRead > 0);
        client.reset();
      },
    ],
    [
      'whose client leaves without having read the response',
      async (client, upstream) => {
        client.pause();
        await client.send(head('GET /endless'));
        await upstreamHas(upstream, 2);
        client.reset();
      },
    ],
    [
      'whose client closes its side and waits',
      async (client, upstream) => {
        await client.send(head('GET /held'));
        await upstreamHas(upstream, 2);
        client.endSending();
      },
    ],
    [
      'whose client closes its side inside its body',
      async (client, upstream) => {
        await client.send(`${start}hello`);
        await upstreamHas(upstream, 2);
        client.endSending();
        expect((await client.answer()).status).toBe(400);
      },
    ],
    [
      'that another is pipelined behind, when the client leaves',
      async (client, upstream) => {
        await client.send(head('GET /held').repeat(3));
        await upstreamHas(upstream, 2);
        client.reset();
      },
    ],
    [
      'pipelined behind another',
      async client => {
        await client.send(head('GET /a').repeat(3));
        for (let i = 0; i < 3; i++) expect((await client.answer()).status).toBe(200);
      },
    ],
    [
      'whose body breaks its framing',
      async (client, upstream) => {
        await client.send(`${head('POST /held', 'Transfer-Encoding: chunked')}5\r\nhello\r\n`);
        await upstreamHas(upstream, 2);
        await client.send('no chunk');
        expect((await client.answer()).status).toBe(400);
      },
    ],
    [
      'whose body is announced too large',
      async client => {
        expect((await client.ask(withBody('POST /a', 'x'.repeat(2_000)))).status).toBe(413);
      },
    ],
    [
      'whose body turns out to be too large',
      async client => {
        expect((await client.ask(inChunks('POST /a', ['x'.repeat(900), 'x'.repeat(900)]))).status).toBe(413);
      },
    ],
    [
      'whose upstream breaks off',
      async client => {
        expect((await client.ask(head('GET /broken'))).status).toBe(502);
      },
    ],
    [
      'whose upstream breaks off inside the response',
      async client => {
        expect((await client.ask(head('GET /half'))).complete).toBe(false);
      },
    ],
    [
      'that was sent twice',
      async (client, upstream) => {
        await client.ask(head('GET /a'));
        upstream.script = async exchange => {
          upstream.script = script;
          exchange.connection.reset();
        };
        expect((await client.ask(head('GET /b'))).status).toBe(200);
      },
    ],
  ])('%s', async (_, happens) => {
    const { gateway, upstream } = await front(
      { api: { max_requests: 8 }, route: { max_body: '1KiB' } },
      script,
    );
    const one = await hold({ gateway, upstream });
    const client = await gateway.connect();
    await happens(client, upstream);
    client.destroy();
    await gateway.time.advanceUntil('one is in flight', async () => (await inFlight(gateway)) === 1);
    // The share of two has room for one more: not for none, and not for two.
    const two = await hold({ gateway, upstream });
    expectOverloaded(await gateway.ask(head('GET /a')));
    for (const held of [one, two]) held.reset();
    await waitFor('none is in flight', async () => (await inFlight(gateway)) === 0);
    expect((await gateway.ask(head('GET /a'))).status).toBe(200);
  });

  const script: Script = async exchange => {
    const { target } = exchange.request;
    if (target === '/broken') exchange.connection.reset();
    else if (target === '/half') {
      await exchange.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello');
      exchange.connection.reset();
    } else if (target === '/endless') {
      await exchange.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (;;) await exchange.send(`4000\r\n${'x'.repeat(0x4000)}\r\n`);
    } else await holding(exchange);
  };
});
