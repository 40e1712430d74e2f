import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { runCommandLine } from '../../../../src/cli/index.ts';
import { readPart } from '../../../../src/config/index.ts';
import { type Report, replayLogs, simulationReport } from '../../../../src/offline/simulation/index.ts';
import { logLine as line, LOG_START_MS as START } from '../../../support/log-line.ts';
import { tempFolder, tempText } from '../../../support/temp.ts';

const LIMITS = `
global: off
buckets: { messages: { main: channel, user: 2/5s } }
routes: { "GET /v1/channels/{channel}/messages": messages }
`;

async function replay(
  texts: readonly (string | Buffer)[],
  {
    store = 'memory',
    limits = LIMITS,
  }: { readonly store?: 'memory' | 'redis'; readonly limits?: string } = {},
): Promise<Report> {
  const folder = await tempFolder();
  const logs = texts.map((_, i) => join(folder, `${i}.log`));
  for (const [i, log] of logs.entries()) await writeFile(log, texts[i] ?? '');
  const loaded = await readPart('limits', await tempText('limits.yaml', limits), {});
  if (!loaded.ok) throw new Error('the limits have errors');
  // Tables for a million counters would be most of what a replay of three lines takes.
  const replayed = await replayLogs({ limits: loaded.limits, logs, store, maxKeys: 1_000 });
  return simulationReport(replayed, loaded.patterns, { store, top: 3 });
}

const refused = ({ refused: { after } }: Report) => after;

test('lines that no gateway wrote are counted and left out', async () => {
  const hostile = [
    'garbage\n',
    '\n',
    `{"type":"access"\n`,
    `{"level":"info","decision":{}}\n`,
    line(0, { decidedAt: 'now' }),
    line(0, { decidedAt: 8.64e15 }),
    line(0, { class: 'no name' }),
    line(0, { decision: '__proto__' }),
    line(0, { path: undefined }),
    `${'x'.repeat(3_000_000)}\n`,
    `${'['.repeat(100_000)}\n`,
    `{"a":[${'['.repeat(50_000)},"decision":"}\n`,
    '\u0000\u00ff\n',
  ];
  const report = await replay([`${hostile.join('')}${line(1)}${line(2)}${line(3)}`]);
  expect(report).toMatchObject({ requests: 3, refused: { after: 1 } });
  expect(report.log.broken).toBeGreaterThanOrEqual(hostile.length - 1);
  expect(report.log.broken + report.log.others).toBe(hostile.length);
});

test('requests are in flight until the line about their end, and one that lasts until its last line', async () => {
  const limits = LIMITS.replace('user: 2/5s', 'concurrent: 1');
  const at = (ms: number) => new Date(START + ms).toISOString();
  const began = { decidedAt: START, sequence: 1, time: at(1_500) };
  const report = await replay(
    [
      [
        line(0, { ...began, type: 'admission' }),
        line(1, { decidedAt: START + 2_000, sequence: 2, time: at(2_000) }),
        line(0, { ...began, time: at(3_000), lasted: true }),
        line(3, { decidedAt: START + 4_000, sequence: 3, time: at(4_000) }),
      ].join(''),
    ],
    { limits },
  );
  expect(refused(report)).toBe(1);
});

test('one line with a wrong time does not carry the clock away', async () => {
  const year = 31_536_000_000;
  const lines = [line(0), line(1), line(year), line(2), line(5_001), line(5_002)];
  expect(await replay([lines.join('')])).toMatchObject({
    requests: 5,
    refused: { after: 1 },
    log: { broken: 1 },
  });
  expect(await replay([[line(year), line(0), line(1), line(2)].join('')])).toMatchObject({
    ...{ requests: 3, refused: { after: 1 }, log: { broken: 1 } },
  });
});

test('a pause of hours is no wrong time', async () => {
  const day = 86_400_000;
  const lines = [0, 1, 2, day, day + 1, day + 2].map(ms => line(ms));
  expect(await replay([lines.join('')])).toMatchObject({
    requests: 6,
    refused: { after: 2 },
    log: { broken: 0 },
  });
});

test('a compressed log that is torn counts up to the tear', async () => {
  const whole = gzipSync([1, 2, 3].map(ms => line(ms)).join(''));
  expect(await replay([whole])).toMatchObject({ requests: 3, log: { torn: [] } });
  const report = await replay([whole.subarray(0, -12)]);
  expect(report.log.torn).toHaveLength(1);
});

test('requests are decided in the order of their decisions, not of their ends', async () => {
  const late = line(3_000, { decidedAt: START, caller: 'alice', status: 200 });
  const report = await replay([[line(10), line(20), line(5_005), late].join('')]);
  // By decision: 0, 10, 20 (refused), 5005.
  expect(refused(report)).toBe(1);
});

