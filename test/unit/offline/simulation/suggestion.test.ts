import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../../src/cli/index.ts';
import { readPart } from '../../../../src/config/index.ts';
import { defineLimit } from '../../../../src/limits/index.ts';
import { Demand, DemandRoom } from '../../../../src/offline/simulation/demand.ts';
import { replayLogs, type Suggestion } from '../../../../src/offline/simulation/index.ts';
import { LOG_START_MS, logLine as line } from '../../../support/log-line.ts';
import { Random } from '../../../support/random.ts';
import { tempFolder, tempText } from '../../../support/temp.ts';

const LIMITS = `# ours
global: { user: 50/1s, bot: 50/1s, address: 50/1s }
buckets:
  messages: { main: channel, user: 2/5s, resource: 9/10s }
  unused: { user: 7/1m }
routes: { "GET /v1/channels/{channel}/messages": messages, /unused: unused }
`;

async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  let text = '';
  const terminal = { env: {}, out: (more: string) => (text += more), err: (more: string) => (text += more) };
  const code = await runCommandLine(['suggest', ...args], terminal);
  return { code, text };
}

async function suggestFor(lines: readonly string[], limits = LIMITS, ...args: string[]): Promise<Suggestion> {
  const file = await tempText('limits.yaml', limits);
  const log = await tempText('weir.log', lines.join(''));
  const { code, text } = await run('--limits', file, '--format', 'json', ...args, log);
  expect(code, text).toBe(0);
  return JSON.parse(text);
}

function limitOf({ limits }: Suggestion, bucket: string | null, callerClass: string) {
  return limits.find(each => each.bucket === bucket && each.class === callerClass);
}

/** A hundred callers, of whom the one with number n sends n requests at once. */
const HUNDRED = Array.from({ length: 100 }, (_, i) =>
  Array.from({ length: i + 1 }, () => line(i, { caller: `c${i}`, path: `/v1/channels/{${i}}/messages` })),
).flat();

test('so many percent of callers stay within the number that is told', async () => {
  const suggestion = await suggestFor(HUNDRED, LIMITS, '--headroom', '50%');
  expect(limitOf(suggestion, 'messages', 'user')).toMatchObject({
    ...{ callers: 100, requests: 5_050, now: 2, callersOverNow: 98, suggested: 149 },
    needs: { 50: 50, 95: 95, 99: 99, '99.9': null, 100: 100 },
  });
  expect(suggestion.unused).toEqual(['unused']);
});

test('fewer callers than a percentile needs get no number of it, and are told', async () => {
  const thirteen = Array.from({ length: 13 }, (_, i) =>
    Array.from({ length: i === 12 ? 87 : 3 }, () =>
      line(i, { caller: `c${i}`, path: `/v1/channels/{${i}}/messages` }),
    ),
  ).flat();
  const messages = limitOf(await suggestFor(thirteen), 'messages', 'user');
  expect(messages).toMatchObject({
    ...{ callers: 13, suggested: null },
    needs: { 50: 3, 95: null, 99: null, '99.9': null, 100: 87 },
  });
  const file = await tempText('limits.yaml', LIMITS);
  const log = await tempText('weir.log', thirteen.join(''));
  const { text } = await run('--limits', file, log);
  expect(text).toMatch(/^messages +user +13 +3 +- +- +- +87 +2\/5s +100 % +-$/m);
  expect(text).not.toContain('Suggested:');
  expect(text).toContain(
    'no number is suggested where fewer than 100 callers were seen, too few to tell what 99 % of them need: global, user (13); messages, user (13); messages, resource (13)',
  );
  // The file keeps its numbers, unless the one who needs most is asked for.
  expect((await run('--limits', file, '--format', 'yaml', log)).text).toContain('user: 2/5s');
  const all = await run('--limits', file, '--format', 'yaml', '--percentile', '100', '--headroom', '0', log);
  expect(all.text).toContain('user: 87/5s');
});

