import { expect, test } from 'vitest';
import { type LimitedGateway, rateOf, refusalOf, startLimited } from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { sleep } from '../support/wait.ts';
import { header, type Response } from '../support/wire/index.ts';

/** A client may round its waits down, and its own window may have begun before ours; less than the slack of a second. */
const EARLY_MS = 8;
const WINDOWS = 4;
/** The system's clock may be slewed while the test runs, and moments that the gateway has announced do not go back with it. */
const SLEW_S = 0.004;

/** How long a response tells to wait, in milliseconds, by the number that a client goes by; 0: not at all. */
const PACES: Readonly<Record<string, (response: Response) => number>> = {
  'Reset-After': response => (rateOf(response).remaining > 0 ? 0 : rateOf(response).resetAfter * 1_000),
  Reset: response => (rateOf(response).remaining > 0 ? 0 : rateOf(response).reset * 1_000 - Date.now()),
  retry_after: response => (response.status === 429 ? Number(refusalOf(response)['retry_after']) * 1_000 : 0),
  'Retry-After': response => (response.status === 429 ? Number(header(response, 'retry-after')) * 1_000 : 0),
};

/** Sends one request after the other, paced by that number. Returns what it saw that it should not have seen. */
async function pace(front: LimitedGateway, name: string, units: number): Promise<string[]> {
  const client = await front.gateway.connect();
  const request = head(`GET /of/${units}`, front.issuer.bearer({ sub: `${name} ${units}` }));
  const wrong: string[] = [];
  let waited = true;
  let last: { readonly reset: number; readonly remaining: number } | null = null;
  const endMs = performance.now() + WINDOWS * 1_000;
  while (performance.now() < endMs) {
    const response = await client.ask(request);
    const { reset, remaining } = rateOf(response);
    if (waited && response.status !== 200) wrong.push(`refused after a wait of what ${name} told`);
    if (last !== null && reset < last.reset) wrong.push(`Reset went back by ${last.reset - reset}`);
    const early = last !== null && reset > last.reset && Date.now() / 1_000 < last.reset - SLEW_S;
    // Of the next window no more is left then: a wait for the end of this one would not do.
    if (early && remaining > 0) wrong.push(`Reset moved before it had passed, with ${remaining} left`);
    last = { reset, remaining };
    const waitMs = PACES[name]?.(response) ?? 0;
    waited = waitMs > 0 || !/^retry/i.test(name);
    if (waitMs > 0) await sleep(Math.max(0, waitMs - EARLY_MS));
  }
  return wrong;
}

test('a client that follows any one of the numbers is never refused, even some ms early', async () => {
  const quotas = [1, 2, 5, 20];
  const front = await startLimited({
    buckets: Object.fromEntries(quotas.map(units => [`of_${units}`, { user: `${units}/1s` }])),
    routes: Object.fromEntries(quotas.map(units => [`GET /of/${units}`, `of_${units}`])),
    ignored_refusals: 'off',
    invalid_requests: 'off',
  });
  const clients = Object.keys(PACES).flatMap(name => quotas.map(units => pace(front, name, units)));
  expect((await Promise.all(clients)).flat()).toEqual([]);
});
