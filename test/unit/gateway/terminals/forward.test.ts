import { describe, expect, test } from 'vitest';
import type { Fields } from '../../../../src/core/index.ts';
import { errors } from '../../../../src/gateway/index.ts';
import type { CallSink, UpstreamFailure } from '../../../../src/upstream/index.ts';
import {
  answering,
  BareClient,
  bareGateway,
  failing,
  type Sending,
  type silence,
} from '../../../support/bare-gateway.ts';
import { values } from '../../../support/wire/index.ts';

const OLD = { onReusedConnection: true };
const BODY: Sending = { fields: ['Content-Length', '5'] };
const sentBy = async (sending: Sending, line = 'GET /open/a') => {
  const bare = await bareGateway();
  await bare.ask(line, sending);
  return bare.requests[0]?.fields ?? [];
};

describe('a request whose connection fails', () => {
  const methods = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'];

  test.each<[string, string, UpstreamFailure, Sending, number]>([
    ...methods.map(
      method =>
        [`${method} on an old connection`, method, failing('reset', OLD), {}, 2] as [
          string,
          string,
          UpstreamFailure,
          Sending,
          number,
        ],
    ),
    ['POST on an old connection', 'POST', failing('reset', OLD), {}, 1],
    ['PATCH on an old connection', 'PATCH', failing('reset', OLD), {}, 1],
    ['a method that nobody knows, on an old connection', 'PROPFIND', failing('reset', OLD), {}, 1],
    ['PUT with a body on an old connection', 'PUT', failing('reset', OLD), BODY, 1],
    ['GET on a new connection', 'GET', failing('reset'), {}, 1],
    [
      'GET on an old connection, with a part of a response',
      'GET',
      failing('reset', { ...OLD, responseBegun: true }),
      {},
      1,
    ],
    ['POST that was not connected', 'POST', failing('connect'), {}, 2],
    ['POST with a body that was not connected', 'POST', failing('connect'), BODY, 2],
    ['POST that the upstream says it has not acted on', 'POST', failing('refused', OLD), {}, 2],
    ['GET that took too long', 'GET', failing('timeout', OLD), {}, 1],
    ['GET whose response was malformed', 'GET', failing('malformed', OLD), {}, 1],
  ])('is sent once more only where that is safe: %s', async (_, method, failure, sending, times) => {
    const bare = await bareGateway();
    bare.service = (_request, sink) => {
      bare.service = answering(200);
      sink.fail(failure);
    };
    const response = await bare.ask(`${method} /open/a`, sending);
    expect(bare.requests).toHaveLength(times);
    expect(response.status === 200).toBe(times === 2);
    expect(bare.records[0]?.retried).toBe(times === 2);
  });

  test('is not sent a third time', async () => {
    const bare = await bareGateway({}, { service: (_, sink) => sink.fail(failing('connect')) });
    expect((await bare.ask('GET /open/a')).status).toBe(502);
    expect(bare.requests).toHaveLength(2);
  });

  test('goes to another endpoint where there is one, also from a new connection, until none is left', async () => {
    const bare = await bareGateway();
    let left = 2;
    bare.service = (_, sink) => {
      const resend = () => {
        if (left === 0) return null;
        left--;
        sink.fail(failing('reset'), { resend });
        return { resume: () => {}, abort: () => {} };
      };
      sink.fail(failing('reset'), { resend });
    };
    expect((await bare.ask('GET /open/a')).status).toBe(502);
    expect([left, bare.requests.length]).toEqual([0, 1]);
    left = 2;
    expect((await bare.ask('POST /open/a')).status).toBe(502);
    expect(left).toBe(2);
  });

  test.each([
    ['timeout', 504],
    ['connect', 502],
    ['reset', 502],
    ['malformed', 502],
    ['oversized', 431],
    ['fault', 500],
  ] as const)('is told what happened: %s: %i', async (kind, status) => {
    const bare = await bareGateway({}, { service: (_, sink) => sink.fail(failing(kind)) });
    expect((await bare.ask('GET /open/a')).status).toBe(status);
  });

  test('within its response gets no second one: what came is cut short', async () => {
    const service = (...[, sink]: Parameters<typeof silence>) => {
      sink.head(200, '', [], 9);
      sink.data(Buffer.from('part'), null);
      sink.fail(failing('truncated', { responseBegun: true }));
    };
    const bare = await bareGateway({}, { service });
    const { exchange, client } = bare.send('GET /open/a');
    expect(await client.response).toMatchObject({ status: 200, complete: false });
    bare.gateway.over(exchange, false);
    expect(client.responses).toBe(1);
    expect(bare.records[0]).toMatchObject({ status: 200, outcome: 'truncated' });
  });
});