test('both numbers beside a claim are found, each by its own callers, and what the logs do not tell is said', async () => {
  const limits = `global: off
buckets:
  messages: { main: channel, user: { claim: rate, max: 50/5s, otherwise: 2/5s } }
routes: { "GET /v1/channels/{channel}/messages": messages }
`;
  /** A hundred callers who send up to so many requests at once. */
  const callers = (name: string, most: number, change: object = {}) =>
    Array.from({ length: 100 }, (_, i) =>
      Array.from({ length: Math.min(i + 1, most) }, () => line(i, { caller: `${name}${i}`, ...change })),
    ).flat();
  const sold = callers('sold', 30, { numbers: { rate: 90 } });
  const plain = callers('plain', 10);
  const suggestion = await suggestFor([...sold, ...plain], limits, '--headroom', '0');
  expect(suggestion.limits).toMatchObject([
    { claim: 'rate', part: 'max', callers: 100, now: 50, suggested: 30, highestSaid: 90 },
    { claim: 'rate', part: 'otherwise', callers: 100, now: 2, suggested: 10 },
  ]);
  const file = await tempText('limits.yaml', limits);
  const told = async (lines: readonly string[], ...args: string[]) =>
    (await run('--limits', file, '--headroom', '0', ...args, await tempText('weir.log', lines.join(''))))
      .text;
  expect(await told([...sold, ...plain])).toContain(
    'tokens say up to 90 in the claim rate, more than the suggested max: keep what you sell',
  );
  expect(await told([...sold, ...plain], '--format', 'yaml')).toContain(
    'user: { claim: rate, max: 30/5s, otherwise: 10/5s }',
  );
  expect(await told(plain)).toContain(
    'messages, user (otherwise): no token in the logs has a number in the claim rate, so they show nothing about "max": it must allow the largest plan that you sell',
  );
  expect(await told(sold)).toContain('every token has a number, so the logs show nothing about "otherwise"');
  // Of two that do not fit each other, the larger one counts: no token may have less for its number than without.
  const few = callers('sold', 5, { numbers: { rate: 5 } });
  expect(await told([...few, ...plain], '--format', 'yaml')).toContain('max: 10/5s, otherwise: 10/5s');
  expect(await told(callers('plain', 80), '--format', 'yaml')).toContain('max: 50/5s, otherwise: 50/5s');
});

test('the picture shows each limit with the numbers suggested and written', async () => {
  const svg = join(await tempFolder(), 'needs.svg');
  await suggestFor(HUNDRED, LIMITS, '--svg', svg);
  const picture = await readFile(svg, 'utf8');
  const titles = Array.from(picture.matchAll(/font-weight="bold">([^<]*)</g), ([, title]) => title);
  expect(titles).toEqual([
    'global limit, user, in 1s',
    'messages, user, in 5s',
    'messages, resource, in 10s',
  ]);
  expect(picture).toContain('fill="#d9480f" text-anchor="middle">119<');
});

test('a caller is measured by its busiest window, and each main value apart', async () => {
  const at = (ms: number, channel: string) => line(ms, { path: `/v1/channels/{${channel}}/messages` });
  const lines = [at(0, 'a'), at(10, 'b'), at(4_990, 'a'), at(5_010, 'a'), at(5_020, 'a'), at(10_020, 'a')];
  const suggestion = await suggestFor(lines);
  expect(limitOf(suggestion, 'messages', 'user')).toMatchObject({ callers: 1, needs: { 100: 2 } });
  expect(limitOf(suggestion, 'messages', 'resource')).toMatchObject({ callers: 2, needs: { 50: 1, 100: 4 } });
  expect(limitOf(suggestion, null, 'user')).toMatchObject({ callers: 1, needs: { 100: 3 } });
});