test('the files of several gateways are merged, each counted alone or all together', async () => {
  const one = [0, 10, 20].map(ms => line(ms, { instance: 'a' })).join('');
  const two = [5, 15, 25].map(ms => line(ms, { instance: 'b' })).join('');
  expect(refused(await replay([one, two]))).toBe(2);
  expect(refused(await replay([one, two], { store: 'redis' }))).toBe(4);
});

test('a gateway that goes on keeps its counters while others come and go', async () => {
  const others = Array.from({ length: 40 }, (_, i) => line(10 * i + 5, { instance: `b${i}` }));
  const lines = others.flatMap((other, i) => [line(10 * i), other]);
  expect(await replay([lines.join('')])).toMatchObject({ refused: { after: 38 }, log: { restarts: 0 } });
});

test('more gateways at a time than can be simulated are reported', async () => {
  const lines = Array.from({ length: 66 }, (_, i) => line(i, { instance: `b${i % 33}` }));
  expect(await replay([lines.join('')])).toMatchObject({ refused: { after: 0 }, log: { restarts: 33 } });
  expect(await replay([lines.join('')], { store: 'redis' })).toMatchObject({
    ...{ refused: { after: 64 }, log: { restarts: 0 } },
  });
});

test('a stream counts when it begins, and not again at its end', async () => {
  const lines = [line(0, { type: 'admission' }), line(1), line(2_000), line(4_000, { lasted: true })];
  expect(await replay([lines.join('')])).toMatchObject({ requests: 3, refused: { after: 1 } });
});

test('logs of gateways without a common key are refused in words', async () => {
  const of = (keyId: string) => [0, 10, 20].map(ms => line(ms, { instance: keyId, keyId })).join('');
  await expect(replay([of('k'), of('l')])).rejects.toThrow('no common pseudonym key');
});

test('a log that goes on under another key after a restart is replayed', async () => {
  const lines = [
    line(0),
    line(1),
    line(2, { instance: 'b', keyId: 'l' }),
    line(3, { instance: 'b', keyId: 'l' }),
  ];
  expect((await replay([lines.join('')])).requests).toBe(4);
});

test('a unit that a denied request drew is returned when it ended', async () => {
  const limits = LIMITS.replace('user: 2/5s', 'user: 100/5s, resource: 2/5s');
  const denied = { status: 403, time: new Date(START + 100).toISOString() };
  const lines = [line(0, denied), line(10), line(50), line(200)];
  const rows = await replay([lines.join('')], { limits });
  // The third comes before the first is denied, the fourth after.
  expect(refused(rows)).toBe(1);
});

test.each([
  [403, 'offenceAt'],
  [404, 'returnedAt'],
])('a unit that a %i drew is returned at the moment that the log tells by %s', async (status, at) => {
  const limits = LIMITS.replace('user: 2/5s', 'user: 100/5s, resource: 2/5s');
  const denied = { status, time: new Date(START + 100).toISOString(), [at]: START + 50 };
  // The third comes before the first is denied, the fourth after, and both before the line of the first.
  const lines = [line(0, denied), line(10), line(49), line(51)];
  expect(refused(await replay([lines.join('')], { limits }))).toBe(1);
  const late = line(0, { ...denied, [at]: START + 60 });
  expect(refused(await replay([[late, ...lines.slice(1)].join('')], { limits }))).toBe(2);
});

test('what a request cost is charged when it ended, if the log says it', async () => {
  const limits = `global: off
buckets: { b: { user: { limit: 100/5s, unit: cost } } }
routes: { "/v1/**": { bucket: b, cost: { response_field: X-Usage, reserve: 10, most: 80 } } }
`;
  const after = (price: number | undefined, atMs: readonly number[], ended = {}) => {
    const priced = line(0, { price, time: new Date(START + 100).toISOString(), ...ended });
    return replay([[priced, ...atMs.map(ms => line(ms))].join('')], { limits }).then(refused);
  };
  expect(await after(undefined, [110, 120, 130])).toBe(0);
  expect(await after(75, [110, 120, 130])).toBe(1);
  expect(await after(999, [110, 120, 130])).toBe(1);
  expect(await after(75, [10, 20, 30])).toBe(0);
  // What a 404 gives back, at once, is not what its caller drew.
  expect(await after(75, [110, 120, 130], { status: 404, returnedAt: START + 50 })).toBe(1);
});

