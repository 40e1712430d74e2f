import { expect, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { identityConfig } from '../support/identity-gateway.ts';
import { tempFolder } from '../support/temp.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { AUTHORITY, writeIdentity } from '../support/tls-gateway.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

const LOG = { level: 'debug' };
const CALLS = { calls: { url: 'http://127.0.0.1:9', protocol: 'grpc' } };

async function warmedUp(gateway: GatewayProcess, count = 1): Promise<Record<string, unknown>[]> {
  const lines = () => gateway.output.split('\n').filter(line => line.includes('"type":"warm-up"'));
  await waitFor('it has warmed up', () => lines().length === count);
  return lines().map(line => JSON.parse(line));
}

/** That nothing of a warm-up was logged, counted or held. */
async function expectNoTrace(gateway: GatewayProcess): Promise<void> {
  expect(gateway.output).not.toContain('"type":"access"');
  expect(gateway.output).not.toContain('played');
  const { text } = await gateway.admin('/metrics');
  expect(text).not.toContain('played');
  const moved = [
    ...text.matchAll(
      /^(weir_(?:requests|limit_decisions|upstream_requests|errors|sign_ins|tokens)_total\S*) (\d+)$/gm,
    ),
  ];
  expect(moved.length).toBeGreaterThan(0);
  expect(moved.filter(([, , value]) => value !== '0')).toEqual([]);
  const { buckets, upstreams, callers } = JSON.parse((await gateway.admin('/status.json')).text);
  expect(JSON.stringify({ buckets, upstreams, callers })).not.toContain('played');
}

test('a gateway plays requests of each kind to itself before it is ready, with a token, and nothing of them shows', async () => {
  const issuer = await startIssuer();
  const upstream = await startUpstream();
  const settings = await identityConfig(
    { issuer: issuer.url, config: { warm_up: '2s', log: LOG } },
    upstream,
  );
  const upstreams = { api: { url: `http://127.0.0.1:${upstream.port}` }, ...CALLS };
  const gateway = await startGatewayProcess(
    { ...settings, config: { ...settings.config, upstreams } },
    { h2c: true },
  );
  const [line] = await warmedUp(gateway);
  for (const kind of ['http1', 'http2', 'grpc']) expect(line?.[kind]).toBeGreaterThan(0);
  await expectNoTrace(gateway);
  expect(upstream.requests).toEqual([]);
});

test('each worker warms up, over TLS with the certificate of the listener', async () => {
  const upstream = await startUpstream();
  const certificates = [await writeIdentity(await tempFolder(), 'a', AUTHORITY.forHosts('localhost'))];
  const config = { workers: 2, warm_up: '2s', log: LOG };
  const gateway = await startGatewayProcess(
    { upstreamPort: upstream.port, config },
    { tls: { certificates } },
  );
  for (const { http1, http2 } of await warmedUp(gateway, 2))
    expect(Number(http1) + Number(http2)).toBeGreaterThan(0);
  await expectNoTrace(gateway);
  expect(upstream.requests).toEqual([]);
});

test('a gateway without warm_up does not', async () => {
  const upstream = await startUpstream();
  const gateway = await startGatewayProcess({ upstreamPort: upstream.port, config: { log: LOG } });
  expect(gateway.output).not.toContain('warm-up');
});