test('a request that its service denied is given back to the resource', async () => {
  const lines = [0, 100, 200, 300].map(ms => line(ms, { status: 403 }));
  const suggestion = await suggestFor([...lines, line(400), line(500)]);
  expect(limitOf(suggestion, 'messages', 'resource')).toMatchObject({ needs: { 100: 2 } });
});

test('a request that its bucket gives back is no need of its caller', async () => {
  const limits = LIMITS.replace('main: channel,', 'main: channel, give_back: [2xx],');
  const lines = [0, 100, 200, 300].map(ms => line(ms));
  const suggestion = await suggestFor(
    [...lines, line(400, { status: 418 }), line(500, { status: 418 })],
    limits,
  );
  expect(limitOf(suggestion, 'messages', 'user')).toMatchObject({ needs: { 100: 2 } });
  expect(limitOf(suggestion, 'messages', 'resource')).toMatchObject({ needs: { 100: 2 } });
  // What the log says was returned under other limits counts by these.
  const returned = [0, 100, 200].map(ms => line(ms, { status: 503, returnedAt: LOG_START_MS + ms }));
  expect(limitOf(await suggestFor(returned), 'messages', 'resource')).toMatchObject({ needs: { 100: 3 } });
});

test('days are those of the calendar, in the time zone of the file', async () => {
  const HOUR_MS = 3_600_000;
  const lines = [20, 21, 22, 23, 24, 25].map(hours => line(hours * HOUR_MS));
  const needOf = async (zone: string) => {
    const limits = `time_zone: ${zone}\n${LIMITS.replace('user: 2/5s', 'user: 2/day')}`;
    return limitOf(await suggestFor(lines, limits), 'messages', 'user')?.needs[100];
  };
  expect(await needOf('UTC')).toBe(4);
  expect(await needOf('Europe/Berlin')).toBe(3);
  expect(await needOf('Asia/Tokyo')).toBe(6);
});

test('gateways count alone or together', async () => {
  const lines = [0, 1, 2, 3].map(ms => line(ms, { instance: ms % 2 === 0 ? 'a' : 'b' }));
  expect(limitOf(await suggestFor(lines), 'messages', 'user')?.needs[100]).toBe(2);
  expect(limitOf(await suggestFor(lines, LIMITS, '--store', 'redis'), 'messages', 'user')?.needs[100]).toBe(
    4,
  );
});

/** Bursts and pauses of a few callers in a few channels. */
function traffic(random: Random): string[] {
  let ms = 0;
  return Array.from({ length: 2_000 }, () => {
    ms += random.chance(0.02) ? random.below(8_000) : random.below(60);
    const path = `/v1/channels/{${random.below(4)}}/messages`;
    return line(ms, { caller: `c${random.below(5)}`, path });
  });
}

test.each([
  ['fixed', 1],
  ['fixed', 2],
  ['smooth', 3],
  ['smooth', 4],
])('limits of what all callers need refuse none of their requests (%s, %d)', async (algorithm, seed) => {
  const limits = LIMITS.replace('main: channel,', `main: channel, algorithm: ${algorithm},`);
  const log = await tempText('weir.log', traffic(new Random(seed)).join(''));
  const file = await tempText('limits.yaml', limits);
  const write = join(await tempFolder(), 'new.yaml');
  const args = ['--limits', file, '--percentile', '100', '--headroom', '0', '--write', write, log];
  expect((await run(...args)).code).toBe(0);
  const refusedBy = async (text: string) => {
    const loaded = await readPart('limits', await tempText('limits.yaml', text), {});
    if (!loaded.ok) throw new Error('the limits have errors');
    const { tally } = await replayLogs({
      limits: loaded.limits,
      logs: [log],
      store: 'memory',
      maxKeys: 10_000,
    });
    return tally.rows.reduce((sum, { refused }) => sum + refused.after, 0);
  };
  const written = await readFile(write, 'utf8');
  expect(await refusedBy(written)).toBe(0);
  const lower = (key: string, factor: number) =>
    written.replace(
      new RegExp(`(?<!: )${key}: (\\d+)/`),
      (_, units) => `${key}: ${Math.ceil(units * factor) - 1}/`,
    );
  expect(await refusedBy(lower('global: { user', 1))).toBeGreaterThan(0);
  // What a smooth limit needs is bounded from above, within a third.
  expect(await refusedBy(lower('resource', algorithm === 'fixed' ? 1 : 0.7))).toBeGreaterThan(0);
});

