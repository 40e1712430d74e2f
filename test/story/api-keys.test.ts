import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { runCommandLine } from '../../src/cli/index.ts';
import { ApiKeys } from '../../src/identity/auth/index.ts';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import { expectError } from '../support/error-object.ts';
import { type ConfigPart, type LocalGateway, withoutWorkers } from '../support/gateway.ts';
import { accessLines, type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import { collect } from '../support/memory.ts';
import { clientKey, hashOfToken, proofOf } from '../support/proofs.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { tempFolder } from '../support/temp.ts';
import { inTime } from '../support/test-clock.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { waitFor } from '../support/wait.ts';
import { closing, openSocket, startWsServer } from '../support/web-sockets.ts';
import { header, type Response, values } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

const CHALLENGE = 'ApiKey header="X-API-Key"';

/** What `weir key new` prints: a key, and its line. */
async function newKey(...args: readonly string[]) {
  const out: string[] = [];
  const terminal = { env: {}, out: (text: string) => void out.push(text), err: () => {} };
  expect(await runCommandLine(['key', 'new', ...args], terminal)).toBe(0);
  const [key = '', line = ''] = out.join('').split('\n');
  return { key: secret(key), line };
}

/** A gateway with API keys, whose file has these lines. */
async function front(
  lines: readonly string[],
  settings: Omit<IdentitySettings, 'issuer'> & { keys?: ConfigPart } = {},
) {
  const { keys = {}, config, ...more } = settings;
  const file = join(await tempFolder(), 'keys.yaml');
  const write = (all: readonly string[]) => writeFile(file, all.length === 0 ? '[]' : `${all.join('\n')}\n`);
  await write(lines);
  const issuer = await startIssuer();
  const routes = [
    { path: '/keys/**', accept: ['api_key'] },
    { path: '/either/**', accept: ['token', 'api_key'] },
    { path: '/perhaps/**', accept: ['token', 'api_key'], authentication: 'optional' },
    { path: '/open/**', authentication: 'none' },
    { path: '/scoped/**', accept: ['api_key'], require: { scopes: ['exports.read'] } },
  ];
  const started = await startGatewayOf(issuer, {
    routes,
    config: { api_keys: { file, ...keys }, ...config },
    ...more,
  });
  const { gateway } = started;
  const get = (path: string, ...fields: readonly string[]): Promise<Response> =>
    gateway.ask(head(`GET ${path}`, ...fields));
  return { issuer, write, get, ...started };
}

const by = (key: string) => `X-API-Key: ${key}`;

test('a key that weir key new prints opens the routes that accept keys, once its line is in the file', async () => {
  const { key, line } = await newKey('--name', 'partner-7');
  const pseudonymKey = join(await tempFolder(), 'pseudonym-key');
  await writeFile(pseudonymKey, Buffer.alloc(32, 7).toString('base64'));
  const log = { level: 'trace', access: true, pseudonym_key_file: pseudonymKey };
  const { gateway, upstream, get } = await front([line], { config: { log } });
  for (const path of ['/keys/a', '/either/a', '/perhaps/a'])
    expect((await get(path, by(key))).status, path).toBe(200);
  for (const { fields } of upstream.requests) {
    expect(values(fields, 'x-auth-subject')).toEqual(['partner-7']);
    expect(values(fields, 'x-auth-client')).toEqual(['partner-7']);
    expect(values(fields, 'x-api-key')).toEqual([]);
    expect(values(fields, 'authorization')).toEqual([]);
  }
  // Where only tokens count, a key is nothing.
  expectInvalidOrMissing(await get('/a', by(key)));
  await expect.poll(() => accessLines(gateway).length).toBe(4);
  expect(accessLines(gateway)[0]).toMatchObject({ class: 'user', caller: await who(gateway, 'partner-7') });
});

/** What `weir who` prints. */
async function who({ configFile }: LocalGateway, name: string): Promise<string> {
  const out: string[] = [];
  const terminal = { env: process.env, out: (text: string) => void out.push(text), err: () => {} };
  expect(await runCommandLine(['who', configFile, '--key', name], terminal)).toBe(0);
  return out.join('').trim();
}

function expectInvalidOrMissing(response: Response): void {
  expectError(response, 401, 16);
  expect(header(response, 'www-authenticate')).toBe('Bearer');
}

test('a key and a token are one too many where both are accepted; else only one of them counts', async () => {
  const { key, line } = await newKey('--name', 'partner-7');
  const { upstream, get, issuer } = await front([line]);
  for (const path of ['/either/a', '/perhaps/a'])
    for (const other of [issuer.bearer(), 'Authorization: Basic eA=='])
      expectError(await get(path, by(key), other), 400, 3);
  expectError(await get('/open/a', by(key), by(key)), 400, 3);
  expect(upstream.requests).toEqual([]);
  expect((await get('/keys/a', by(key), issuer.bearer())).status).toBe(200);
  expect((await get('/a', by(key), issuer.bearer())).status).toBe(200);
  const [ofKey, ofToken] = upstream.requests;
  expect(values(ofKey?.fields ?? [], 'x-auth-subject')).toEqual(['partner-7']);
  expect(values(ofKey?.fields ?? [], 'authorization')).toEqual([]);
  expect(values(ofToken?.fields ?? [], 'x-auth-subject')).toEqual(['alice']);
  expect((await get('/keys/a', issuer.bearer())).status).toBe(401);
});

test('a key needs no proof where tokens do, and a proof with it changes nothing', async () => {
  const { key, line } = await newKey('--name', 'partner-7');
  const { upstream, get, issuer } = await front([line], {
    tokens: { dpop: { mode: 'required', nonce: '5m' } },
    config: { protected_resource: { resource: 'https://api.example.com' } },
  });
  const ada = clientKey();
  const proof = `DPoP: ${secret(proofOf(ada, { htu: 'http://gateway.test/either/a' }))}`;
  for (const path of ['/keys/a', '/either/a', '/perhaps/a'])
    expect((await get(path, by(key), proof)).status).toBe(200);
  expect(upstream.requests.map(({ fields }) => values(fields, 'dpop'))).toEqual([[], [], []]);
  // The challenges: one for tokens, and one for keys, which knows no provider.
  const challengesOf = async (...fields: readonly string[]) => {
    const response = await get('/either/a', ...fields);
    expectError(response, 401, 16);
    return values(response.fields, 'www-authenticate').map(each => each.replace(/algs="[^"]*"/, 'algs'));
  };
  const resource = 'resource_metadata="https://api.example.com/.well-known/oauth-protected-resource"';
  expect(await challengesOf()).toEqual([`DPoP algs, ${resource}`, CHALLENGE]);
  expect(await challengesOf(issuer.bearer())).toEqual([
    `DPoP error="invalid_token", algs, ${resource}`,
    CHALLENGE,
  ]);
  expect(await challengesOf(by('wrong'))).toEqual([
    `DPoP algs, ${resource}`,
    `${CHALLENGE}, error="invalid_key"`,
  ]);
  // A token with its proof is 400 with a key, and passes without it.
  const token = issuer.token({ cnf: ada.cnf });
  const asked = await get('/either/a', `Authorization: DPoP ${token}`, proof);
  const nonce = header(asked, 'dpop-nonce');
  const lines = [
    `Authorization: DPoP ${token}`,
    `DPoP: ${secret(proofOf(ada, { htu: 'http://gateway.test/either/a', ath: hashOfToken(token), nonce }))}`,
  ];
  expectError(await get('/either/a', ...lines, by(key)), 400, 3);
  expect((await get('/either/a', ...lines)).status).toBe(200);
});

describe('the field', () => {
  test('is removed on every route, in every spelling', async () => {
    const { key, line } = await newKey('--name', 'partner-7');
    const { upstream, get, issuer } = await front([line]);
    await get('/open/a', by(key));
    await get('/a', issuer.bearer(), by(key));
    await get('/perhaps/a', by('wrong'));
    await get('/keys/a', by(key), `X_API_Key: ${key}`, `x.api-key: ${key}`);
    expect(upstream.requests).toHaveLength(4);
    for (const { fields } of upstream.requests)
      expect(fields.filter(field => /api.key/i.test(field))).toEqual([]);
  });

  test('is forwarded where the file says so: a valid key, and what came where none is looked at', async () => {
    const { key, line } = await newKey('--name', 'partner-7');
    const { upstream, get, issuer } = await front([line], {
      keys: { forward: true, header: 'X-Partner-Key' },
    });
    const field = `X-Partner-Key: ${key}`;
    await get('/keys/a', field);
    await get('/open/a', 'X-Partner-Key: whatever');
    await get('/perhaps/a', 'X-Partner-Key: whatever');
    await get('/a', issuer.bearer(), field);
    expect(upstream.requests.map(({ fields }) => values(fields, 'x-partner-key'))).toEqual([
      [key],
      ['whatever'],
      [],
      [],
    ]);
  });
});

test('a key has the limits of its class, and the rights of its line', async () => {
  withoutWorkers();
  const partner = await newKey('--name', 'partner-7', '--class', 'partner');
  const robot = await newKey('--name', 'robot', '--bot');
  const { gateway, get } = await front(
    [partner.line.replace(' }', ', scopes: [exports.read] }'), robot.line],
    {
      limits: {
        buckets: { all: { scope: 'user', user: '1/1h', bot: '2/1h', classes: { partner: '3/1h' } } },
        routes: { '/keys/**': 'all' },
      },
    },
  );
  const remainingOf = async (key: string) => header(await get('/keys/a', by(key)), 'x-ratelimit-remaining');
  expect([await remainingOf(partner.key), await remainingOf(robot.key)]).toEqual(['2', '1']);
  expect((await get('/scoped/a', by(partner.key))).status).toBe(200);
  const refused = await get('/scoped/a', by(robot.key));
  expectError(refused, 403, 7);
  expect(values(refused.fields, 'www-authenticate')).toEqual([]);
  const out: string[] = [];
  const terminal = {
    env: process.env,
    out: (line: string) => void out.push(line),
    err: (line: string) => void out.push(line),
  };
  await runCommandLine(['explain', 'GET', '/keys/a', gateway.configFile, '--key', 'partner-7'], terminal);
  expect(out.join('')).toMatch(/required: 401 without a valid API key/);
  expect(out.join('')).toMatch(/as a caller of class partner[\s\S]*bucket: 3 in 1h/);
});

test('unknown keys draw on the budget of their address, and known ones keep passing', async () => {
  withoutWorkers();
  const { key, line } = await newKey('--name', 'partner-7');
  const clock = new FrozenClock(Date.now());
  const { get } = await front([line], { limits: { failed_verifications: '5/1m' }, clock });
  const statuses: number[] = [];
  for (let i = 0; i < 40; i += 1)
    statuses.push((await get('/keys/a', by((await newKey('--name', 'x')).key))).status);
  expect(statuses.filter(status => status === 401)).toHaveLength(15);
  expect(statuses.filter(status => status === 429)).toHaveLength(25);
  expect((await get('/keys/a', by(key))).status).toBe(200);
});

test('a line that goes ends requests and WebSockets of its key, and another key of its name goes on', async () => {
  const [old, next] = [await newKey('--name', 'partner-7'), await newKey('--name', 'partner-7')];
  const digestIn = (line: string) => /[0-9a-f]{64}/.exec(line)?.[0] ?? '';
  const both = stringify([{ name: 'partner-7', sha256: [digestIn(old.line), digestIn(next.line)] }]);
  const server = (await startWsServer()).echo();
  const { gateway, get, write } = await front([both], {
    config: {
      upstreams: { api: { url: `http://127.0.0.1:${server.port}` } },
      routes: [{ path: '/**', upstream: 'api', websocket: true, accept: ['api_key'] }],
      identity_provider: undefined,
      access_tokens: undefined,
    },
  });
  const [first, second] = await Promise.all(
    [old, next].map(({ key }) => openSocket(gateway, '/', { headers: { 'X-API-Key': key } })),
  );
  const ended = closing(first ?? (await Promise.reject()));
  await write([next.line]);
  await gateway.app.reload();
  expect(await inTime(gateway.time, ended)).toEqual([1008, 'token revoked']);
  expect((await get('/a', by(old.key))).status).toBe(401);
  expect(second?.readyState).toBe(1);
  const last = closing(second ?? (await Promise.reject()));
  await write([]);
  await gateway.app.reload();
  expect(await inTime(gateway.time, last)).toEqual([1008, 'token revoked']);
});

test('a stream of a key keeps no file in memory that a reload replaced', async () => {
  const { key, line } = await newKey('--name', 'partner-7');
  const lasting = { path: '/lasting/**', upstream: 'api', websocket: true, accept: ['api_key'] };
  const server = (await startWsServer()).echo();
  const { gateway, get, write } = await front([line], {
    config: { upstreams: { api: { url: `http://127.0.0.1:${server.port}` } }, routes: [lasting] },
  });
  const socket = await openSocket(gateway, '/lasting/a', { headers: { 'X-API-Key': key } });
  const used = new Set<WeakRef<ApiKeys>>();
  const { verify } = ApiKeys.prototype;
  onTestFinished(() => {
    ApiKeys.prototype.verify = verify;
  });
  ApiKeys.prototype.verify = function (...args) {
    used.add(new WeakRef(this));
    return verify.apply(this, args);
  };
  for (let more = 1; more <= 5; more += 1) {
    await write([line, ...(await Promise.all(Array.from({ length: more }, other)))]);
    await gateway.app.reload();
    await get('/lasting/a', by(key));
  }
  expect(used.size).toBe(5);
  await waitFor('those before the last are collected', () => {
    collect();
    return [...used].filter(each => each.deref() !== undefined).length <= 2;
  });
  expect(socket.readyState).toBe(1);
});

/** A line of another key. */
const other = async () => (await newKey('--name', `other-${randomInt(2 ** 40)}`)).line;

test('without a provider services learn the names of keys by identity_headers', async () => {
  const { key, line } = await newKey('--name', 'partner-7');
  const { get, upstream } = await front([line], {
    config: {
      routes: [{ path: '/**', upstream: 'api', accept: ['api_key'] }],
      identity_provider: undefined,
      access_tokens: { identity_headers: { 'X-User': 'sub', 'X-Plan': 'plan' } },
    },
  });
  expect((await get('/a', by(key), 'X-User: root', 'x_plan: gold')).status).toBe(200);
  const { fields } = upstream.onlyRequest;
  expect(values(fields, 'x-user')).toEqual(['partner-7']);
  expect(values(fields, 'x-plan')).toEqual([]);
  expect(values(fields, 'x_plan')).toEqual([]);
});

test('who still waits for a response when its line goes is told what the route accepts', async () => {
  const { key, line } = await newKey('--name', 'partner-7');
  const { gateway, get, write, upstream } = await front([line], {
    upstream: async exchange => await exchange.gone,
  });
  const waiting = ['/keys/a', '/either/a'].map(path => get(path, by(key)));
  await expect.poll(() => upstream.requests.length).toBe(2);
  await write([]);
  await gateway.app.reload();
  const [ofKeys, ofEither] = await inTime(gateway.time, Promise.all(waiting));
  const wrong = `${CHALLENGE}, error="invalid_key"`;
  for (const [response, message, challenges] of [
    [ofKeys, 'A valid API key is required: X-API-Key: <key>.', [wrong]],
    [ofEither, 'A valid access token or API key is required', ['Bearer', wrong]],
  ] as const) {
    expectError(response ?? (await Promise.reject()), 401, 16);
    expect(response?.body.toString()).toContain(message);
    expect(values(response?.fields ?? [], 'www-authenticate')).toEqual(challenges);
  }
});

test('the file may be broken later: what was read stays in force, and the log says where', async () => {
  const { key, line } = await newKey('--name', 'partner-7');
  const { gateway, get, write } = await front([line]);
  await write(['- { name: partner-7 }']);
  await gateway.app.reload();
  expect((await get('/keys/a', by(key))).status).toBe(200);
  expect(gateway.logLines.join('\n')).toContain('missing key \\"sha256\\"');
});

describe('weir key', () => {
  const run = async (...args: readonly string[]) => {
    const out: string[] = [];
    const terminal = {
      env: {},
      out: (text: string) => void out.push(text),
      err: (text: string) => void out.push(text),
    };
    return { code: await runCommandLine(['key', ...args], terminal), out: out.join('') };
  };

  test('prints another key each time, and a line that does not contain it', async () => {
    const [one, other] = [
      await newKey('--name', 'a'),
      await newKey('--name', 'a', '--class', 'gold', '--not-after', '2030-01-01T00:00:00Z'),
    ];
    expect(one.key).not.toBe(other.key);
    expect(one.line).toMatch(/^- \{ name: "a", sha256: "[0-9a-f]{64}" \}$/);
    expect(other.line).toMatch(/", class: "gold", not_after: "2030-01-01T00:00:00Z" \}$/);
  });

  test.each([
    [['new'], '--name: is not a valid name'],
    [['new', '--name', 'a b'], '--name: is not a valid name'],
    [['new', '--name', 'a', '--class', '"'], '--class: is not a valid name'],
    [['new', '--name', 'a', '--class', 'bot'], '--class: has a meaning of its own'],
    [['new', '--name', 'a', '--not-after', 'soon'], '--not-after: expected a moment'],
    [['new', '--name', 'a', '--not-after', '2030-02-30T00:00:00Z'], '--not-after: expected a moment'],
    [['new', '--name', 'a', '--not-after', '2030-01-31T24:00:00Z'], '--not-after: expected a moment'],
    [['new', '--name', 'a', '--not-after', '2030-01-31T00:00:00+99:00'], '--not-after: expected a moment'],
    [['new', '--name', 'a', '--not-after', '2020-01-31T00:00:00Z'], '--not-after is in the past'],
    [['old', '--name', 'a'], 'write weir key new'],
    [[], 'missing'],
  ])('%j is a wrong command line', async (args, message) => {
    const { code, out } = await run(...args);
    expect([code, out]).toEqual([64, expect.stringContaining(message)]);
  });
});

test('the admin API finds a key by its name, explains its limits and restricts it', async () => {
  const [partner, other] = [await newKey('--name', 'partner-7', '--bot'), await newKey('--name', 'other')];
  const file = join(await tempFolder(), 'admin-token');
  await writeFile(file, ADMIN_TOKEN);
  const admin = { address: '127.0.0.1:0', token_file: file };
  const { gateway, get } = await front([partner.line, other.line], {
    config: { listen: { http: '127.0.0.1:0', admin } },
  });
  const api = await ApiClient.of(gateway);
  expect((await api.call('GET', '/api/restrictions?key=unknown')).status).toBe(400);
  expect((await api.call('GET', '/api/restrictions?key=partner-7&client=x')).status).toBe(400);
  const explained = await api.call('GET', '/api/explain?method=GET&path=/keys/a&key=partner-7');
  expect(JSON.stringify(explained.body)).toContain('as a bot');
  const body = { key: 'partner-7', for: '10m' };
  expect((await api.call('POST', '/api/restrictions', { body })).status).toBe(201);
  expect((await get('/keys/a', by(partner.key))).status).toBe(429);
  expect((await get('/keys/a', by(other.key))).status).toBe(200);
});
