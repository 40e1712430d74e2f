import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changeConfig, configPart, replaceFile } from '../support/edit-config.ts';
import { type ConfigPart, type LocalGateway, startGateway } from '../support/gateway.ts';
import { agreement, handshake, startRawUpstream } from '../support/raw-web-sockets.ts';
import { head } from '../support/requests.ts';
import { tempFolder } from '../support/temp.ts';
import { type CaptureUpstream, startUpstream, values } from '../support/wire/index.ts';

const HTTPS = 'X-Forwarded-Proto: https';

/** A gateway before two endpoints that say which they are. */
async function front(balance: ConfigPart, config: ConfigPart = {}, count = 2) {
  const endpoints = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      startUpstream(async exchange => {
        await exchange.received();
        return exchange.answer(200, ['Set-Cookie', 'own=1'], String(index));
      }),
    ),
  );
  const urls = endpoints.map(({ port }) => `http://127.0.0.1:${port}`);
  const api = { url: undefined, urls, balance };
  const gateway = await startGateway({
    upstreamPort: 0,
    api,
    config: { trusted_proxies: ['127.0.0.1'], ...config },
  });
  return { gateway, endpoints };
}

/** Sends a request; returns which endpoint answered, and the gateway's cookie. */
async function ask(gateway: LocalGateway, ...lines: string[]) {
  const { status, fields, body } = await gateway.ask(
    head('GET /a', 'X-Forwarded-For: 198.51.100.1', ...lines),
  );
  expect(status).toBe(200);
  const [own, cookie = '', ...others] = values(fields, 'set-cookie');
  expect([own, others]).toEqual(['own=1', []]);
  return { at: Number(body.toString()), cookie, value: cookie.split(';')[0] ?? '' };
}

const cookiesAt = ({ requests }: CaptureUpstream) => values(requests.at(-1)?.fields ?? [], 'cookie');

test('each client stays at its endpoint by a cookie, which no service gets', async () => {
  const { gateway, endpoints } = await front({ cookie: 'weir_node' });
  const first = await ask(gateway);
  expect(first.cookie).toMatch(/^weir_node=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
  for (let i = 0; i < 10; i++)
    expect(await ask(gateway, `Cookie: a=b; ${first.value}; c=d`)).toMatchObject({
      at: first.at,
      cookie: '',
    });
  expect(endpoints.flatMap(({ requests }) => requests)).toHaveLength(11);
  expect(cookiesAt(endpoints[first.at] as CaptureUpstream)).toEqual(['a=b; c=d']);
  await ask(gateway, `Cookie: ${first.value}`);
  expect(cookiesAt(endpoints[first.at] as CaptureUpstream)).toEqual([]);
});

test('the cookie is Secure for clients that came by https', async () => {
  const { gateway } = await front({ cookie: 'weir_node' });
  expect((await ask(gateway, HTTPS)).cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
});

test('gateways with one key know the cookies of each other, and a new key counts by a reload', async () => {
  const file = join(await tempFolder(), 'key');
  await replaceFile(file, 'k'.repeat(32));
  const { gateway } = await front({ cookie: 'weir_node', key_file: file });
  const other = await startGateway({
    upstreamPort: 0,
    api: { url: undefined, ...((await configPart(gateway, 'upstreams'))['api'] as ConfigPart) },
    config: { trusted_proxies: ['127.0.0.1'] },
  });
  const first = await ask(gateway);
  for (let i = 0; i < 4; i++)
    expect(await ask(other, `Cookie: ${first.value}`)).toMatchObject({ at: first.at, cookie: '' });
  await replaceFile(file, 'n'.repeat(32));
  await gateway.app.reload();
  const renewed = await ask(gateway, `Cookie: ${first.value}`);
  expect(renewed.value).not.toBe(first.value);
  expect(renewed.cookie).toMatch(/^weir_node=/);
});

test('without a key of the configuration all workers of a process share one, over reloads', async () => {
  const { gateway } = await front({ cookie: 'weir_node' }, { workers: 2 });
  const first = await ask(gateway);
  // Connections go to the workers in turn.
  for (let i = 0; i < 4; i++)
    expect(await ask(gateway, `Cookie: ${first.value}`)).toMatchObject({ at: first.at, cookie: '' });
  await changeConfig(gateway, { cors: { origins: ['https://app.example'] } });
  await gateway.app.reload();
  expect(await ask(gateway, `Cookie: ${first.value}`)).toMatchObject({ at: first.at, cookie: '' });
});

test('a WebSocket goes to the endpoint of the cookie; its 101 brings one where there is none', async () => {
  const upstreams = await Promise.all(
    [0, 1].map(() => startRawUpstream(({ socket }) => void socket.write(agreement(), 'latin1'))),
  );
  const urls = upstreams.map(({ port }) => `http://127.0.0.1:${port}`);
  const api = { url: undefined, urls, balance: { cookie: 'weir_node' } };
  const gateway = await startGateway({ upstreamPort: 0, api, route: { websocket: true } });
  const open = async (...lines: string[]) => {
    const client = await gateway.connect();
    const { status, fields } = await client.ask(handshake('/live', ...lines));
    expect(status).toBe(101);
    return values(fields, 'set-cookie');
  };
  const [cookie = '', ...others] = await open();
  expect(others).toEqual([]);
  expect(cookie).toMatch(/^weir_node=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
  const at = upstreams.find(({ peers }) => peers.length === 1);
  for (let i = 0; i < 4; i++) expect(await open(`Cookie: ${cookie.split(';')[0]}`)).toEqual([]);
  expect(at?.peers).toHaveLength(5);
  expect(at?.peers.at(-1)?.head).not.toMatch(/cookie/i);
});
