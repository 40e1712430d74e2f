import { expect, test } from 'vitest';
import { runCommandLine } from '../../../../src/cli/index.ts';
import { readPart } from '../../../../src/config/index.ts';
import { type Report, replayLogs, simulationReport } from '../../../../src/offline/simulation/index.ts';
import { logLine, LOG_START_MS as START } from '../../../support/log-line.ts';
import { tempText } from '../../../support/temp.ts';

type Change = Readonly<Record<string, unknown>>;

const OFF = 'global: off\nwebhook_not_found: off\nignored_refusals: off\n';
const INVALID = `${OFF}invalid_requests: { limit: 2/10s, restrict_for: 5s }\n`;

/** A line of a request that counts at its end. */
function offence(ms: number, change: Change = {}): string {
  const line = JSON.parse(logLine(ms, { status: 401, upstreamMs: null, ...change }));
  return `${JSON.stringify({ ...line, offenceAt: START + ms })}\n`;
}

const UNDECIDED = { decision: undefined, bucket: undefined, status: 429, upstreamMs: null };

/** A line of a request that was refused before its limits were asked. */
function restricted(ms: number, by: string, change: Change = {}): string {
  return logLine(ms, { ...UNDECIDED, class: 'address', caller: undefined, restricted: by, ...change });
}

async function replay(limits: string, ...lines: readonly string[]): Promise<Report> {
  const loaded = await readPart('limits', await tempText('limits.yaml', limits), {});
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  const logs = [await tempText('weir.log', lines.join(''))];
  const replayed = await replayLogs({ limits: loaded.limits, logs, store: 'memory', maxKeys: 10_000 });
  return simulationReport(replayed, loaded.patterns, { store: 'memory', top: 3 });
}

const NONE = { requests: 0, addresses: 0, callers: 0, webhooks: 0 };

test('an address that sends too many invalid requests is restricted, and released on time', async () => {
  const lines = [0, 1, 2].map(ms => offence(ms));
  const other = logLine(5, { client: '192.0.2.9' });
  const report = await replay(INVALID, ...lines, logLine(3), other, logLine(4_981), logLine(4_982));
  expect(report.refused).toEqual({ before: 0, after: 2 });
  expect(report.restrictions).toMatchObject({
    before: NONE,
    after: { ...NONE, requests: 2, addresses: 1 },
  });
  expect(report.buckets).toMatchObject([{ refused: { afterByRestriction: 2, beforeByRestriction: 0 } }]);
});

test('an address on more than a hundred webhooks at once is refused everywhere', async () => {
  const limits = `global: off\ninvalid_requests: off\nignored_refusals: off\nwebhook_not_found: { limit: 1/10s, restrict_for: 60s }\n`;
  const dead = (count: number) =>
    Array.from({ length: 2 * count }, (_, i) =>
      offence(i, { status: 404, upstreamMs: 1, webhook: `h${i >> 1}`, class: 'address', caller: undefined }),
    );
  const elsewhere = () => logLine(900, { class: 'address', caller: undefined });
  const refused = async (count: number) =>
    (await replay(limits, ...dead(count), elsewhere())).restrictions.after;
  expect(await refused(100)).toEqual(NONE);
  expect(await refused(101)).toMatchObject({ requests: 1, addresses: 1 });
});

test('what a restriction refuses does not count, nor what limits refuse for others', async () => {
  const five = [0, 1, 2, 3, 4, 5, 6].map(ms => offence(ms));
  const after = (report: Report) => report.restrictions.after.requests;
  // A restriction that went on counting would last for longer.
  expect(after(await replay(INVALID, ...five, logLine(5_001)))).toBe(4);
  const shared = `${INVALID}buckets: { all: { main: c, resource: 1/1m } }\nroutes: { "/v1/channels/{c}/**": all }\n`;
  expect(after(await replay(shared, ...five))).toBe(0);
  const own = `${INVALID}buckets: { all: { user: 1/1m, scope: user } }\nroutes: { "/**": all }\n`;
  expect(after(await replay(own, ...[0, 1, 2, 3, 4, 5].map(ms => logLine(ms))))).toBe(2);
});

test('refusals that nobody repeats are not known to count', async () => {
  const refused = (ms: number) => offence(ms, { status: 429, decision: 'caller' });
  const { refused: counts, restrictions } = await replay(INVALID, ...[0, 1, 2, 3].map(refused));
  expect(counts).toEqual({ before: 4, after: 0 });
  expect(restrictions.unknown).toEqual({ callers: 0, outcomes: 4 });
});

test('a preflight never counts, nor what comes from an address under never_restrict', async () => {
  const limits = `${INVALID}buckets: { all: { user: 1/1m } }\nroutes: { "/**": all }\nnever_restrict: [192.0.2.7]\n`;
  const preflight = (ms: number) => logLine(ms, { preflight: true });
  const spared = (ms: number) => offence(ms, { client: '192.0.2.7', caller: 'bob' });
  const lines = [0, 1, 2, 3, 4, 5].flatMap(ms => [preflight(ms), spared(ms)]);
  expect((await replay(limits, ...lines)).restrictions.after).toEqual(NONE);
});

