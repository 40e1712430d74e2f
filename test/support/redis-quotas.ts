import { expect } from 'vitest';
import type { LocalGateway } from './gateway.ts';
import { head } from './requests.ts';
import { header, type Response, type Script } from './wire/index.ts';
import { zoneOfNoon } from './zone-of-noon.ts';

/** Days, several windows, costs, prices and what goes back: of callers, and of a resource, which a cluster may count on another node. */
export const quotaLimits = () => ({
  time_zone: zoneOfNoon(),
  global: { address: ['99/1m', '999/day'] },
  buckets: {
    sold: {
      ...{ main: 'id', address: ['4/day', { limit: '100/day', unit: 'cost' }], resource: ['90/1m', '5/day'] },
      give_back: ['5xx'],
    },
  },
  routes: {
    'GET /sold/{id}': { bucket: 'sold', cost: { response_field: 'X-Usage', reserve: 10, most: 60 } },
  },
});

/** Tells the price that it is asked to tell: in the head (`x-head`) or in a trailer (`x-trailer`). */
export const quotaService: Script = async exchange => {
  const said = (name: string) => header(exchange.request, name);
  const [first, last, status = '200'] = [said('x-head'), said('x-trailer'), said('x-status')];
  const price = first === undefined ? '' : `X-Usage: ${first}\r\n`;
  const body = last === undefined ? 'Content-Length: 0\r\n\r\n' : 'Transfer-Encoding: chunked\r\n\r\n';
  await exchange.send(`HTTP/1.1 ${status} Fine\r\n${price}${body}`);
  if (last !== undefined) await exchange.send(`0\r\nX-Usage: ${last}\r\n\r\n`);
};

function told(response: Response): readonly unknown[] {
  return [
    response.status,
    ...['x-ratelimit-limit', 'x-ratelimit-remaining'].map(name => Number(header(response, name))),
  ];
}

/** Has callers spend what they have a day of, of requests, of costs and of what they share, and no more. */
export async function expectQuotas(gateway: LocalGateway): Promise<void> {
  const ask = async (target: string, ...lines: string[]) =>
    told(await gateway.ask(head(`GET ${target}`, ...lines)));
  // A price of 30 leaves 70 of 100, and three of four requests.
  expect(await ask('/sold/1', 'X-Head: 30')).toEqual([200, 4, 3]);
  expect(await ask('/sold/1', 'X-Trailer: 25')).toEqual([200, 4, 2]);
  expect(await ask('/sold/1', 'X-Status: 500', 'X-Head: 45')).toEqual([500, 4, 2]);
  expect(await ask('/sold/1', 'X-Head: 60')).toEqual([200, 100, 0]);
  const refused = await gateway.ask(head('GET /sold/1'));
  expect(told(refused)).toEqual([429, 100, 0]);
  expect(Number(header(refused, 'x-ratelimit-reset')) % 3_600).toBe(0);
  expect(Number(header(refused, 'retry-after'))).toBeGreaterThan(10 * 3_600);

  for (const left of [3, 2, 1, 0]) expect(await ask('/sold/2', 'X-Head: 0')).toEqual([200, 4, left]);
  for (let i = 0; i < 3; i++) expect(await ask('/sold/2')).toEqual([429, 4, 0]);
  // What was refused has drawn nothing of what all share.
  const others = async () => gateway.ask(head('GET /sold/2', 'X-Head: 0'), { localAddress: '127.0.0.7' });
  expect(told(await others())).toEqual([200, 4, 3]);
  const last = await others();
  expect([...told(last), header(last, 'x-ratelimit-scope')]).toEqual([429, 5, 0, 'shared']);
}