test.each([
  ['[5xx]', 'GET', { status: 503 }, 0],
  ['[503]', 'GET', { status: 502 }, 3],
  ['[404]', 'GET', { status: 404 }, 0],
  ['[2xx]', 'GET', {}, 0],
  // The gateway's own 502, and a client that left before there was a response.
  ['[502]', 'GET', { status: 502, upstreamMs: null }, 0],
  ['[5xx]', 'GET', { status: 0, upstreamMs: null }, 3],
  // Refused when the log was written: what its service would have said is unknown.
  ['[4xx]', 'GET', { status: 429, decision: 'caller', upstreamMs: null }, 3],
  // Calls are returned by the status that they ended with.
  ['[5xx]', 'GRPC', { status: 200, grpcStatus: 14 }, 0],
  ['[2xx]', 'GRPC', { status: 200, grpcStatus: 14 }, 3],
  ['[2xx]', 'GRPC', { status: 200, grpcStatus: 0 }, 0],
  ['[404]', 'GRPC', { status: 200, grpcStatus: 5 }, 0],
])(
  'a new "give_back: %s" returns a %s with %o, whatever the log said of it',
  async (list, method, ended, after) => {
    const isCall = method === 'GRPC';
    const limits = `
global: off
buckets: { b: { user: 2/day, give_back: ${list} } }
routes: { "${method} ${isCall ? 'a.B/C' : '/v1/channels/{channel}/messages'}": b }
`;
    const ofCall = isCall ? { protocol: 'grpc', path: '/a.B/C' } : {};
    const lines = [0, 1_000, 2_000, 3_000, 4_000].map((ms, at) =>
      // The last two are not given back, so one of them finds the quota as the others left it.
      line(ms, { ...ofCall, ...(at < 3 ? ended : { status: 418, upstreamMs: null }) }),
    );
    expect(refused(await replay([lines.join('')], { limits }))).toBe(after);
  },
);

test('a new word that the log shows as a pseudonym is said to be unanswered', async () => {
  const limits = LIMITS.replace('}\n', '}\n')
    .replace(
      'routes: {',
      'routes: { "GET /v1/channels/pinned/messages": messages2, "POST /v1/channels/pinned/messages": messages2,',
    )
    .replace('buckets: {', 'buckets: { messages2: { user: 1/5s },');
  const { unanswered } = await replay([line(0)], { limits });
  expect(unanswered).toEqual([{ path: '/v1/channels/pinned/messages', word: 'pinned', requests: 1 }]);
  expect((await replay([line(0)])).unanswered).toEqual([]);
});

test('requests draw on the buckets of their host, as the log names it', async () => {
  const limits = `global: off
buckets: { a: { user: 1/5s }, b: { user: 2/5s }, c: { user: 3/5s } }
routes: { "a.test/v1/{x}": a, "*.test/v1/{x}": b, "/v1/{x}": c }
`;
  const asked = (host: string | undefined) =>
    Array.from({ length: 5 }, (_, i) =>
      line(i, { path: '/v1/{7}', ...(host === undefined ? {} : { host }) }),
    ).join('');
  const refusedOf = async (host?: string) => refused(await replay([[asked(host)].join('')], { limits }));
  expect(await refusedOf('a.test')).toBe(4);
  expect(await refusedOf('*.test')).toBe(3);
  expect(await refusedOf()).toBe(2);
});

test('a new host that the log does not name is said to be unanswered', async () => {
  const limits = `global: off\nbuckets: { a: { user: 1/5s } }\nroutes: { "new.test/v1/{x}": a, "*.test/v1/{x}": a, "old.test/v1/{x}": a }\n`;
  const path = '/v1/{7}';
  const lines = [line(0, { path, host: '*.test' }), line(1, { path, host: 'old.test' }), line(2, { path })];
  expect((await replay([lines.join('')], { limits })).unanswered).toEqual([
    { path: 'new.test/v1/{x}', word: 'new.test', requests: 2 },
  ]);
});

test('another main parameter is counted by what the log shows of its values', async () => {
  const path = (guild: string) => ({ path: `/v1/guilds/{${guild}}/channels/{7}` });
  const limits = `global: off\nbuckets: { a: { main: guild, user: 1/5s } }\nroutes: { "/v1/guilds/{guild}/channels/{c}": a }\n`;
  const report = await replay([[line(0, path('1')), line(1, path('1')), line(2, path('2'))].join('')], {
    limits,
  });
  expect(refused(report)).toBe(1);
});

