import { describe, expect, it, test } from 'vitest';
import type { Fields } from '../../../../src/core/index.ts';
import {
  answering,
  type BareGateway,
  bareGateway,
  failing,
  type Sending,
  type Service,
  silence,
} from '../../../support/bare-gateway.ts';
import { fieldOf, rateOf } from '../../../support/rate-fields.ts';
import { serviceLimitsIn } from '../../../support/rate-limit-policies.ts';

const ALICE: Sending = { as: { sub: 'alice', org: 'acme' } };
const COST = { response_field: 'X-Usage', reserve: 100, most: 2_000 };

function limits(bucket: object = {}, cost: object = {}) {
  const user = [{ limit: '1000/60s', unit: 'cost' }, '900/60s'];
  return {
    headers: ['x-ratelimit', 'ratelimit'],
    buckets: { b: { user, ...bucket } },
    routes: { '/b/**': { bucket: 'b', cost: { ...COST, ...cost } } },
  };
}

/** A service that begins a response, and goes on when it is told. */
function streaming(head: Fields): { readonly service: Service; readonly sink: () => Parameters<Service>[1] } {
  let sink: Parameters<Service>[1] | null = null;
  return {
    service: (_, given) => {
      sink = given;
      given.head(200, '', head, null);
    },
    sink: () => {
      if (sink === null) throw new Error('nothing was asked');
      return sink;
    },
  };
}

/** What alice has left of the quota of costs. */
function left(bare: BareGateway): number | undefined {
  const [bucket] = bare.snapshot.limits.buckets;
  const set = bucket?.sets.user;
  const alice = bare.records.at(-1)?.caller.principal ?? bare.limiting.local.counts.keys;
  if (set === undefined || typeof alice !== 'string') throw new Error('nothing was counted');
  const { windows } = bare.limiting.local.peek(set, alice, '', 'acme', 1);
  return windows.find(({ limit }) => limit.unit === 'cost')?.remaining;
}

const outcomesIn = (bare: BareGateway) =>
  bare.told.flatMap(([name, event]) => (name === 'priced' ? [event] : []));

describe('a price in the head of a response', () => {
  it('is what the request costs, and Remaining of that very response says so', async () => {
    const bare = await bareGateway(limits(), { service: answering(200, ['x-usage', '350']) });
    const response = await bare.ask('GET /b/1', ALICE);
    expect(rateOf(response)).toMatchObject({ limit: 1_000, remaining: 650 });
    expect(serviceLimitsIn(fieldOf(response, 'ratelimit'))).toMatchObject([{ name: 'b/1m/cost', r: 650 }]);
    expect(left(bare)).toBe(650);
    expect(outcomesIn(bare)).toEqual([{ bucket: 'b', outcome: 'told', field: 'x-usage' }]);
    expect(bare.records[0]?.price).toBe(350);
  });

  it('below the reserve gives the rest back, and then another window may be the one with less left', async () => {
    const bare = await bareGateway(limits(), { service: answering(200, ['X-Usage', '0']) });
    expect(rateOf(await bare.ask('GET /b/1', ALICE))).toMatchObject({ limit: 900, remaining: 899 });
    expect(left(bare)).toBe(1_000);
  });

  it('above what is left leaves nothing until the Reset, and owes nothing after it', async () => {
    const bare = await bareGateway(limits(), { service: answering(200, ['X-Usage', '1800']) });
    expect(rateOf(await bare.ask('GET /b/1', ALICE)).remaining).toBe(0);
    const refused = await bare.ask('GET /b/1', ALICE);
    expect([refused.status, rateOf(refused).remaining]).toEqual([429, 0]);
    bare.clock.advance(60_000);
    bare.service = answering(200, ['X-Usage', '100']);
    expect(rateOf(await bare.ask('GET /b/1', ALICE)).remaining).toBe(899);
    expect(left(bare)).toBe(900);
  });

  it('is a number whatever zeros it begins with', async () => {
    const bare = await bareGateway(limits(), {
      service: answering(200, ['X-Usage', '350'.padStart(40, '0')]),
    });
    await bare.ask('GET /b/1', ALICE);
    expect(bare.records[0]?.price).toBe(350);
  });

  it.each(['9999', '1'.repeat(400)])('is never more than most: %s', async told => {
    const bare = await bareGateway(limits(), { service: answering(200, ['X-Usage', told]) });
    await bare.ask('GET /b/1', ALICE);
    expect(bare.records[0]?.price).toBe(2_000);
  });

  it.each([
    ['of another form', ['X-Usage', '1.5']],
    ['with a sign', ['X-Usage', '-3']],
    ['that is empty', ['X-Usage', '']],
    ['that is a list', ['X-Usage', '3, 4']],
    ['that comes twice', ['X-Usage', '3', 'x-usage', '3']],
  ])('%s leaves the reserve, and goes no further', async (_, fields) => {
    const bare = await bareGateway(limits(), { service: answering(200, fields) });
    const response = await bare.ask('GET /b/1', ALICE);
    expect(fieldOf(response, 'x-usage')).toBeUndefined();
    expect(left(bare)).toBe(900);
    expect(outcomesIn(bare)).toEqual([{ bucket: 'b', outcome: 'wrong', field: 'x-usage' }]);
  });

  it.each([
    [false, undefined],
    [true, '7'],
  ])('reaches the client if the line says pass: %s', async (pass, told) => {
    const bare = await bareGateway(limits({}, { pass }), { service: answering(200, ['X-Usage', '7']) });
    expect(fieldOf(await bare.ask('GET /b/1', ALICE), 'x-usage')).toBe(told);
  });

  it('counts for the group, for all callers together and in shadow as well', async () => {
    const cost = (limit: string) => ({ limit, unit: 'cost' });
    const bucket = {
      ...{ main: 'id', user: cost('5000/60s'), group: { claim: 'org', limit: cost('1000/60s') } },
      ...{ resource: cost('4000/60s'), shadow: { user: cost('600/60s') } },
    };
    const settings = limits(bucket);
    const bare = await bareGateway(
      { ...settings, routes: { '/b/{id}': settings.routes['/b/**'] } },
      { service: answering(200, ['X-Usage', '550']) },
    );
    const answers = await bare.askTimes(3, 'GET /b/1', ALICE);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(fieldOf(answers[2], 'x-ratelimit-scope')).toBe('shared');
    expect(bare.told.filter(([name]) => name === 'shadowRefused')).toHaveLength(1);
  });
});

