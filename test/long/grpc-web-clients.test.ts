import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, fetch as undiciFetch } from 'undici';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { installBrowser, startBrowser } from '../support/browser.ts';
import { startGateway } from '../support/gateway.ts';
import {
  bundleWebClients,
  FAILED,
  loadWebClients,
  startWebService,
  type WebCallOptions,
  type WebResult,
  type WebService,
  webRoute,
} from '../support/grpc-web.ts';
import { H2C } from '../support/http2-client.ts';
import { tempText } from '../support/temp.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';

beforeAll(installBrowser);

type Call = (options: Omit<WebCallOptions, 'base' | 'client'>) => Promise<WebResult>;

/** A service behind a gateway, and a client that calls it. */
interface Front {
  readonly service: WebService;
  readonly call: Call;
}

const LIMITS = 'global: off\nbuckets: { b: { address: 2/1h } }\nroutes: { GRPC test.v1.Echo/Unary: b }\n';

/** Starts a gateway whose clients speak HTTP/1.1, or HTTP/2 over TLS. */
async function startFront(version: '1.1' | '2', cors: object | 'off') {
  const service = await startWebService();
  const limits = await tempText('limits.yaml', LIMITS);
  const all = { ...webRoute(service.port), limits, cors };
  const gateway =
    version === '1.1'
      ? await startGateway({ upstreamPort: service.port, config: { listen: H2C, ...all } })
      : (await startTlsGateway({ config: all })).gateway;
  return { service, base: `http${version === '2' ? 's' : ''}://127.0.0.1:${gateway.port}` };
}

/** connect-web in this process. */
async function startNode(version: '1.1' | '2'): Promise<Front> {
  const { base, ...front } = await startFront(version, 'off');
  const clients = await loadWebClients();
  const dispatcher = new Agent({ allowH2: version === '2', connect: { ca: AUTHORITY.certificate } });
  onTestFinished(() => dispatcher.destroy());
  const fetch = async (url: string, options: object) => {
    const response = await undiciFetch(url, { ...options, dispatcher });
    // HTTP/2 has no such field.
    expect(response.headers.has('connection')).toBe(version === '1.1');
    return response;
  };
  return { ...front, call: options => clients.call({ ...options, base, client: 'connect' }, fetch) };
}

/** Serves a page with the clients, and returns its origin. */
async function servePage(): Promise<string> {
  const script = await bundleWebClients('iife');
  const pages = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(`<!doctype html><script>${script.replaceAll('</script', '<\\/script')}</script>`);
  });
  pages.listen(0, '127.0.0.1');
  await once(pages, 'listening');
  onTestFinished(() => {
    pages.close();
    pages.closeAllConnections();
  });
  return `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
}

/** @param streams whether the client hands on the messages of a stream as they come */
async function expectCalls({ call, service }: Front, streams: boolean): Promise<void> {
  const unary = await call({ method: 'Unary', text: 'grüße', metadata: { 'x-mark': 'a' } });
  expect(unary).toMatchObject({ code: 0, messages: ['grüße'], metadata: { 'x-end': 'two' } });
  expect(service.metadata[0]?.get('x-mark')).toEqual(['a']);
  const stream = await call({ method: 'Download', text: '100' });
  expect(stream.messages).toEqual(Array.from({ length: 100 }, (_, i) => String(i + 1)));
  expect(stream.code).toBe(0);
  const failed = { code: FAILED.code, message: FAILED.details, metadata: { 'x-why': 'because' } };
  expect(await call({ method: 'Unary', text: 'fail' })).toMatchObject(failed);
  const late = await call({ method: 'Download', text: '2 fail' });
  expect(late).toMatchObject({ ...failed, messages: ['1', '2'] });
  if (streams) {
    await call({ method: 'Download', text: '1 wait', stopAfter: 1 });
    await expect.poll(() => service.open[0]?.cancelled).toBe(true);
  }
  expect(await call({ method: 'Download', text: '0 wait', timeoutMs: 300 })).toMatchObject({ code: 4 });
  // The bucket had two.
  const refused = await call({ method: 'Unary', text: 'a' });
  expect(refused).toMatchObject({ code: 8, messages: [], message: 'You are being rate limited.' });
  expect(Number(refused.metadata['retry-after'])).toBeGreaterThan(3_000);
  expect(refused.metadata['x-ratelimit-remaining']).toBe('0');
}

test.each(['1.1', '2'] as const)('connect-web calls from Node.js over HTTP/%s', async version => {
  await expectCalls(await startNode(version), true);
});

test('connect-web and grpc-web call from a page of another origin, as text and as bytes', async () => {
  const origin = await servePage();
  const page = await (await startBrowser()).open(origin);
  for (const [version, client] of [
    ['2', 'connect'],
    ['1.1', 'text'],
    ['2', 'text'],
    ['1.1', 'binary'],
  ] as const) {
    const { base, service } = await startFront(version, { origins: [origin], allow_headers: ['X-Mark'] });
    const call: Call = options =>
      page.run(`return clients.call(${JSON.stringify({ ...options, base, client })})`);
    await expectCalls({ service, call }, client !== 'binary');
  }
});
