import { describe, expect, test } from 'vitest';
import { changeConfig } from '../support/edit-config.ts';
import { type ConfigPart, type LocalGateway, startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

const WARNING =
  'sends X-Forwarded-For and is not in trusted_proxies: all of its clients count as one address';

async function front(config: ConfigPart = {}): Promise<LocalGateway> {
  const upstream = await startUpstream();
  return startGateway({
    upstreamPort: upstream.port,
    config: { log: { level: 'info', access: false }, ...config },
  });
}

/** A proxy on this machine passes on one request of each client, three times. */
async function forward(gateway: LocalGateway, clients: readonly string[], field = 'X-Forwarded-For') {
  const proxy = await gateway.connect();
  for (let round = 0; round < 3; round++) {
    for (const client of clients)
      expect((await proxy.ask(head('GET /a', `${field}: ${client}`))).status).toBe(200);
  }
}

const warnings = ({ logLines }: LocalGateway) =>
  logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'proxy');
const listed = async (gateway: LocalGateway) =>
  JSON.parse((await gateway.admin('/status.json')).text).unlistedProxies;

const clients = Array.from({ length: 30 }, (_, i) => `203.0.113.${i + 1}`);

describe('an unlisted proxy', () => {
  test('is named once in the log, and on the status page, until it is listed', async () => {
    const gateway = await front();
    await forward(gateway, clients);
    expect(warnings(gateway)).toMatchObject([
      { level: 'warn', address: '127.0.0.1', field: 'X-Forwarded-For', msg: `127.0.0.1 ${WARNING}` },
    ]);
    expect(await listed(gateway)).toEqual([
      {
        address: '127.0.0.1',
        field: 'X-Forwarded-For',
        since: expect.stringMatching(/^\d{4}-.*Z$/),
        message: `127.0.0.1 ${WARNING}`,
      },
    ]);
    expect((await gateway.admin('/status')).text).toContain(WARNING);

    await changeConfig(gateway, { trusted_proxies: ['127.0.0.1'] });
    await waitFor('the proxy is trusted', async () => (await listed(gateway)).length === 0);
    await forward(gateway, clients);
    expect(warnings(gateway)).toHaveLength(1);
    expect((await gateway.admin('/status')).text).not.toContain('is not in trusted_proxies');
  });

  test('is named if it is in front of a listed one', async () => {
    const gateway = await front({ trusted_proxies: ['127.0.0.1'] });
    await forward(
      gateway,
      clients.map(client => `${client}, 10.9.9.9`),
    );
    expect(warnings(gateway).map(({ msg }) => msg)).toEqual([`10.9.9.9 ${WARNING}`]);
  });
});

test('a scanner that tries addresses of allowed clients is not taken for a proxy', async () => {
  const gateway = await front();
  const tried = [
    ...['127.0.0.1', 'localhost', '10.0.0.1', '192.168.1.1', '172.16.0.1', '8.8.8.8', '::1', "' OR 1=1"],
  ];
  await forward(gateway, Array(25).fill(tried).flat());
  expect(warnings(gateway)).toEqual([]);
  expect(await listed(gateway)).toEqual([]);
});
