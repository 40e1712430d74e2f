import { describe, expect, test } from 'vitest';
import { type ConfigPart, startGateway } from '../support/gateway.ts';
import { type H2Request, startH2Upstream } from '../support/h2-upstream.ts';
import { head, withBody } from '../support/requests.ts';

async function front(answer?: (request: H2Request) => unknown, api: ConfigPart = {}) {
  const upstream = await startH2Upstream(answer);
  const gateway = await startGateway({ upstreamPort: upstream.port, api: { protocol: 'h2', ...api } });
  return { upstream, gateway };
}

describe('an upstream with protocol: h2', () => {
  test('gets the request and answers it', async () => {
    const { upstream, gateway } = await front();
    const response = await gateway.ask(head('GET /a?b=c', 'X-One: 1', 'X-One: 2'));
    expect(response.status).toBe(200);
    expect(response.body.toString()).toBe('ok');
    const [request] = upstream.requests;
    expect(request?.headers).toMatchObject({
      ':method': 'GET',
      ':path': '/a?b=c',
      ':scheme': 'http',
      'x-one': '1, 2',
    });
    expect(request?.headers['te']).toBeUndefined();
  });

  test('gets a body', async () => {
    const { upstream, gateway } = await front(async request => {
      request.stream.respond({ ':status': 201 });
      request.stream.end(await request.body());
    });
    const response = await gateway.ask(withBody('POST /a', 'hello'));
    expect(response.status).toBe(201);
    expect(response.body.toString()).toBe('hello');
    expect(upstream.requests[0]?.headers).toMatchObject({ 'content-length': '5' });
  });
});
