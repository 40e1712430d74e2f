import { describe, expect, test } from 'vitest';
import { expectError } from '../support/error-object.ts';
import { startGateway } from '../support/gateway.ts';
import {
  askOnce,
  askTimes,
  fieldOf,
  rateFieldsOf,
  rateOf,
  startLimited,
  statusesOf,
} from '../support/limits.ts';
import { head, withBody } from '../support/requests.ts';
import { startUpstream, values } from '../support/wire/index.ts';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

const limits = {
  global: { user: '10000/1s', address: '3/60s' },
  buckets: { all: { user: '2/60s' } },
  routes: { '/things/**': 'all' },
};

describe('OPTIONS *', () => {
  test.each(['*', 'http://gateway.test', 'HTTP://Gateway.test'])(
    'is answered by the gateway with the methods that there are: %s',
    async target => {
      const front = await startLimited({});
      const response = await askOnce(front, `OPTIONS ${target}`);
      expect(response).toMatchObject({ status: 204, complete: true, bodyBytes: 0 });
      expect(fieldOf(response, 'allow')).toBe(METHODS);
      expect(fieldOf(response, 'via')).toBe('1.1 weir');
      expect(fieldOf(response, 'x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
      expect(fieldOf(response, 'content-length')).toBeUndefined();
      expect(rateFieldsOf(response)).toEqual([]);
      expect(front.upstream.connections).toEqual([]);
    },
  );

  test('draws on no limit, whatever token it carries', async () => {
    const front = await startLimited(limits);
    const responses = await askTimes(front, 4, 'OPTIONS *', front.issuer.bearer());
    expect(statusesOf(responses)).toEqual([204, 204, 204, 204]);
    expect(statusesOf(await askTimes(front, 1, 'GET /things/1', front.issuer.bearer()))).toEqual([200]);
  });

  test('is refused for an address that is restricted', async () => {
    const front = await startLimited({ invalid_requests: { limit: '2/60s', restrict_for: '60s' } });
    await askTimes(front, 3, 'GET /things/1');
    const response = await askOnce(front, 'OPTIONS *');
    expect(response.status).toBe(429);
    expect(JSON.parse(response.body.toString())).toMatchObject({ code: 8 });
  });

  test('leaves the connection in order, with a body as well', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const client = await gateway.connect();
    expect((await client.ask(withBody('OPTIONS *', 'hello'))).status).toBe(204);
    expect((await client.ask(head('OPTIONS *', 'Max-Forwards: 0'))).status).toBe(204);
    expect((await client.ask(head('GET /a'))).status).toBe(200);
    expect(upstream.onlyRequest.target).toBe('/a');
  });

  test('is not a preflight, and one for another host is refused', async () => {
    const upstream = await startUpstream();
    const config = { cors: { origins: ['https://app.example'] } };
    const gateway = await startGateway({ upstreamPort: upstream.port, config });
    const lines = ['Origin: https://app.example', 'Access-Control-Request-Method: PUT'];
    const response = await gateway.ask(head('OPTIONS *', ...lines));
    expect(response.status).toBe(204);
    expect(fieldOf(response, 'access-control-allow-methods')).toBeUndefined();
    expectError(await gateway.ask(head('OPTIONS http://other.test')), 400, 3);
    expect(upstream.connections).toEqual([]);
  });
});

describe('Max-Forwards on OPTIONS', () => {
  const front = async (config = {}) => {
    const upstream = await startUpstream();
    return { upstream, gateway: await startGateway({ upstreamPort: upstream.port, ...config }) };
  };

  test.each([['0010', '9']])('goes on as one less: %s', async (sent, passed) => {
    const { gateway, upstream } = await front();
    expect((await gateway.ask(head('OPTIONS /a', `max-forwards: ${sent}`))).status).toBe(200);
    expect(values(upstream.onlyRequest.fields, 'max-forwards')).toEqual([passed]);
  });

  test('of 0 is answered by the gateway with the methods of the path', async () => {
    const route = { upstream: 'api', authentication: 'none' };
    const routes = [{ ...route, path: '/things/{id}', methods: ['GET', 'DELETE', 'OPTIONS'] }];
    const { gateway, upstream } = await front({ config: { routes } });
    const client = await gateway.connect();
    const response = await client.ask(withBody('OPTIONS /things/1', 'hello', 'Max-Forwards: 0'));
    expect(response).toMatchObject({ status: 204, complete: true, bodyBytes: 0 });
    expect(fieldOf(response, 'allow')).toBe('GET, HEAD, DELETE, OPTIONS');
    expectError(await client.ask(head('OPTIONS /else', 'Max-Forwards: 0')), 404, 5);
    expect(upstream.connections).toEqual([]);
  });

  test('of 0 is answered after all gates', async () => {
    const front = await startLimited(limits);
    expectError(await askOnce(front, 'OPTIONS /things/1', 'Max-Forwards: 0'), 401, 16);
    const lines = ['Max-Forwards: 0', front.issuer.bearer()];
    const responses = await askTimes(front, 3, 'OPTIONS /things/1', ...lines);
    expect(statusesOf(responses)).toEqual([204, 204, 429]);
    expect(rateOf(responses[1])).toMatchObject({ limit: 2, remaining: 0 });
    expect(front.upstream.connections).toEqual([]);
  });

  test('of 0 ends a preflight that belongs to a service, too', async () => {
    const cors = { origins: ['https://app.example'] };
    const lines = ['Origin: https://app.example', 'Access-Control-Request-Method: PUT', 'Max-Forwards: 0'];
    const { gateway, upstream } = await front({ config: { cors }, route: { cors: false } });
    const response = await gateway.ask(head('OPTIONS /a', ...lines));
    expect(response.status).toBe(204);
    expect(fieldOf(response, 'allow')).toBe(METHODS);
    expect(fieldOf(response, 'access-control-allow-origin')).toBeUndefined();
    expect(upstream.connections).toEqual([]);
  });
});
