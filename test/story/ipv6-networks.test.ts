import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { changeConfig } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

const limitsOf = (ipv6_prefix: number, more = {}) =>
  stringify({ ipv6_prefix, global: { address: '2/1h' }, ...more });

async function start(limits: string) {
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: { limits: await tempText('limits.yaml', limits), trusted_proxies: ['127.0.0.0/8'] },
  });
  const ask = async (from: string) => (await gateway.ask(head('GET /', `X-Forwarded-For: ${from}`))).status;
  return { gateway, ask };
}

test('addresses of one network count as one, as long as the prefix says', async () => {
  const { ask } = await start(limitsOf(56));
  expect([await ask('2001:db8:1:200::1'), await ask('2001:db8:1:2ff::1')]).toEqual([200, 200]);
  expect(await ask('2001:db8:1:2aa::7')).toBe(429);
  expect(await ask('2001:db8:1:300::1')).toBe(200);
  expect(await ask('192.0.2.7')).toBe(200);
});

test('another prefix waits for a restart, and is said to', async () => {
  const { gateway, ask } = await start(limitsOf(56));
  await ask('2001:db8:1:200::1');
  await changeConfig(gateway, { limits: await tempText('limits.yaml', limitsOf(64)) });
  await waitFor('it is pending', async () => {
    const { text } = await gateway.admin('/status.json');
    return text.includes('"ipv6_prefix"');
  });
  expect([await ask('2001:db8:1:2ff::1'), await ask('2001:db8:1:2aa::1')]).toEqual([200, 429]);
});

test('a network is blocked, and spared, by what counts as one address', async () => {
  const { ask } = await start(limitsOf(48, { blocked: { addresses: ['2001:db8:5::/48'] } }));
  expect(await ask('2001:db8:5:77::1')).toBe(429);
  expect(await ask('2001:db8:6:77::1')).toBe(200);
});
