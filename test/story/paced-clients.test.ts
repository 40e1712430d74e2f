import { expect, test } from 'vitest';
import { type LimitedGateway, rateOf, refusalOf, startLimited } from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { header, type Response } from '../support/wire/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';

/** A client may round its waits down, and its own window may have begun before ours; less than the slack of a second. */
const EARLY_MS = 8;
const WINDOWS = 20;
/** How long a request takes. */
const REQUEST_MS = 1.3;

/** How long a response tells to wait, in milliseconds, by the number that a client goes by; 0: not at all. */
const PACES: Readonly<Record<string, (response: Response, nowMs: number) => number>> = {
  'Reset-After': response => (rateOf(response).remaining > 0 ? 0 : rateOf(response).resetAfter * 1_000),
  Reset: (response, nowMs) => (rateOf(response).remaining > 0 ? 0 : rateOf(response).reset * 1_000 - nowMs),
  retry_after: response => (response.status === 429 ? Number(refusalOf(response)['retry_after']) * 1_000 : 0),
  'Retry-After': response => (response.status === 429 ? Number(header(response, 'retry-after')) * 1_000 : 0),
};

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
    const waitMs = PACES[name]?.(response, nowMs) ?? 0;
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
