import { once } from 'node:events';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { ADMIN_TOKEN, ApiClient } from '../support/admin-api.ts';
import { type ConfigPart, startGateway } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { identityConfig } from '../support/identity-gateway.ts';
import { PUSH_PATH, pushOf, toAdmin } from '../support/notices.ts';
import { head, withBody } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { tempFolder, tempText } from '../support/temp.ts';
import { clockOfTests, inTime } from '../support/test-clock.ts';
import { startIssuer, type TestIssuer } from '../support/test-issuer.ts';
import { startUpstream } from '../support/wire/index.ts';
import { zoneOfNoon } from '../support/zone-of-noon.ts';

const SIGN_IN = { sign_out: '/v1/users/sign-out', sign_out_ends: 'refresh_token' };
type Gateway = Awaited<ReturnType<typeof startKeeping>>;

interface Restrictions {
  readonly restrictions: readonly { readonly id: string }[];
}

async function startKeeping(
  issuer: TestIssuer,
  folder: string,
  more: ConfigPart = {},
  provider: ConfigPart = {},
) {
  const config = {
    state: folder,
    ...more,
    sign_in: SIGN_IN,
    log: { level: 'info', access: false },
    routes: [
      { path: '/**', upstream: 'api' },
      { path: '/open/**', upstream: 'api', authentication: 'none' },
    ],
  };
  const upstream = await startUpstream();
  const clock = clockOfTests();
  const settings = await identityConfig({ issuer: issuer.url, provider, config, clock }, upstream);
  // It looks a moment after it has taken the folder whether another one has as well.
  const gateway = await inTime(clock, startGateway(settings));
  await inTime(clock, gateway.ready());
  return gateway;
}

const statusOf = async (gateway: Gateway, ...lines: string[]) =>
  (await gateway.ask(head('GET /', ...lines))).status;

async function signOut(gateway: Gateway, bearer: string) {
  const body = JSON.stringify({ refreshToken: secret('a-refresh-token') });
  const asked = withBody(`POST ${SIGN_IN.sign_out}`, body, 'Content-Type: application/json', bearer);
  expect((await gateway.ask(asked)).status).toBe(204);
}

const stateLines = ({ logLines }: Gateway) =>
  logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'state');
const messagesOf = (gateway: Gateway) => stateLines(gateway).map(({ msg }) => String(msg));