describe('a fault of the gateway while a response comes', () => {
  const broken = () => {
    throw new Error('a fault');
  };

  test.each<[string, string, (sink: CallSink) => void]>([
    ['an interim response', 'info', sink => sink.info(103, [])],
    ['a head', 'head', sink => sink.head(200, '', [], null)],
    ['a whole response', 'answer', sink => sink.whole(200, '', [], '')],
    ['names that no table may hold', 'neverIndex', sink => sink.neverIndex(new Set(['a']) as never)],
  ])('ends its exchange and no other, and nobody above hears of it: %s', async (_, part, act) => {
    const bare = await bareGateway({}, { service: (_request, sink) => act(sink) });
    const { client, exchange } = bare.send('GET /open/a', { more: { [part]: broken } });
    const { status, complete } = await client.response;
    expect(status === 500 || !complete).toBe(true);
    bare.gateway.over(exchange, complete);
    expect(bare.records[0]?.error).toMatchObject({ side: 'gateway' });
    expect(bare.gateway.inFlight).toBe(0);
    bare.service = answering(200);
    expect((await bare.ask('GET /open/a')).status).toBe(200);
  });
});

describe('what reaches the service', () => {
  test('has the address of the client, the host, and no claim of the client about either', async () => {
    const claims = [
      'X-Forwarded-For',
      '203.0.113.1',
      'Forwarded',
      'for=203.0.113.1',
      'X-Real-IP',
      '203.0.113.1',
    ];
    const fields = await sentBy({ fields: claims, from: '198.51.100.7' });
    expect(values(fields, 'x-forwarded-for')).toEqual(['198.51.100.7']);
    expect(values(fields, 'x-forwarded-host')).toEqual(['a.test']);
    expect(fields.join()).not.toContain('203.0.113.1');
  });

  test('has the token in the standard scheme where it was verified, as it came where nobody looks, else none', async () => {
    const valid = await sentBy({ as: true }, 'GET /a');
    expect(values(valid, 'authorization')).toEqual([expect.stringMatching(/^Bearer ey/)]);
    expect(values(await sentBy({ fields: ['Authorization', 'Own x'] }), 'authorization')).toEqual(['Own x']);
    const hop: Fields = ['Authorization', 'Own x', 'Connection', 'authorization'];
    expect(values(await sentBy({ fields: hop }), 'authorization')).toEqual([]);
  });

  test('is nothing of a body that is too large', async () => {
    const bare = await bareGateway(
      {},
      { routes: [{ path: '/small', authentication: 'none', max_body: '4B' }] },
    );
    expect((await bare.ask('POST /small', BODY)).status).toBe(413);
    expect(bare.requests).toEqual([]);
    expect((await bare.ask('POST /open/a', BODY)).status).toBe(200);
  });
});

test('a 205 has no content, and the client does not wait for its end', async () => {
  const bare = await bareGateway();
  bare.service = (_, sink) => queueMicrotask(() => sink.head(205, '', ['Content-Length', '9'], 9));
  expect(await bare.ask('GET /open/a')).toMatchObject({ status: 205, bodyBytes: 0, complete: true });
  expect(bare.aborted).toBe(1);
});

test('an exchange that ended while its request was handed over has its call given up', async () => {
  const bare = await bareGateway();
  const client = new BareClient('GET', '/open/a', '192.0.2.1', ['Host', 'a.test']);
  const exchange = bare.gateway.accept(client);
  bare.service = () => exchange.fault(errors.badRequest('of its body'));
  bare.gateway.run(exchange);
  expect((await client.response).status).toBe(400);
  expect([client.responses, bare.aborted]).toEqual([1, 1]);
});