test('the limits.yaml suggested is valid, keeps what is written, and says where its numbers come from', async () => {
  const base = `# ours
global: { user: '50/1s', bot: 50/1s }
buckets:
  messages:   # of channels
    main: channel
    user: &quota 2/5s
    address: *quota
    resource: "\${RESOURCE}"
routes: { "GET /v1/channels/{channel}/messages": messages }
`;
  const file = await tempText('limits.yaml', base);
  const log = await tempText('weir.log.gz', '');
  await writeFile(log, gzipSync(HUNDRED.join('')));
  const write = join(await tempFolder(), 'new.yaml');
  let out = '';
  const terminal = { env: { RESOURCE: '9/10s' }, out: (more: string) => (out += more), err: () => {} };
  const args = ['suggest', '--limits', file, '--format', 'yaml', '--write', write, log];
  expect(await runCommandLine(args, terminal)).toBe(0);
  const written = await readFile(write, 'utf8');
  expect(out).toBe(written);
  const lines = written.split('\n');
  expect(lines[0]).toMatch(
    /^# weir suggest: numbers for 99 % of callers and 20 % more, from 5,050 requests, 2026-/,
  );
  expect(lines.filter(each => !each.includes('# weir suggest'))).toEqual([
    '# ours',
    "global: { user: '119/1s', bot: 50/1s }",
    'buckets:',
    '  messages:   # of channels',
    '    main: channel',
    '    user: &quota 119/5s',
    '    address: *quota',
    '    resource: 119/10s',
    'routes: { "GET /v1/channels/{channel}/messages": messages }',
    '',
  ]);
  expect(written).toContain(
    '    # weir suggest: user: 99 % of 100 callers of class user need at most 99 in 5s; was 2\n    user:',
  );
  expect(await readPart('limits', write, {})).toMatchObject({ ok: true });

  // Once more on its own result: the comments are replaced, not repeated.
  const again = await run('--limits', write, '--format', 'yaml', log);
  expect(again.text.match(/# weir suggest/g)).toHaveLength(written.match(/# weir suggest/g)?.length ?? 0);
});

test('a quota that several classes share suffices for each of them', async () => {
  const lines = [
    ...[0, 1, 2].map(ms => line(ms)),
    ...[0, 1, 2, 3, 4].map(ms => line(ms, { class: 'bot', caller: 'bot' })),
  ];
  const file = await tempText('limits.yaml', LIMITS);
  const log = await tempText('weir.log', lines.join(''));
  const { text } = await run(
    '--limits',
    file,
    '--format',
    'yaml',
    '--percentile',
    '100',
    '--headroom',
    '0',
    log,
  );
  expect(text).toContain('messages: { main: channel, user: 5/5s, resource: 8/10s }');
});

test('a folder of limits is written as a folder', async () => {
  const folder = await tempFolder();
  const [one = '', two = ''] = LIMITS.split(/(?=routes)/);
  await writeFile(join(folder, 'a.yaml'), one);
  await writeFile(join(folder, 'b.yaml'), two);
  const target = join(await tempFolder(), 'new');
  const log = await tempText('weir.log', line(0));
  expect((await run('--limits', folder, '--write', target, log)).code).toBe(0);
  expect(await readdir(target)).toEqual(['a.yaml', 'b.yaml']);
  expect(await readPart('limits', target, {})).toMatchObject({ ok: true });
  expect(await run('--limits', folder, '--format', 'yaml', log)).toMatchObject({ code: 64 });
});

test('numbers for limits that are not written are told in a comment', async () => {
  const file = await tempText('limits.yaml', 'patience: 50ms\n');
  const log = await tempText('weir.log', [0, 1, 2].map(ms => line(ms)).join(''));
  const { text } = await run('--limits', file, '--format', 'yaml', '--percentile', '100', log);
  expect(text).toContain('# weir suggest: global.user is not in this file; suggested: 4/1s\n');
});

test('the table names buckets, classes, needs and what is missing', async () => {
  const file = await tempText('limits.yaml', LIMITS);
  const lines = [line(0), line(1, { decision: 'caller' }), line(2), 'garbage\n'];
  const log = await tempText('weir.log', lines.join(''));
  const { code, text } = await run('--limits', file, log);
  expect(code).toBe(0);
  expect(text).toMatch(/^messages +user +1 +- +- +- +- +3 +2\/5s +100 % +-$/m);
  expect(text).toContain('messages, user: 1 of 3 requests were refused');
  expect(text).toContain('no request drew on unused.');
  expect(text).toContain('1 of 4 lines were broken');
});

test('each window of a list is named as it is written: a day, and what requests cost', async () => {
  const limits = LIMITS.replace('2/5s', '[9/5s, 900/day, { limit: 90/day, unit: cost }]');
  const file = await tempText('limits.yaml', limits);
  const log = await tempText('weir.log', [line(0), line(1), line(6_000)].join(''));
  const { text } = await run('--limits', file, log);
  for (const [needs, now] of [
    [2, '9/5s'],
    [3, '900/day'],
    [3, '90/day/cost'],
  ])
    expect(text).toMatch(new RegExp(`^messages +user +1 .* ${needs} +${now} `, 'm'));
  expect(text).toContain('messages, user, 5s (1); messages, user, day (1); messages, user, day/cost (1)');
});

test('callers and windows beyond the bounds are counted, not held', () => {
  const quota = { units: 5, periodMs: 1_000 };
  const limit = defineLimit({ role: 'caller', bucket: 'b', main: null, algorithm: 'window', quota });
  const room = new DemandRoom(3, 2);
  const demand = new Demand(limit, room);
  for (const caller of ['a', 'b', 'c', 'd', 'a']) demand.consume(1, caller, caller);
  expect(room).toMatchObject({ callers: 3, windows: 2, unmeasured: 2 });
  demand.consume(2_001, 'c', 'c');
  expect([...demand.needs]).toEqual([1, 1, 2]);
  expect(room).toMatchObject({ windows: 1, unmeasured: 2 });
});

test.each([
  [['x.log'], 64, 'missing --limits'],
  [['--limits', 'l.yaml'], 64, 'missing LOG...'],
  [['--limits', 'l.yaml', '--percentile', '90', 'x.log'], 64, '--percentile takes 50, 95, 99, 99.9 or 100'],
  [['--limits', 'l.yaml', '--headroom', 'much', 'x.log'], 64, '--headroom takes a whole number'],
  [['--limits', 'l.yaml', '--format', 'xml', 'x.log'], 64, '--format takes text, json or yaml'],
  [['--limits', '/nowhere.yaml', 'x.log'], 78, 'no such file'],
  [['--limits', 'config/limits.yaml', '/nowhere.log'], 1, 'weir suggest: /nowhere.log: no such file'],
])('weir suggest %j ends with %d', async (args, code, message) => {
  const ended = await run(...args);
  expect(ended.code).toBe(code);
  expect(ended.text).toContain(message);
});

describe('the rules of restrictions', () => {
  const RULES = 'invalid_requests: { limit: 9/1m, restrict_for: 10m }\nnever_restrict: [198.51.100.0/24]\n';
  /** An address that sends so many requests without a token in two minutes, most of them in the second. */
  const invalid = (n: number, change: Readonly<Record<string, unknown>> = {}) =>
    Array.from({ length: n }, (_, i) => {
      const ms = i === 0 ? 0 : 60_001 + i;
      const counted = { offenceAt: LOG_START_MS + ms, status: 401, upstreamMs: undefined };
      const early = { decision: undefined, decidedAt: undefined, class: 'address', caller: undefined };
      return line(ms, { ...counted, ...early, client: `192.0.2.${n}`, ...change });
    });
  const senders = Array.from({ length: 20 }, (_, i) => invalid(i + 2)).flat();
  const sorted = (lines: readonly string[]) =>
    lines.toSorted((a, b) => JSON.parse(a).time.localeCompare(JSON.parse(b).time));

  test('are measured by the busiest window of each address', async () => {
    const lines = sorted([...senders, ...invalid(99, { client: '198.51.100.1' }), line(70_000)]);
    const { restrictions } = await suggestFor(lines, LIMITS + RULES, '--percentile', '95');
    expect(restrictions).toEqual([
      {
        ...{ rule: 'invalid_requests', by: 'address', periodMs: 60_000, period: '1m', requests: 230 },
        senders: 20,
        needs: { 50: 10, 95: 19, 99: null, '99.9': null, 100: 20 },
        ...{ now: 9, sendersOverNow: 11, suggested: 23 },
      },
    ]);
  });

  test('tell bots and users apart for comparison, and an address on each webhook', async () => {
    const ofUser = invalid(5, {
      decision: 'caller',
      decidedAt: LOG_START_MS,
      class: 'user',
      caller: 'alice',
      status: 429,
    });
    const ofWebhook = invalid(4, {
      webhook: 'h1',
      status: 404,
      decision: 'admitted',
      decidedAt: LOG_START_MS,
      upstreamMs: 1,
    });
    const { restrictions } = await suggestFor(
      sorted([...ofUser, ...ofWebhook]),
      LIMITS + RULES,
      ...['--percentile', '100'],
    );
    expect(restrictions.map(({ rule, by, needs, suggested }) => [rule, by, needs[100], suggested])).toEqual([
      ['invalid_requests', 'address', 4, 5],
      ['invalid_requests', 'user', 4, null],
      ['webhook_not_found', 'webhook', 4, 5],
    ]);
  });

  test('are written with their reasons, and the table says where restrictions have cut the numbers', async () => {
    const file = await tempText('limits.yaml', LIMITS + RULES);
    const cut = line(70_000, {
      decision: undefined,
      decidedAt: LOG_START_MS + 70_000,
      restricted: 'address',
      status: 429,
    });
    const log = await tempText('weir.log', sorted([...senders, line(60_500), cut]).join(''));
    const percentile = ['--percentile', '95'];
    const yaml = await run('--limits', file, '--format', 'yaml', ...percentile, log);
    expect(yaml.text).toContain('invalid_requests: { limit: 23/1m, restrict_for: 10m }');
    expect(yaml.text).toContain(
      '# weir suggest: invalid_requests: 95 % of the 20 addresses that sent any sent at most 19 in 1m; was 9; some were restricted or blocked, which cuts the highest numbers',
    );
    const { text } = await run('--limits', file, ...percentile, log);
    expect(text).toMatch(/^invalid_requests +address +20 +10 +19 +- +- +20 +9\/1m +55\.0 % +23\/1m$/m);
    expect(text).toContain('the highest numbers are too low');
    const without = await tempText('limits.yaml', LIMITS);
    const unwritten = await run('--limits', without, '--format', 'yaml', ...percentile, log);
    expect(unwritten.text).toMatch(
      /# weir suggest: invalid_requests\.limit is not in this file; suggested: \d+\/10m/,
    );
  });

  test('that are off are not measured', async () => {
    const off = 'invalid_requests: off\n';
    const { restrictions } = await suggestFor(sorted([...senders, line(70_000)]), LIMITS + off);
    expect(restrictions).toEqual([]);
  });
});
