import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import { changeLimits, serves } from '../support/edit-config.ts';
import { startGateway } from '../support/gateway.ts';
import { accessLines } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { tempText } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { startUpstream } from '../support/wire/index.ts';

/** A gateway with these limits behind a proxy. `ask` sends a request of a client at this address. */
async function start(limits: object) {
  const upstream = await startUpstream(async exchange => {
    await exchange.received();
    await exchange.answer(exchange.request.target === '/missing' ? 401 : 200, [], '');
  });
  const token_file = await tempText('admin-token', ADMIN_TOKEN);
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: {
      limits: await tempText('limits.yaml', stringify(limits)),
      trusted_proxies: ['127.0.0.0/8'],
      listen: { http: '127.0.0.1:0', admin: { address: '127.0.0.1:0', token_file } },
      log: { level: 'info', access: true },
    },
  });
  const ask = async (from: string, target = '/a') =>
    (await gateway.ask(head(`GET ${target}`, `X-Forwarded-For: ${from}`))).status;
  const askAll = async (clients: readonly string[], target?: string) => {
    const statuses: number[] = [];
    for (const client of clients) statuses.push(await ask(client, target));
    return statuses;
  };
  return { upstream, gateway, ask, askAll, api: await ApiClient.of(gateway) };
}

const TWICE = { global: { address: '2/1h' } };
/** The embedded forms of two IPv4 addresses, in the spellings of proxies. */
const FORMS = [
  ['the well-known prefix', '64:ff9b::198.51.100.7', '64:FF9B::C633:6408'],
  ['the IPv4-translated form', '::ffff:0:198.51.100.7', '[::ffff:0:c633:6408]:443'],
  ['6to4', '2002:c633:6407::1', '2002:C633:6408:0:0:0:0:1'],
  ['Teredo', '2001:0:4136:e378:8000:63bf:39cc:9bf8', '2001:0:4136:e378:8000:63bf:39cc:9bf7'],
  ['a prefix of the file', '2001:db8:64::198.51.100.7', '[2001:db8:64:0::c633:6408]'],
] as const;

describe.each(FORMS)('an IPv4 address in %s', (_, client, stranger) => {
  test('shares its limits with that address, and with no other', async () => {
    const { ask, askAll } = await start({ ...TWICE, nat64_prefixes: ['2001:db8:64::/96'] });
    expect(await askAll([client, client, client, stranger, '198.51.100.7'])).toEqual([
      200, 200, 429, 200, 429,
    ]);
    expect(await ask('198.51.100.8')).toBe(200);
    expect(await ask(stranger)).toBe(429);
  });

  test('is blocked with that address, and with the prefix', async () => {
    const limits = { nat64_prefixes: ['2001:db8:64::/96'], blocked: { addresses: ['198.51.100.7'] } };
    const { gateway, ask, askAll } = await start(limits);
    expect(await askAll([client, stranger])).toEqual([429, 200]);
    const networks = ['64:ff9b::/96', '::ffff:0:0:0/96', '2002::/16', '2001::/32', '2001:db8:64::c633:0/112'];
    await changeLimits(gateway, { ...limits, blocked: { addresses: networks } });
    await serves(gateway, 2);
    expect(await askAll([client, stranger, '198.51.100.7', '2001:db8:65::1'])).toEqual([429, 429, 200, 200]);
    expect(await ask('198.51.100.8')).toBe(200);
  });
});

test('one abuser behind a translator is restricted, and no other client of it', async () => {
  const { askAll, api } = await start({ invalid_requests: { limit: '2/1h', restrict_for: '1h' } });
  const [abuser, stranger] = ['64:ff9b::198.51.100.7', '64:ff9b::203.0.113.9'];
  expect(await askAll([abuser, abuser, abuser], '/missing')).toEqual([401, 401, 401]);
  expect(await askAll([abuser, stranger, '198.51.100.7', '2002:c633:6407::5'])).toEqual([429, 200, 429, 429]);
  const listed = await api.call('GET', `/api/restrictions?address=${abuser}`);
  expect(listed.body).toMatchObject({ total: 1, restrictions: [{ address: '198.51.100.7' }] });
});