describe('a price in a trailer', () => {
  it('is charged once it has come', async () => {
    const { service, sink } = streaming(['X-Other', '1']);
    const bare = await bareGateway(limits(), { service });
    const { exchange, client } = bare.send('GET /b/1', { ...ALICE, fields: ['TE', 'trailers'] });
    sink().data(Buffer.from('text'), null);
    sink().end(['X-Usage', '420', 'X-Sum', 'abc']);
    const response = await client.response;
    bare.gateway.over(exchange, true);
    expect(rateOf(response).remaining).toBe(899);
    expect(response.trailers).toEqual(['X-Sum', 'abc']);
    expect(left(bare)).toBe(580);
  });

  it('is asked for, and a client that takes no trailers gets none', async () => {
    const { service, sink } = streaming([]);
    const bare = await bareGateway(limits(), { service });
    const { exchange, client } = bare.send('GET /b/1', ALICE);
    expect(bare.requests[0]?.takesTrailers).toBe(true);
    sink().end(['X-Usage', '420', 'X-Sum', 'abc']);
    expect((await client.response).trailers).toEqual([]);
    bare.gateway.over(exchange, true);
    expect(left(bare)).toBe(580);
  });

  it.each([
    ['X-Sum, x-usage', 'X-Sum'],
    ['X-Usage', undefined],
    ['X-Sum', 'X-Sum'],
  ])('is announced to nobody: Trailer: %s', async (announced, told) => {
    const { service, sink } = streaming(['Trailer', announced]);
    const bare = await bareGateway(limits(), { service });
    const { client } = bare.send('GET /b/1', { ...ALICE, fields: ['TE', 'trailers'] });
    sink().end(['X-Usage', '420', 'X-Sum', 'abc']);
    expect(fieldOf(await client.response, 'trailer')).toBe(told);
  });

  it('behind one in the head means nothing', async () => {
    const { service, sink } = streaming(['X-Usage', '200']);
    const bare = await bareGateway(limits(), { service });
    const { exchange } = bare.send('GET /b/1', ALICE);
    sink().end(['X-Usage', '700']);
    bare.gateway.over(exchange, true);
    expect(left(bare)).toBe(800);
    expect(outcomesIn(bare)).toHaveLength(1);
  });
});

