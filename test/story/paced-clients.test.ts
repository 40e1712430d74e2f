import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadLimitTest } from '../../src/config/index.ts';
import { RateLimitError } from '../../src/gateway/index.ts';
import { TestGateway } from '../../src/offline/limit-tests/test-gateway.ts';
import { type LimitedGateway, rateOf, startLimited } from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { runs } from '../support/runs.ts';
import { tempText } from '../support/temp.ts';
import { header, type Response } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

/** A client may round its waits down, and its own window may have begun before ours; less than the slack of a second. */
const EARLY_MS = 8;
const WINDOWS = runs(20, 10);
/** How long a request takes. */
const REQUEST_MS = 1.3;

/** What a response tells a client. Times are in seconds. */
interface Told {
  readonly status: number;
  readonly remaining: number;
  readonly reset: number;
  readonly resetAfter: number;
  /** Of the body of a 429. */
  readonly retryAfter: number;
  readonly retryAfterField: number;
}

/** How long a response tells to wait, in milliseconds, by the number that a client goes by; 0: not at all. */
const PACES: Readonly<Record<string, (told: Told, nowMs: number) => number>> = {
  'Reset-After': ({ remaining, resetAfter }) => (remaining > 0 ? 0 : resetAfter * 1_000),
  Reset: ({ remaining, reset }, nowMs) => (remaining > 0 ? 0 : reset * 1_000 - nowMs),
  retry_after: ({ status, retryAfter }) => (status === 429 ? retryAfter * 1_000 : 0),
  'Retry-After': ({ status, retryAfterField }) => (status === 429 ? retryAfterField * 1_000 : 0),
};

function toldBy(response: Response): Told {
  const { status } = response;
  return {
    ...{ status, ...rateOf(response) },
    retryAfter: status === 429 ? JSON.parse(response.body.toString())['retry_after'] : 0,
    retryAfterField: Number(header(response, 'retry-after')),
  };
}

/** Sends one request after the other, paced by that number. Returns what it saw that it should not have seen. */
async function pace(
  front: LimitedGateway,
  clock: FrozenClock,
  name: string,
  path: string,
  hasOneWindow = true,
): Promise<string[]> {
  const client = await front.gateway.connect();
  const request = head(`GET ${path}`, front.issuer.bearer({ sub: `${name} ${path}` }));
  const wrong: string[] = [];
  let waited = true;
  let last: { readonly reset: number; readonly remaining: number } | null = null;
  const endMs = clock.epochMs() + WINDOWS * 1_000;
  while (clock.epochMs() < endMs) {
    const response = await client.ask(request);
    clock.advance(REQUEST_MS);
    const nowMs = clock.epochMs();
    const { reset, remaining } = rateOf(response);
    if (waited && response.status !== 200) wrong.push(`refused after a wait of what ${name} told`);
    if (hasOneWindow && last !== null && reset < last.reset)
      wrong.push(`Reset went back by ${last.reset - reset}`);
    const early = hasOneWindow && last !== null && reset > last.reset && nowMs < last.reset * 1_000;
    // Of the next window no more is left then: a wait for the end of this one would not do.
    if (early && remaining > 0) wrong.push(`Reset moved before it had passed, with ${remaining} left`);
    last = { reset, remaining };
    const waitMs = PACES[name]?.(toldBy(response), nowMs) ?? 0;
    waited = waitMs > 0 || !/^retry/i.test(name);
    if (waitMs > 0) clock.advance(Math.max(0, waitMs - EARLY_MS));
  }
  client.destroy();
  return wrong;
}

const QUOTAS = [1, 2, 5, 20];

test.each(Object.keys(PACES))('a client that follows %s is never refused, even some ms early', async name => {
  const clock = new FrozenClock(Date.now());
  const front = await startLimited(
    {
      buckets: Object.fromEntries(QUOTAS.map(units => [`of_${units}`, { user: `${units}/1s` }])),
      routes: Object.fromEntries(QUOTAS.map(units => [`GET /of/${units}`, `of_${units}`])),
      ignored_refusals: 'off',
      invalid_requests: 'off',
    },
    { clock },
  );
  for (const units of QUOTAS) expect(await pace(front, clock, name, `/of/${units}`)).toEqual([]);
});