describe('never_restrict looks at the address as it is', () => {
  const invalid_requests = { limit: '1/1h', restrict_for: '1h' };

  test('so a listed IPv4 address spares nobody who embeds it, nor is it restricted for them', async () => {
    const { askAll } = await start({ invalid_requests, never_restrict: ['198.51.100.0/24'] });
    const [native, nat64, tunnel] = ['198.51.100.7', '64:ff9b::198.51.100.7', '2002:c633:6407::1'];
    await askAll([native, native, native], '/missing');
    expect(await askAll([native, nat64])).toEqual([200, 200]);
    await askAll([nat64, tunnel], '/missing');
    expect(await askAll([nat64, tunnel, native, '64:ff9b::198.51.100.8'])).toEqual([429, 429, 200, 200]);
  });

  test('also where it is blocked', async () => {
    const blocked = { addresses: ['198.51.100.0/24', '64:ff9b::/96'] };
    const { askAll } = await start({ blocked, never_restrict: ['198.51.100.7', '64:ff9b::198.51.100.8'] });
    expect(
      await askAll(['198.51.100.7', '64:ff9b::198.51.100.7', '198.51.100.8', '64:ff9b::198.51.100.8']),
    ).toEqual([200, 429, 429, 200]);
  });
});

test('an embedded address is trusted as a proxy only as it is', async () => {
  const { upstream, ask } = await start(TWICE);
  // If 64:ff9b::127.0.0.1 were the proxy 127.0.0.1, the client would be the address to its left.
  for (const claimed of ['192.0.2.1', '192.0.2.2'])
    expect(await ask(`${claimed}, 64:ff9b::127.0.0.1`)).toBe(200);
  expect(await ask('192.0.2.3, 64:ff9b::127.0.0.1')).toBe(429);
  expect(upstream.requests).toHaveLength(2);
});

test('an operator restricts, sees, resets and lifts a client by any form of its address', async () => {
  const { gateway, ask, askAll, api } = await start(TWICE);
  const [nat64, tunnel] = ['64:ff9b::198.51.100.7', '2002:c633:6407::9'];
  const body = { address: nat64, for: '5m' };
  const added = await api.call('POST', '/api/restrictions', { body });
  expect(added).toMatchObject({ status: 201, body: { address: '198.51.100.7' } });
  expect(await askAll([nat64, tunnel, '198.51.100.7', '64:ff9b::198.51.100.8'])).toEqual([
    429, 429, 429, 200,
  ]);
  const path = encodeURIComponent('/a');
  const explained = await api.call('GET', `/api/explain?method=GET&path=${path}&address=${tunnel}`);
  expect(JSON.stringify(explained.body)).toContain('by an operator');
  expect(JSON.stringify(explained.body)).toContain('2002:c633:6407::9 counts as 198.51.100.7');
  const { id } = added.body as { id: string };
  expect((await api.call('DELETE', `/api/restrictions/${id}`)).status).toBe(204);
  expect(await askAll([nat64, tunnel, '198.51.100.7'])).toEqual([200, 200, 429]);
  expect((await api.call('DELETE', `/api/buckets?address=${tunnel}`)).status).toBe(200);
  expect(await ask('198.51.100.7')).toBe(200);
  expect(accessLines(gateway).at(-3)?.client).toBe('2002:c633:6407::9');
  expect(accessLines(gateway)[0]?.client).toBe('64:ff9b::c633:6407');
});

test('other prefixes wait for a restart, and are said to', async () => {
  const { gateway, askAll } = await start({ ...TWICE, nat64_prefixes: ['2001:db8:64::/96'] });
  await changeLimits(gateway, { ...TWICE, nat64_prefixes: ['2001:db8:65::/96'] });
  await waitFor('it is pending', async () => {
    const { text } = await gateway.admin('/status.json');
    return text.includes('"nat64_prefixes"') && text.includes('2001:db8:65::/96');
  });
  const clients = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
  expect(await askAll(clients.map(each => `2001:db8:64::${each}`))).toEqual([200, 200, 200]);
  expect(await askAll(clients.map(each => `2001:db8:65::${each}`))).toEqual([200, 200, 429]);
});
