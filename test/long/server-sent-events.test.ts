import { beforeAll, describe, expect, test } from 'vitest';
import { installBrowser, type Page, startBrowser } from '../support/browser.ts';
import { EventStreams } from '../support/event-streams.ts';
import { startGateway } from '../support/gateway.ts';
import { startGatewayOf } from '../support/identity-gateway.ts';
import { startIssuer, validFor } from '../support/test-issuer.ts';
import { startTlsGateway } from '../support/tls-gateway.ts';
import { header, type Script, startUpstream } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

beforeAll(installBrowser);

/** Listens to /events and hands out its messages one by one. */
const LISTENER = `<!doctype html><title>listener</title><script>
  const messages = [];
  let heard = () => {};
  const source = new EventSource('/events');
  source.onmessage = ({ data }) => { messages.push(data); heard(); };
  async function nextMessage() {
    while (messages.length === 0) await new Promise(resolve => { heard = resolve; });
    return messages.shift();
  }
</script>`;

describe.each(['http/1.1', 'h2'] as const)("a browser's EventSource over %s", version => {
  test('gets each event when it is sent, before the next exists', async () => {
    const { page, streams } = await startListening(version);
    const stream = await streams.next();
    for (let i = 1; i <= 20; i++) {
      await stream.send(`data: ${i}\n\n`);
      expect(await nextMessage(page)).toBe(String(i));
    }
  });

  test('resumes after the last event that it got', async () => {
    const { page, streams } = await startListening(version);
    const first = await streams.next();
    await first.send('retry: 1\nid: 41\ndata: before\n\n');
    expect(await nextMessage(page)).toBe('before');
    await first.end();
    const second = await streams.next();
    expect(header(second.request, 'last-event-id')).toBe('41');
    await second.send('data: after\n\n');
    expect(await nextMessage(page)).toBe('after');
  });
});

describe("a browser's fetch", () => {
  test('reads a stream with a bearer token event by event, until the token expires', async () => {
    const [issuer, streams, time] = [await startIssuer(), new EventStreams(), new FrozenClock(Date.now())];
    const { gateway } = await startGatewayOf(issuer, {
      clock: time,
      routes: [
        { path: '/', authentication: 'none' },
        { path: '/events', close_at_expiry: true },
      ],
      tokens: { leeway: '0s' },
      upstream: async exchange => {
        if (exchange.request.target === '/events') await streams.serve(exchange);
        else await exchange.answer(200, ['Content-Type', 'text/html'], '<!doctype html>');
      },
    });
    const page = await (await startBrowser()).open(`http://127.0.0.1:${gateway.port}/`);
    const [name, value] = issuer.bearer(validFor(60, time)).split(': ');
    await page.run(`
      const response = await fetch('/events', { headers: { '${name}': '${value}' } });
      self.reader = response.body.pipeThrough(new TextDecoderStream()).getReader();`);
    const stream = await streams.next();
    for (let i = 1; i <= 5; i++) {
      await stream.send(`data: ${i}\n\n`);
      expect(await page.run('return (await reader.read()).value')).toBe(`data: ${i}\n\n`);
    }
    time.advance(61_000);
    expect(await page.run('return await reader.read().catch(error => error.name)')).toBe('TypeError');
    await stream.gone;
  });
});

interface Listening {
  readonly page: Page;
  readonly streams: EventStreams;
}

/** A page that listens through the gateway, and the streams that the upstream was asked for. */
async function startListening(version: 'http/1.1' | 'h2'): Promise<Listening> {
  const streams = new EventStreams();
  const script: Script = async exchange => {
    if (exchange.request.target === '/events') await streams.serve(exchange);
    else await exchange.answer(200, ['Content-Type', 'text/html'], LISTENER);
  };
  const url = version === 'h2' ? await startSecure(script) : await startPlain(script);
  const page = await (await startBrowser()).open(url);
  expect(await page.run("return performance.getEntriesByType('navigation')[0].nextHopProtocol")).toBe(
    version,
  );
  return { page, streams };
}

/** Browsers speak HTTP/2 over TLS alone. */
async function startSecure(script: Script): Promise<string> {
  const { gateway } = await startTlsGateway({ script });
  return `https://127.0.0.1:${gateway.port}/`;
}

async function startPlain(script: Script): Promise<string> {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port });
  return `http://127.0.0.1:${gateway.port}/`;
}

function nextMessage(page: Page): Promise<string> {
  return page.run<string>('return await nextMessage()');
}