const LISTS = [
  ['2/1s', '5/6s'],
  ['5/6s', '2/1s'],
  ['3/1s', '4/3s', '9/10s'],
  ['1/1s', '5/8s', '6/9s', '12/20s'],
];

test.each(Object.keys(PACES))('nor one that follows %s of several windows', async name => {
  const clock = new FrozenClock(Date.now());
  const front = await startLimited(
    {
      buckets: Object.fromEntries(LISTS.map((user, at) => [`list_${at}`, { user }])),
      routes: Object.fromEntries(LISTS.map((_, at) => [`GET /list/${at}`, `list_${at}`])),
      ignored_refusals: 'off',
      invalid_requests: 'off',
    },
    { clock },
  );
  for (const at of LISTS.keys())
    expect(await pace(front, clock, name, `/list/${at}`, false), `list ${at}`).toEqual([]);
});

/** A short window and some of the calendar, and what they admit in the 40 days from a moment on, over a change of clocks. */
const CALENDAR_LISTS = [
  // On each of 41 dates.
  { user: ['2/1s', '5/day'], from: '2027-03-01T12:00:00Z', admits: 41 * 5 },
  // In the weeks from Monday, May 3, to Saturday, June 12.
  { user: ['7/week', '3/day', '1/2s'], from: '2027-05-03T00:00:00Z', admits: 6 * 7 },
  // In the five dates that are left of September, in October and in the first days of November.
  { user: ['4/1s', '20/month', '6/day'], from: '2027-09-26T12:00:00Z', admits: 20 + 20 + 20 },
];

/** Paces a client as above in virtual time, which has no timers that would fire for weeks. Returns how many were admitted. */
async function paceFor40Days(gateway: TestGateway, name: string, fromMs: number): Promise<number> {
  const request = {
    ...{
      method: 'GET',
      target: '/x',
      protocol: 'http1' as const,
      fields: ['Host', 'a.test'],
      peer: '192.0.2.7',
    },
  };
  let [admitted, atMs, waited] = [0, 0, true];
  while (atMs < 40 * 86_400_000) {
    const { exchange, fields } = await gateway.ask(atMs, request, {
      ...{ status: 200, headers: {}, trailers: {}, takesMs: 0 },
    });
    const of = (field: string) => Number(fields[fields.findIndex(each => each.toLowerCase() === field) + 1]);
    const { error, status } = exchange.response;
    const retryAfter = error instanceof RateLimitError ? error.retryAfterMs / 1_000 : 0;
    if (waited) expect(status, `${name} after ${atMs} ms`).toBe(200);
    if (status === 200) admitted++;
    atMs += REQUEST_MS;
    const waitMs =
      PACES[name]?.(
        {
          ...{
            status,
            retryAfter,
            retryAfterField: of('retry-after'),
            remaining: of('x-ratelimit-remaining'),
          },
          ...{ reset: of('x-ratelimit-reset'), resetAfter: of('x-ratelimit-reset-after') },
        },
        fromMs + atMs,
      ) ?? 0;
    waited = waitMs > 0 || !/^retry/i.test(name);
    if (waitMs > 0) atMs += Math.max(0, waitMs - EARLY_MS);
  }
  return admitted;
}

test.each(Object.keys(PACES))(
  'nor one that follows %s of a short window and one of the calendar',
  async name => {
    for (const { user, from, admits } of CALENDAR_LISTS) {
      const limits = { time_zone: 'Europe/Berlin', buckets: { all: { user } }, routes: { '/x': 'all' } };
      const named = { limits: await tempText('limits.yaml', stringify(limits)), tests: [] };
      const loaded = await loadLimitTest(await tempText('test.yaml', stringify(named)), {});
      if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
      const fromMs = Date.parse(from);
      const { snapshot } = loaded;
      const caps = { ...snapshot.caps, limitKeys: 1_000 };
      const gateway = await TestGateway.of({ ...snapshot, identity: null, caps }, fromMs);
      expect(await paceFor40Days(gateway, name, fromMs), user.join(', ')).toBe(admits);
    }
  },
);
