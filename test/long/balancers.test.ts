import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { startHaproxy, startNginx } from '../support/balancers.ts';
import { CHECKOUT } from '../support/documents.ts';
import { type ConfigPart, startGateway } from '../support/gateway.ts';
import { startTlsGateway } from '../support/tls-gateway.ts';
import { startUpstream, values } from '../support/wire/index.ts';

/** A client that nginx can tell from itself. */
const CLIENT = '127.0.0.9';

const DOCUMENT = readFileSync(join(CHECKOUT, 'docs/balancers.md'), 'utf8');
const [HTTP = '', STREAM = ''] = Array.from(
  DOCUMENT.matchAll(/^```nginx\n([\s\S]*?)^```$/gm),
  ([, code]) => code,
);

test('behind nginx as an HTTP proxy, as documented, upstreams hear of the client and of no address that it made up', async () => {
  expect(await forwardedThrough({}, nginx(`http {\n${HTTP}}`))).toEqual([`${CLIENT}, 127.0.0.1`]);
});

/** Demands a PROXY header. */
const listen = { http: { address: '127.0.0.1:0', proxy_protocol: true }, admin: '127.0.0.1:0' };

test('behind nginx as a TCP proxy, as documented, upstreams hear of the client', async () => {
  expect(await forwardedThrough({ listen }, nginx(`stream {\n${STREAM}}`))).toEqual([CLIENT]);
});

test.each([
  ['version 1', 'send-proxy'],
  ['version 2', 'send-proxy-v2'],
  ['version 2 with TLVs and a checksum', 'send-proxy-v2 proxy-v2-options crc32c,unique-id,authority'],
])('behind HAProxy with a PROXY header of %s upstreams hear of the client', async (_, options) => {
  expect(await forwardedThrough({ listen }, port => startHaproxy(port, options))).toEqual([CLIENT]);
});

test('HAProxy checks the health of the gateway, by LOCAL of version 2', async () => {
  const upstream = await startUpstream();
  const config = { trusted_proxies: ['127.0.0.1'], listen };
  const gateway = await startGateway({ upstreamPort: upstream.port, config });
  const check = ['option httpchk', 'http-check send meth GET uri /health ver HTTP/1.1 hdr Host weir'];
  await startHaproxy(gateway.port, 'send-proxy-v2 check inter 50ms', check);
  await expect.poll(() => upstream.requests.length).toBeGreaterThan(0);
  expect(upstream.requests[0]?.target).toBe('/health');
  expect(values(upstream.requests[0]?.fields ?? [], 'x-forwarded-for')).toEqual(['127.0.0.1']);
  expect(await gateway.counted('weir_proxy_header_faults_total')).toEqual(new Map());
});

test('HAProxy relays TLS behind its header', async () => {
  const config = { trusted_proxies: ['127.0.0.1'] };
  const { gateway, upstream } = await startTlsGateway({ config, listener: { proxy_protocol: true } });
  expect(await ask(await startHaproxy(gateway.port, 'send-proxy-v2'), requestTls)).toBe(200);
  expect(values(upstream.requests[0]?.fields ?? [], 'x-forwarded-for')).toEqual([CLIENT]);
});

/** Starts an nginx with this section, whose documented addresses are replaced, in front of a port. */
function nginx(section: string) {
  return (gateway: number) =>
    startNginx(port =>
      section
        .replaceAll(/server 10\.1\.0\.\d+:\d+;/g, `server 127.0.0.1:${gateway};`)
        .replace(/listen \d+;/, `listen 127.0.0.1:${port};`),
    );
}

/** What the upstream hears of the address of a request that comes through a balancer. */
async function forwardedThrough(
  config: ConfigPart,
  start: (gateway: number) => Promise<number>,
): Promise<readonly string[]> {
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { trusted_proxies: ['127.0.0.1'], ...config },
  });
  expect(await ask(await start(gateway.port), request)).toBe(200);
  return values(upstream.requests.at(-1)?.fields ?? [], 'x-forwarded-for');
}

/** The status of a request from `CLIENT`, which says that it comes from another address. */
function ask(port: number, by: typeof request | typeof requestTls): Promise<unknown> {
  const headers = { 'x-forwarded-for': '192.0.2.66' };
  const options = { host: '127.0.0.1', port, localAddress: CLIENT, agent: false, headers };
  return new Promise((resolve, reject) =>
    by({ ...options, rejectUnauthorized: false }, response =>
      buffer(response).then(() => resolve(response.statusCode), reject),
    )
      .on('error', reject)
      .end(),
  );
}