test('blocked addresses are refused and draw nothing, except those never restricted', async () => {
  const limits = `${LIMITS}blocked: { addresses: [198.51.100.0/24] }\nnever_restrict: [198.51.100.7]\n`;
  const from = (ms: number, client: string) => line(ms, { client });
  const lines = [from(0, '198.51.100.1'), from(1, '198.51.100.2'), from(2, '198.51.100.7'), line(3), line(4)];
  const report = await replay([lines.join('')], { limits });
  expect(report.buckets).toMatchObject([
    {
      bucket: 'messages',
      requests: 5,
      refused: { before: 0, after: 3, afterByBlocked: 2, afterByGlobal: 0 },
    },
  ]);
});

test('requests that were refused before the limits are counted, and left out', async () => {
  const early = { decision: undefined, decidedAt: undefined, status: 429 };
  const report = await replay([[line(0), line(1, early), line(2, { ...early, status: 401 })].join('')]);
  expect(report).toMatchObject({ requests: 1, log: { early: 1, others: 1, broken: 0 } });
});

test('refusals that patience would hold first are counted', async () => {
  const lines = [line(0), line(1), line(2_000), line(4_960), line(4_970)].join('');
  const patience = (limits: string) => replay([lines], { limits });
  expect((await patience(`${LIMITS}patience: 50ms\n`)).patience).toEqual({ forMs: 50, requests: 2 });
  expect((await patience(LIMITS)).patience).toBeNull();
});

async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  let text = '';
  const terminal = { env: {}, out: (more: string) => (text += more), err: (more: string) => (text += more) };
  const code = await runCommandLine(['simulate', ...args], terminal);
  return { code, text };
}

test('weir simulate tells in a table who is hit, and how often', async () => {
  const log = await tempText('weir.log', [0, 1, 2, 3].map(ms => line(ms)).join(''));
  const { code, text } = await run('--limits', await tempText('limits.yaml', LIMITS), log);
  expect(code).toBe(0);
  expect(text).toMatch(/^messages +user +4 +0 +2 +1 +100 % +2026-01-01T00:00Z: 2$/m);
  expect(text).toContain('alice  messages: 2 of 4 (before: 0)');
});

test('weir simulate says in words what a log cannot answer', async () => {
  const limits = `${LIMITS}patience: 1s\nblocked: { addresses: [192.0.2.1], callers: [{ client: a, subject: b }] }\n`;
  const early = line(1, { decision: undefined, decidedAt: undefined, status: 429 });
  const lines = [line(0), early, ...[0, 1, 4_500].map(ms => line(ms, { client: '192.0.2.7' }))];
  const log = await tempText('weir.log', lines.join(''));
  const { text } = await run('--limits', await tempText('limits.yaml', limits), log);
  expect(text).toContain('1 of the requests refused after come from blocked addresses or callers.');
  expect(text).toContain(
    'callers under "blocked" cannot be simulated, because the log has only their pseudonyms: those blocked when it was written stay blocked.',
  );
  expect(text).toContain('1 of the requests refused after would first be held (patience 1s)');
  expect(text).toContain('1 request was refused before the limits were checked');
});

test('weir simulate says that a share of callers is another one in a log', async () => {
  const said = async (limits: string) => {
    const log = await tempText('weir.log', line(0));
    const { text } = await run('--limits', await tempText('limits.yaml', limits), log);
    return text.includes('"enforce" picks other callers here');
  };
  expect(await said(LIMITS.replace('user: 2/5s', 'user: 2/5s, enforce: 50%'))).toBe(true);
  expect(await said(LIMITS)).toBe(false);
});

test.each([
  [['x.log'], 64, 'missing --limits'],
  [['--limits', 'l.yaml'], 64, 'missing LOG...'],
  [['--limits', 'l.yaml', '--store', 'disk', 'x.log'], 64, '--store takes memory or redis'],
  [['--limits', '/nowhere.yaml', 'x.log'], 78, 'no such file'],
  [['--limits', 'config/limits.yaml', '/nowhere.log'], 1, '/nowhere.log: no such file'],
  [
    ['--limits', 'config/limits.yaml', 'config'],
    1,
    'config is a folder: name the logs in it, such as config/*.log',
  ],
])('weir simulate %j ends with %d', async (args, code, message) => {
  const ended = await run(...args);
  expect(ended.code).toBe(code);
  expect(ended.text).toContain(message);
});

test('requests that no route takes draw on the global limit, though the log tells no path of them', async () => {
  const unserved = { path: undefined, draws: 'global', bucket: null, status: 404, upstreamMs: null };
  const report = await replay([[0, 1, 2].map(ms => line(ms, unserved)).join('') + line(3)], {
    limits: 'global: { user: 2/1m }\n',
  });
  expect(report).toMatchObject({ requests: 4, refused: { after: 2 }, log: { broken: 0 } });
});