describe('a call of gRPC tells it in its metadata', () => {
  const call: Sending = {
    ...ALICE,
    fields: ['Content-Type', 'application/grpc', 'TE', 'trailers'],
    more: { protocol: 'h2' },
  };
  const ofCalls = { ...limits(), routes: { 'GRPC a.B/*': { bucket: 'b', cost: COST } } };
  const settings = {
    routes: [{ grpc: 'a.B/*', upstream: 'calls' }],
    config: {
      upstreams: {
        api: { url: 'http://127.0.0.1:1' },
        calls: { url: 'http://127.0.0.1:2', protocol: 'grpc' },
      },
    },
  };

  it('at the end, where its status is', async () => {
    const { service, sink } = streaming(['content-type', 'application/grpc']);
    const bare = await bareGateway(ofCalls, { ...settings, service });
    const { exchange, client } = bare.send('POST /a.B/C', call);
    sink().end(['grpc-status', '0', 'x-usage', '600']);
    bare.gateway.over(exchange, true);
    expect((await client.response).trailers).toEqual(['grpc-status', '0']);
    expect(left(bare)).toBe(400);
  });

  it('or in place of a head, and a status that gives back costs nothing', async () => {
    const buckets = { b: { ...ofCalls.buckets.b, give_back: ['5xx'] } };
    const bare = await bareGateway({ ...ofCalls, buckets }, settings);
    const ask = (status: string) => {
      bare.service = answering(200, [
        'content-type',
        'application/grpc',
        'grpc-status',
        status,
        'x-usage',
        '300',
      ]);
      return bare.ask('POST /a.B/C', call);
    };
    await ask('0');
    expect(left(bare)).toBe(700);
    await ask('14');
    expect(left(bare)).toBe(700);
  });
});

test('a response without a price leaves the reserve', async () => {
  const { service, sink } = streaming([]);
  const bare = await bareGateway(limits(), { service });
  const { exchange } = bare.send('GET /b/1', ALICE);
  sink().end([]);
  bare.gateway.over(exchange, true);
  await (async () => {
    bare.service = answering(200);
    await bare.ask('GET /b/1', ALICE);
  })();
  expect(left(bare)).toBe(800);
  expect(outcomesIn(bare)).toEqual([
    { bucket: 'b', outcome: 'untold', field: 'x-usage' },
    { bucket: 'b', outcome: 'untold', field: 'x-usage' },
  ]);
});

describe('before the price is known', () => {
  const most = limits({ user: { limit: '5000/60s', unit: 'cost' } });

  it('a client that leaves pays the most', async () => {
    const bare = await bareGateway(most, { service: silence });
    bare.send('GET /b/1', ALICE).leave();
    expect(left(bare)).toBe(3_000);
    expect(outcomesIn(bare)).toEqual([{ bucket: 'b', outcome: 'unknown', field: 'x-usage' }]);
  });

  it('one that leaves while the response streams does as well, but not if the price has come', async () => {
    const bare = await bareGateway(most, { service: streaming([]).service });
    bare.send('GET /b/1', ALICE).leave();
    expect(left(bare)).toBe(3_000);
    bare.service = streaming(['X-Usage', '50']).service;
    bare.send('GET /b/1', ALICE).leave();
    expect(left(bare)).toBe(2_950);
  });

  it('a stream that breaks costs the most', async () => {
    const { service, sink } = streaming([]);
    const bare = await bareGateway(most, { service });
    const { exchange } = bare.send('GET /b/1', ALICE);
    sink().fail(failing('truncated', { responseBegun: true }));
    bare.gateway.over(exchange, false);
    expect(left(bare)).toBe(3_000);
  });

  it.each([
    ['reset', 502, 3_000],
    ['timeout', 504, 3_000],
    ['connect', 502, 4_900],
    ['refused', 502, 4_900],
  ] as const)('a request that fails by %s leaves %i and %i', async (kind, status, remaining) => {
    const bare = await bareGateway(most, { service: (_, sink) => sink.fail(failing(kind)) });
    expect((await bare.ask('POST /b/1', ALICE)).status).toBe(status);
    expect(left(bare)).toBe(remaining);
  });

  it('the service may be asked no more than limit / reserve times', async () => {
    const bare = await bareGateway(limits(), { service: silence });
    for (let n = 0; n < 12; n++) bare.send('GET /b/1', ALICE);
    expect(bare.requests).toHaveLength(10);
  });
});

describe('with give_back', () => {
  it('what is given back by its status costs nothing, whatever the price', async () => {
    const bare = await bareGateway(limits({ give_back: ['5xx'] }), {
      service: answering(500, ['X-Usage', '1800']),
    });
    expect(rateOf(await bare.ask('GET /b/1', ALICE)).remaining).toBe(900);
    expect(left(bare)).toBe(1_000);
  });

  it('nor does a price that comes later', async () => {
    const { service, sink } = streaming([]);
    const bare = await bareGateway(limits({ give_back: ['2xx'] }), { service });
    const { exchange } = bare.send('GET /b/1', ALICE);
    sink().end(['X-Usage', '500']);
    bare.gateway.over(exchange, true);
    expect(left(bare)).toBe(1_000);
  });
});
