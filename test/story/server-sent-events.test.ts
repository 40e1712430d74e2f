import { beforeAll, describe, expect, test } from 'vitest';
import { BROWSER_INSTALL_MS, installBrowser, type Page, startBrowser } from '../support/browser.ts';
import { EventStreams } from '../support/event-streams.ts';
import { type LocalGateway, startGateway } from '../support/gateway.ts';
import { header, startUpstream } from '../support/wire/index.ts';

beforeAll(installBrowser, BROWSER_INSTALL_MS);

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

describe("a browser's EventSource", () => {
  test('gets each event when it is sent, before the next exists', async () => {
    const { page, streams } = await startListening();
    const stream = await streams.next();
    for (let i = 1; i <= 20; i++) {
      await stream.send(`data: ${i}\n\n`);
      expect(await nextMessage(page)).toBe(String(i));
    }
  });

  test('reconnects behind the last event that it got', async () => {
    const { page, streams } = await startListening();
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

interface Listening {
  readonly gateway: LocalGateway;
  readonly page: Page;
  readonly streams: EventStreams;
}

/** A page that listens through the gateway, and the streams that the upstream was asked for. */
async function startListening(): Promise<Listening> {
  const streams = new EventStreams();
  const upstream = await startUpstream(async exchange => {
    if (exchange.request.target === '/events') await streams.serve(exchange);
    else await exchange.answer(200, ['Content-Type', 'text/html'], LISTENER);
  });
  const gateway = await startGateway({ upstreamPort: upstream.port });
  const browser = await startBrowser();
  return { gateway, page: await browser.open(`http://127.0.0.1:${gateway.port}/`), streams };
}

function nextMessage(page: Page): Promise<string> {
  return page.run<string>('return await nextMessage()');
}