test('callers who were under never_restrict stay so where it lists some', async () => {
  const spared = [0, 1, 2, 3, 4].map(ms => offence(ms, { spared: true }));
  const listed = `${INVALID}never_restrict: [{ client: a, subject: b }]\n`;
  expect((await replay(listed, ...spared)).restrictions).toMatchObject({ after: NONE, sparesCallers: true });
  expect((await replay(INVALID, ...spared)).restrictions).toMatchObject({
    after: { requests: 2 },
    sparesCallers: false,
  });
});

test('a caller who ignores waits is restricted, and its address is not', async () => {
  const limits = `global: off\ninvalid_requests: off
ignored_refusals: { limit: 1/1m, restrict_for: 1m }
buckets: { all: { user: 1/10s } }\nroutes: { "/**": all }\n`;
  const lines = [0, 1, 1_500, 1_600, 1_700].map(ms => logLine(ms));
  const { restrictions, refused } = await replay(limits, ...lines, logLine(1_701, { caller: 'bob' }));
  expect(restrictions.after).toEqual({ ...NONE, requests: 1, callers: 1 });
  expect(refused.after).toBe(4);
});

test("a webhook's 404s restrict its address there and nowhere else", async () => {
  const limits = OFF.replace('found: off', 'found: { limit: 1/1m, restrict_for: 1m }');
  const hook = { status: 404, webhook: 'h', class: 'address', caller: undefined, upstreamMs: 1 };
  const calls = [0, 1].map(ms => offence(ms, hook));
  const others = [logLine(3), logLine(4, { ...hook, webhook: 'other' })];
  const { restrictions } = await replay(limits, ...calls, logLine(2, hook), ...others);
  expect(restrictions.after).toEqual({ ...NONE, requests: 1, webhooks: 1 });
});

test('requests that are restricted no more are decided by limits, if their caller is known', async () => {
  const report = await replay(
    `${INVALID}buckets: { all: { user: 1/1m } }\nroutes: { "/**": all }\n`,
    restricted(0, 'address', { class: 'user', caller: 'alice' }),
    restricted(1, 'caller', { class: 'user', caller: 'alice' }),
    restricted(2, 'address', { callerUnknown: true }),
    restricted(3, 'blocked_address', { path: undefined, draws: 'global' }),
  );
  expect(report).toMatchObject({
    requests: 3,
    refused: { before: 3, after: 1 },
    log: { early: 1, broken: 0 },
  });
  expect(report.restrictions).toMatchObject({
    before: { requests: 3, addresses: 1, callers: 1 },
    after: NONE,
    unknown: { callers: 1, outcomes: 2 },
  });
});

test('callers who were blocked stay so where the file blocks some', async () => {
  const lines = [restricted(0, 'blocked_caller', { class: 'user', caller: 'alice' }), logLine(1)];
  const some = `${INVALID}blocked: { callers: [{ client: a, subject: b }] }\n`;
  expect(await replay(some, ...lines)).toMatchObject({
    refused: { before: 1, after: 1 },
    blocksCallers: true,
  });
  expect((await replay(INVALID, ...lines)).refused).toEqual({ before: 1, after: 0 });
});

test('what never came to the limits counts as well', async () => {
  const foreign = [0, 1, 2].map(ms =>
    offence(ms, { ...UNDECIDED, decidedAt: undefined, status: 403, caller: undefined }),
  );
  const report = await replay(INVALID, ...foreign, logLine(3));
  expect(report).toMatchObject({ requests: 1, refused: { after: 1 }, log: { broken: 0 } });
});

test('a refusal that did not count then counts in no replay', async () => {
  const refused = [0, 1, 2].map(ms => logLine(ms, { status: 403 }));
  expect((await replay(INVALID, ...refused, logLine(4))).restrictions).toMatchObject({
    after: { requests: 0 },
  });
});

test('an offence at a moment that cannot be is not believed', async () => {
  const line = JSON.parse(offence(0));
  const wrong = [{ offenceAt: START + 1e9 }, { offenceAt: 'now' }];
  const lines = wrong.map(change => `${JSON.stringify({ ...line, status: 200, ...change })}\n`);
  expect((await replay(INVALID, ...lines, logLine(1), logLine(2))).refused.after).toBe(0);
});

test('weir simulate shows restrictions in a table, and says what it does not know', async () => {
  const limits = `${INVALID}never_restrict: [{ client: a, subject: b }]\n`;
  const lines = [
    ...[restricted(0, 'address'), restricted(1, 'address', { callerUnknown: true })],
    ...[2, 3, 4].map(ms => offence(ms, { status: 401, client: '192.0.2.8' })),
    logLine(5, { client: '192.0.2.8' }),
  ];
  const log = await tempText('weir.log', lines.join(''));
  let text = '';
  const terminal = { env: {}, out: (more: string) => (text += more), err: (more: string) => (text += more) };
  const args = ['simulate', '--limits', await tempText('limits.yaml', limits), log];
  expect(await runCommandLine(args, terminal)).toBe(0);
  expect(text).toMatch(/^before +2 +1 +0 +0$/m);
  expect(text).toMatch(/^after +1 +1 +0 +0$/m);
  expect(text).toContain('1 request that was refused before would be admitted: ');
  expect(text).toContain('cannot be answered: 1 request that was restricted or blocked before');
  expect(text).toContain('callers under "never_restrict" cannot be simulated');
});
