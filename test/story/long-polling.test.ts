import { describe, expect, test } from 'vitest';
import { Curl, VERSIONS } from '../support/curl.ts';
import { startGateway } from '../support/gateway.ts';
import { H2C } from '../support/http2-client.ts';
import { startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

/** An upstream that answers when the test says so, behind a gateway that lets it have one request at a time. */
async function front(route = {}) {
  const news = Promise.withResolvers<string>();
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    if (exchange.request.target === '/poll')
      await Promise.race([news.promise, exchange.gone]).then(text => exchange.answer(200, [], text ?? ''));
    else await exchange.answer(200, [], 'at once');
  });
  const time = new FrozenClock();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    api: { max_requests: 1, max_requests_per_caller: '100%' },
    route,
    config: { listen: H2C },
    clock: time,
  });
  return { upstream, time, url: `http://127.0.0.1:${gateway.port}`, tell: news.resolve };
}

describe.each(VERSIONS)('a long poll over %s', (_, version) => {
  test('is held until there is something to answer, for longer than its client may be idle', async () => {
    const { upstream, time, url, tell } = await front({ timeouts: { first_byte: '1h' } });
    const curl = new Curl(version, `${url}/poll`);
    await expect.poll(() => upstream.requests.length).toBe(1);
    time.advance(120_000);
    expect(curl.output).toBe('');
    tell('news');
    expect(await curl.ended()).toBe(0);
    expect(curl.output).toBe('news');
  });

  test('is a 504 once the route waits no longer', async () => {
    const { upstream, time, url } = await front({ timeouts: { first_byte: '30s' } });
    const curl = new Curl(version, '-o', '/dev/null', '-w', '%{http_code}', `${url}/poll`);
    await expect.poll(() => upstream.requests.length).toBe(1);
    time.advance(29_000);
    expect(curl.output).toBe('');
    time.advance(2_000);
    expect(await curl.ended()).toBe(0);
    expect(curl.output).toBe('504');
    await expect.poll(() => upstream.openConnections.length).toBe(0);
  });
});