describe('with a folder of state', () => {
  test('a session that has ended stays ended over a restart, and the file names no session', async () => {
    const issuer = await startIssuer();
    const folder = await tempFolder();
    const [mine, other] = [issuer.bearer({ sid: 'session-1' }), issuer.bearer({ sid: 'session-2' })];
    const first = await startKeeping(issuer, folder);
    await signOut(first, mine);
    await first.app.drain();
    const text = await readFile(join(folder, 'weir.state'), 'utf8');
    expect(text).not.toContain('session-1');
    expect((await stat(join(folder, 'weir.state'))).mode & 0o777).toBe(0o600);

    const second = await startKeeping(issuer, folder);
    expect([await statusOf(second, mine), await statusOf(second, other)]).toEqual([401, 200]);
    expect(stateLines(second)[0]).toMatchObject({
      // The session, and that tokens of the provider name theirs.
      facts: 2,
      msg: 'continues with the state from before it was stopped',
    });
  });

  test('so does one that a worker ended, at whichever worker its token comes', async () => {
    const issuer = await startIssuer();
    const folder = await tempFolder();
    const bearer = issuer.bearer({ sid: 'session-1' });
    const first = await startKeeping(issuer, folder, { workers: 2 });
    await signOut(first, bearer);
    await first.app.drain();
    const second = await startKeeping(issuer, folder, { workers: 2 });
    const asked = await Promise.all(Array.from({ length: 16 }, () => statusOf(second, bearer)));
    expect(new Set(asked)).toEqual(new Set([401]));
  });

  test('what is known is in the file while the gateway runs, for one that is killed', async () => {
    const issuer = await startIssuer();
    const folder = await tempFolder();
    const gateway = await startKeeping(issuer, folder);
    await signOut(gateway, issuer.bearer({ sid: 'session-1' }));
    const text = () => readFile(join(folder, 'weir.state'), 'utf8').catch(() => '');
    await gateway.time.advanceUntil('the file has the session', async () =>
      (await text()).includes('"revocation:'),
    );
  });

  test('restrictions, lifts and the not-before mark of the provider outlive a restart', async () => {
    const issuer = await startIssuer();
    const folder = await tempFolder();
    const token_file = await tempText('admin-token', ADMIN_TOKEN);
    const limits = await tempText('limits.yaml', 'invalid_requests: { limit: 3/1h, restrict_for: 1h }\n');
    const more = { limits, listen: { http: '127.0.0.1:0', admin: { address: '127.0.0.1:0', token_file } } };
    const start = () => startKeeping(issuer, folder, more, { notices: { not_before_push: 'admin' } });
    const [old, good] = [issuer.bearer({ iat: Math.floor(Date.now() / 1_000) - 60 }), issuer.bearer()];

    const first = await start();
    const push = pushOf(issuer, Math.floor(Date.now() / 1_000) - 30);
    expect((await toAdmin(first, PUSH_PATH, push)).status).toBe(204);
    expect(await statusOf(first, old)).toBe(401);
    while ((await statusOf(first, old)) === 401);
    expect(await statusOf(first, good)).toBe(429);
    await first.app.drain();

    const second = await start();
    expect(await statusOf(second, good)).toBe(429);
    const api = await ApiClient.of(second);
    const { restrictions } = (await api.call('GET', '/api/restrictions')).body as Restrictions;
    await api.call('DELETE', `/api/restrictions/${restrictions[0]?.id}`);
    expect([await statusOf(second, good), await statusOf(second, old)]).toEqual([200, 401]);
    await second.app.drain();

    const third = await start();
    expect([await statusOf(third, good), await statusOf(third, old)]).toEqual([200, 401]);
  });

  test('a file that is torn, foreign or of a newer version never stops the start, and is replaced', async () => {
    const issuer = await startIssuer();
    const bearer = issuer.bearer({ sid: 'session-1' });
    const made = await tempFolder();
    const gateway = await startKeeping(issuer, made);
    await signOut(gateway, bearer);
    await gateway.app.drain();
    const whole = await readFile(join(made, 'weir.state'), 'utf8');
    for (const [text, cause] of [
      [whole.slice(0, -20), 'its checksum is wrong: it is torn or was changed'],
      [whole.replace('revocation', 'Revocation'), 'its checksum is wrong: it is torn or was changed'],
      ['', 'it was not written by a gateway'],
      ['root:x:0:0:root:/root:/bin/bash\n', 'it was not written by a gateway'],
      [whole.replace('"form":1', '"form":2'), 'its format is 2, and this version knows 1'],
    ] as const) {
      const folder = await tempFolder();
      await writeFile(join(folder, 'weir.state'), text);
      const next = await startKeeping(issuer, folder);
      // And none that says that it knows what it knew.
      expect(stateLines(next)).toMatchObject([{ level: 'error', cause }]);
      expect(await statusOf(next, bearer)).toBe(200);
      await signOut(next, bearer);
      await next.app.drain();
      expect(await statusOf(await startKeeping(issuer, folder), bearer)).toBe(401);
    }
  });

  test('a process starts that has nothing else to do meanwhile', async () => {
    const [upstream, state] = [await startUpstream(), await tempFolder()];
    const gateway = await startGatewayProcess({ upstreamPort: upstream.port, config: { state } });
    expect((await gateway.ask(head('GET /'))).status).toBe(200);
    expect(gateway.output).toBe('');
  });

  test('a second gateway goes on without it and says so, and the first one keeps its file', async () => {
    const issuer = await startIssuer();
    const folder = await tempFolder();
    const [first, second] = [await startKeeping(issuer, folder), await startKeeping(issuer, folder)];
    expect(messagesOf(second)).toEqual([
      'another gateway keeps its state in this folder: this one keeps nothing across restarts',
    ]);
    const status = JSON.parse((await second.admin('/status.json')).text);
    expect([status.provider.revocations.outliveRestart, status.state]).toMatchObject([
      false,
      [{ file: 'state', cause: 'another gateway uses the folder', since: expect.any(String) }],
    ]);
    const bearer = issuer.bearer({ sid: 'session-1' });
    await signOut(second, bearer);
    await second.app.drain();
    await first.app.drain();
    expect(await statusOf(await startKeeping(issuer, folder), bearer)).toBe(200);
  });

  test('the socket that a killed gateway left behind locks nothing', async () => {
    const issuer = await startIssuer();
    const folder = await tempFolder();
    const path = join(folder, 'weir.lock');
    await writeFile(path, '');
    expect(messagesOf(await startKeeping(issuer, folder))).toEqual([
      'continues with the state from before it was stopped',
    ]);
  });

  test('a lock that another process answers for is respected', async () => {
    const issuer = await startIssuer();
    const folder = await tempFolder();
    const server = createServer(socket => socket.destroy());
    server.listen(join(folder, 'weir.lock'));
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    expect(messagesOf(await startKeeping(issuer, folder))[0]).toContain('another gateway keeps its state');
  });

  test('a folder that is missing or cannot be written is a line of the log, and requests are served', async () => {
    const issuer = await startIssuer();
    const gateway = await startKeeping(issuer, join(await tempFolder(), 'missing'));
    expect(stateLines(gateway)).toMatchObject([
      {
        level: 'error',
        cause: 'ENOENT',
        msg: 'the state folder cannot be used: nothing is kept across restarts',
      },
    ]);
    expect(await statusOf(gateway, issuer.bearer())).toBe(200);

    const folder = await tempFolder();
    const full = await startKeeping(issuer, folder);
    // A folder in the place of the next file: it can be neither replaced nor written.
    await mkdir(join(folder, 'weir.state.next', 'x'), { recursive: true });
    const status = async () => JSON.parse((await full.admin('/status.json')).text);
    const outlive = async () => (await status()).provider.revocations.outliveRestart;
    expect(await outlive()).toBe(true);
    await signOut(full, issuer.bearer({ sid: 'session-1' }));
    await full.time.advanceUntil('the fault is told', () =>
      messagesOf(full).includes('the state file cannot be written: after a restart it is out of date'),
    );
    expect(await outlive()).toBe(false);
    expect((await status()).state).toMatchObject([{ file: 'state', cause: expect.any(String) }]);
    expect((await full.metric('weir_state_write_failures_total')).get('{file="state"}')).toBeGreaterThan(0);
    expect((await full.admin('/status')).text).toContain('cannot be written: E');
    await rm(join(folder, 'weir.state.next'), { recursive: true });
    await full.time.advanceUntil('it is written again', outlive, 100);
    expect((await status()).state).toMatchObject([{ file: 'state', cause: null, since: null }]);
    expect((await full.metric('weir_state_written_timestamp_seconds')).get('{file="state"}')).toBeGreaterThan(
      0,
    );
  });
});

