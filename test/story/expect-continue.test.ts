import { describe, expect, test } from 'vitest';
import { expectError, expectRejected } from '../support/error-object.ts';
import { freePort } from '../support/free-port.ts';
import { type GatewaySettings, startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import { header, type Script, startUpstream, values } from '../support/wire/index.ts';

async function front(script?: Script, settings: Partial<GatewaySettings> = {}) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port, ...settings });
  return { upstream, client: await gateway.connect() };
}

const EXPECT = head('POST /a', 'Expect: 100-continue', 'Content-Length: 5');

test('a client that waits for 100 gets it, sends its body and gets its response', async () => {
  const { upstream, client } = await front();
  await client.send(EXPECT);
  const response = client.answer();
  // Nothing is sent until the gateway asks for it.
  await client.continued();
  await client.send('hello');
  expect(await response).toMatchObject({ status: 200, interim: [{ status: 100 }] });
  expect(upstream.onlyRequest.body.toString()).toBe('hello');
  expect(values(upstream.onlyRequest.fields, 'expect')).toEqual([]);
  expect((await client.ask(head('GET /next'))).status).toBe(200);
});

test('100 comes once there is an upstream connection, and not without one', async () => {
  const gateway = await startGateway({ upstreamPort: await freePort() });
  const client = await gateway.connect();
  const response = await client.ask(EXPECT);
  expectError(response, 502, 14);
  expect(response.interim).toEqual([]);
});

test.each([
  ['no route', 404, 5, { route: { path: '/b' } }],
  ['a body too large', 413, 3, { route: { max_body: '4B' } }],
] as const)('no 100 goes to a request that is refused: %s', async (_, status, code, settings) => {
  const { upstream, client } = await front(undefined, settings);
  const response = await client.ask(EXPECT);
  expectError(response, status, code);
  expect(response.interim).toEqual([]);
  // Whether the body comes is the client's choice, so the connection cannot go on.
  expect(header(response, 'connection')).toBe('close');
  expect(upstream.requests).toEqual([]);
});

test('a client that does not wait is served as well, and the letter case of Expect says nothing', async () => {
  const { upstream, client } = await front();
  expect((await client.ask(`${EXPECT.replace('100-continue', '100-Continue')}hello`)).status).toBe(200);
  expect(upstream.onlyRequest.body.toString()).toBe('hello');
});

test('Expect on a request without a body is served without ado', async () => {
  const { upstream, client } = await front();
  expect((await client.ask(head('GET /a', 'Expect: 100-continue'))).status).toBe(200);
  expect(values(upstream.onlyRequest.fields, 'expect')).toEqual([]);
});

test('an upstream that answers without waiting for the body has its response passed, and the body stays a body', async () => {
  const { upstream, client } = await front(exchange => exchange.answer(403, [], 'no'));
  expect(await client.ask(`${EXPECT}h`)).toMatchObject({ status: 403, complete: true });
  await client.send(`ello${head('GET /next')}`);
  await client.answer().catch(() => {});
  expect(upstream.requests.map(request => request.target).filter(target => target !== '/next')).toEqual([
    '/a',
  ]);
});

test('a request that is refused for its body is not asked for it', async () => {
  const { upstream, client } = await front();
  await client.send(`${head('POST /a', 'Expect: 100-continue', 'Transfer-Encoding: chunked')}zz\r\n`);
  await expectRejected(client);
  expect(client.received.toString()).not.toContain(' 100 ');
  expect(upstream.requests.filter(request => request.complete)).toEqual([]);
});

describe('where the service decides (expect: pass)', () => {
  const pass = { route: { expect: 'pass' } };

  test('it gets the field, and its 100 lets the client send the body', async () => {
    const before: string[] = [];
    const { upstream, client } = await front(async exchange => {
      before.push(client.received.toString('latin1'));
      await exchange.send('HTTP/1.1 100 Continue\r\n\r\n');
      await exchange.received();
      await exchange.answer(200, [], 'ok');
    }, pass);
    await client.send(EXPECT);
    const response = client.answer();
    await client.continued();
    await client.send('hello');
    expect(await response).toMatchObject({ status: 200, interim: [{ status: 100 }] });
    expect(upstream.onlyRequest.body.toString()).toBe('hello');
    expect(values(upstream.onlyRequest.fields, 'expect')).toEqual(['100-continue']);
    expect(before).toEqual(['']);
    expect((await client.ask(head('GET /next'))).status).toBe(200);
  });

  test('its refusal comes instead of a 100, and no byte of the body is read', async () => {
    const { upstream, client } = await front(exchange => exchange.answer(417, [], 'no'), pass);
    const response = await client.ask(EXPECT);
    expect(response).toMatchObject({ status: 417, interim: [] });
    expect(header(response, 'connection')).toBe('close');
    upstream.takeViolations();
  });

  test('the gateway says 100 after a second in which the service says nothing', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port, ...pass });
    const client = await gateway.connect();
    await client.send(EXPECT);
    const response = client.answer();
    await waitFor('the service has the head', () =>
      upstream.connections.some(({ bytesRead }) => bytesRead > 0),
    );
    expect(client.received.length).toBe(0);
    await gateway.time.advanceUntil('it says 100', () => client.received.includes('HTTP/1.1 100 '));
    await client.send('hello');
    expect(await response).toMatchObject({ status: 200 });
    expect(upstream.onlyRequest.body.toString()).toBe('hello');
  });

  test('a client that does not wait is served as well, and one without the field as ever', async () => {
    const { upstream, client } = await front(async exchange => {
      if (exchange.request.fields.includes('Expect')) await exchange.send('HTTP/1.1 100 Continue\r\n\r\n');
      await exchange.received();
      await exchange.answer(200, [], 'ok');
    }, pass);
    expect((await client.ask(`${EXPECT}hello`)).status).toBe(200);
    expect((await client.ask(`${EXPECT.replace('Expect: 100-continue\r\n', '')}hello`)).status).toBe(200);
    expect(upstream.requests.map(({ body }) => body.toString())).toEqual(['hello', 'hello']);
    expect(upstream.requests.map(({ fields }) => values(fields, 'expect'))).toEqual([['100-continue'], []]);
  });
});
