import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeAll, expect, test } from 'vitest';
import { installBalancers, startNginx } from '../support/balancers.ts';
import { CHECKOUT } from '../support/documents.ts';
import { type ConfigPart, startGateway } from '../support/gateway.ts';
import { startUpstream, values } from '../support/wire/index.ts';

/** A client that nginx can tell from itself. */
const CLIENT = '127.0.0.9';

const DOCUMENT = readFileSync(join(CHECKOUT, 'docs/balancers.md'), 'utf8');
const [HTTP = '', STREAM = ''] = Array.from(
  DOCUMENT.matchAll(/^```nginx\n([\s\S]*?)^```$/gm),
  ([, code]) => code,
);

beforeAll(installBalancers);

test('behind nginx as an HTTP proxy, as documented, upstreams hear of the client and of no address that it made up', async () => {
  expect(await forwardedThrough(`http {\n${HTTP}}`, {})).toEqual([`${CLIENT}, 127.0.0.1`]);
});

test('behind nginx as a TCP proxy, as documented, upstreams hear of the client', async () => {
  const listen = { http: { address: '127.0.0.1:0', proxy_protocol: true }, admin: '127.0.0.1:0' };
  expect(await forwardedThrough(`stream {\n${STREAM}}`, { listen })).toEqual([CLIENT]);
});

/** Sends a request through this nginx with the documented addresses replaced, and returns what the upstream hears. */
async function forwardedThrough(section: string, config: ConfigPart): Promise<readonly string[]> {
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { trusted_proxies: ['127.0.0.1'], ...config },
  });
  const nginx = await startNginx(port =>
    section
      .replaceAll(/server 10\.1\.0\.\d+:\d+;/g, `server 127.0.0.1:${gateway.port};`)
      .replace(/listen \d+;/, `listen 127.0.0.1:${port};`),
  );
  const status = await new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: nginx,
      localAddress: CLIENT,
      agent: false,
      headers: { 'x-forwarded-for': '192.0.2.66' },
    };
    request(options, response => buffer(response).then(() => resolve(response.statusCode), reject))
      .on('error', reject)
      .end();
  });
  expect(status).toBe(200);
  return values(upstream.requests.at(-1)?.fields ?? [], 'x-forwarded-for');
}