describe('counters of long windows', () => {
  const limits = {
    time_zone: zoneOfNoon(),
    buckets: {
      ...{ day: { user: '5/18h' }, minute: { user: '5/1m' }, times: { user: '2/18h', main: 'id' } },
      plan: { user: ['9/day', { limit: '50/month', unit: 'cost' }] },
    },
    routes: {
      ...{ '/day': 'day', '/minute': 'minute', '/times/{id}': 'times' },
      '/plan': { bucket: 'plan', cost: 10 },
    },
  };
  const startCounting = async (issuer: TestIssuer, folder: string, more: ConfigPart = {}, rules = limits) => {
    const path = join(await tempFolder(), 'limits.yaml');
    await writeFile(path, stringify({ global: 'off', ...rules }));
    return startKeeping(issuer, folder, { state: { folder, counters: '1h' }, limits: path, ...more });
  };
  const admitted = async (gateway: Gateway, count: number, path: string, bearer: string) => {
    const asked = [];
    for (let i = 0; i < count; i++) asked.push((await gateway.ask(head(`GET ${path}`, bearer))).status);
    return asked.filter(status => status === 200).length;
  };

  test.each([1, 2])(
    'count on after a stop, to the unit, with %i workers; short ones begin anew',
    async workers => {
      const issuer = await startIssuer();
      const folder = await tempFolder();
      const bearer = issuer.bearer();
      const first = await startCounting(issuer, folder, { workers });
      expect(await admitted(first, 3, '/day', bearer)).toBe(3);
      expect(await admitted(first, 3, '/minute', bearer)).toBe(3);
      expect(await admitted(first, 3, '/times/1', bearer)).toBe(2);
      expect(await admitted(first, 3, '/plan', bearer)).toBe(3);
      await first.app.drain();
      const { mode } = await stat(join(folder, 'weir.counters'));
      expect(mode & 0o777).toBe(0o600);

      const second = await startCounting(issuer, folder, { workers });
      expect(stateLines(second).at(-1)).toMatchObject({
        counters: 4,
        msg: 'continues with the counters from before it was stopped',
      });
      expect(await admitted(second, 4, '/day', bearer)).toBe(2);
      expect(await admitted(second, 4, '/plan', bearer)).toBe(2);
      expect(await admitted(second, 6, '/minute', bearer)).toBe(5);
      expect(await admitted(second, 3, '/times/1', bearer)).toBe(0);
      expect(await admitted(second, 3, '/times/2', bearer)).toBe(2);
      expect(await admitted(second, 6, '/day', issuer.bearer({ sub: 'another' }))).toBe(5);
    },
  );

  test('are in the file while the gateway runs, for one that is killed', async () => {
    const issuer = await startIssuer();
    const [folder, copy] = [await tempFolder(), await tempFolder()];
    const bearer = issuer.bearer();
    const first = await startCounting(issuer, folder);
    await admitted(first, 3, '/day', bearer);
    const file = () => readFile(join(folder, 'weir.counters')).catch(() => Buffer.alloc(0));
    // The count of a row, after the header.
    const count = (bytes: Buffer) => bytes.readInt32LE(bytes.indexOf('\n') + 1 + 24);
    await first.time.advanceUntil('the file has the three', async () => {
      const bytes = await file();
      return bytes.length > 200 && count(bytes) === 3;
    });
    await writeFile(join(copy, 'weir.counters'), await file());
    expect(await admitted(await startCounting(issuer, copy), 5, '/day', bearer)).toBe(2);
  });

  test('that cannot be written are a line of the log, and requests are served', async () => {
    const issuer = await startIssuer();
    const folder = await tempFolder();
    const gateway = await startCounting(issuer, folder);
    // A folder in the place of the next file: it can be neither replaced nor written.
    await mkdir(join(folder, 'weir.counters.next', 'x'), { recursive: true });
    expect(await admitted(gateway, 6, '/day', issuer.bearer())).toBe(5);
    await gateway.time.advanceUntil('the fault is told', () =>
      messagesOf(gateway).includes('the counters file cannot be written: it is out of date'),
    );
  });

  test('follow a limit whose number has changed', async () => {
    const issuer = await startIssuer();
    const folder = await tempFolder();
    const bearer = issuer.bearer();
    const first = await startCounting(issuer, folder);
    await admitted(first, 3, '/day', bearer);
    await first.app.drain();
    const buckets = { ...limits.buckets, day: { user: '4/18h' } };
    const second = await startCounting(issuer, folder, {}, { ...limits, buckets });
    expect(await admitted(second, 3, '/day', bearer)).toBe(1);
  });

  test('begin anew, with a line of the log, where the file is torn, foreign or of a newer version', async () => {
    const issuer = await startIssuer();
    const made = await tempFolder();
    const bearer = issuer.bearer();
    const gateway = await startCounting(issuer, made);
    await admitted(gateway, 5, '/day', bearer);
    await gateway.app.drain();
    const whole = await readFile(join(made, 'weir.counters'), 'latin1');
    for (const [text, cause] of [
      [whole.slice(0, -20), 'its checksum is wrong: it is torn or was changed'],
      ['', 'it was not written by a gateway'],
      [
        await readFile(join(made, 'weir.state'), 'latin1').catch(() => 'x'),
        'it was not written by a gateway',
      ],
      [whole.replace('"form":1', '"form":2'), 'its format is 2, and this version knows 1'],
    ] as const) {
      const folder = await tempFolder();
      await writeFile(join(folder, 'weir.counters'), text, 'latin1');
      const next = await startCounting(issuer, folder);
      expect(stateLines(next).find(({ file }) => String(file).endsWith('counters'))).toMatchObject({
        level: 'error',
        cause,
      });
      expect(await admitted(next, 6, '/day', bearer)).toBe(5);
      await next.app.drain();
      expect(await admitted(await startCounting(issuer, folder), 6, '/day', bearer)).toBe(0);
    }
  });
});
