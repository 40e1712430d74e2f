import { describe, expect, it } from 'vitest';
import { startNginx } from '../support/balancers.ts';
import { exampleOf, examples, gatewayYaml, placed, startFile, startTask } from '../support/migrating.ts';
import { head } from '../support/requests.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { type CapturedRequest, connectRaw, startUpstream, values } from '../support/wire/index.ts';

it('every file of Weir on the page is started here', () => {
  expect(examples.map(({ file }) => file)).toEqual([
    ...['gateway.yaml', 'limits.yaml', 'gateway.yaml', 'gateway.yaml'],
  ]);
  const words = ['identity_headers', 'X-Consumer-Username', 'strip_prefix'];
  expect(words.map(gatewayYaml)).not.toContain('');
});

it('the configuration for the task of the page does what the page says', async () => {
  const [issuer, upstream] = [await startIssuer(), await startUpstream()];
  const gateway = await startTask(issuer.url, upstream.port);
  const bearer = issuer.bearer({ sub: 'alice' });
  await expect.poll(async () => (await gateway.ask(head('GET /v1/a', bearer))).status).toBe(200);
  expect((await gateway.ask(head('GET /v1/a'))).status).toBe(401);
  expect((await gateway.ask(head('GET /v1/a', issuer.bearer({ aud: 'other' })))).status).toBe(401);
  const other = issuer.bearer({ sub: 'bob' });
  const { fields } = await gateway.ask(head('GET /v1/a', other, 'X_Auth_Subject: mallory'));
  expect(values(fields, 'x-ratelimit-limit')).toEqual(['20']);
  const sent = upstream.requests.at(-1)?.fields ?? [];
  expect([values(sent, 'x-auth-subject'), sent.includes('mallory')]).toEqual([['bob'], false]);
});

it('services learn who calls in the fields that Kong wrote, and only from the gateway', async () => {
  const [issuer, upstream] = [await startIssuer(), await startUpstream()];
  const text = placed(gatewayYaml('X-Consumer-Username'), {
    '0.0.0.0:8080': '127.0.0.1:0',
    'https://id.example.com/realms/main': issuer.url,
    '127.0.0.1:3000': `127.0.0.1:${upstream.port}`,
  });
  const gateway = await startFile(text);
  const bearer = issuer.bearer({ sub: '7', preferred_username: 'alice', scope: 'read' });
  const forged = ['X-Consumer-Username', 'x_consumer_custom_id', 'X-Consumer-Groups', 'X-Anonymous-Consumer'];
  const request = head('GET /v1/a', bearer, ...forged.map(name => `${name}: mallory`));
  await expect.poll(async () => (await gateway.ask(request)).status).toBe(200);
  const sent = upstream.requests.at(-1)?.fields ?? [];
  expect(sent).not.toContain('mallory');
  const told = ['x-consumer-username', 'x-consumer-custom-id', 'x-authenticated-scope', 'x-consumer-groups'];
  expect(told.flatMap(name => values(sent, name))).toEqual(['alice', '7', 'read', 'main-realm']);
});

describe('the server block of nginx and its counterpart', () => {
  /** Two processes of a service, and what they got, in order. */
  async function service() {
    const got: CapturedRequest[] = [];
    const start = () =>
      startUpstream(exchange => {
        got.push(exchange.request);
        const status = exchange.request.target.includes('missing') ? 404 : 200;
        exchange.answer(status, ['X-Powered-By', 'x'], 'ok');
      });
    return { ports: [(await start()).port, (await start()).port] as const, got };
  }

  const asked: readonly (readonly [string, ...string[]])[] = [
    ['GET /api/v2/orders/7?x=1', 'Cookie: a=b', 'X-Plan: forged'],
    ['GET /api/v2/'],
    ['GET /api/v2/missing'],
    ['GET /old?x=1'],
    ['GET /old'],
    ['GET /robots.txt'],
  ];

  /** What the client and the service see of each request. */
  async function outcomes(port: number, got: readonly CapturedRequest[]) {
    const seen: unknown[] = [];
    for (const [target, ...lines] of asked) {
      const before = got.length;
      const client = await connectRaw(port);
      const answer = await client.ask(head(target, ...lines).replace('gateway.test', 'api.example.com'));
      client.destroy();
      const sent = got[before];
      const fields = sent?.fields ?? [];
      seen.push({
        target,
        status: answer.status,
        location: values(answer.fields, 'location'),
        frames: values(answer.fields, 'x-frame-options'),
        poweredBy: values(answer.fields, 'x-powered-by'),
        body: answer.status < 300 ? answer.body.toString() : null,
        sent: sent?.target,
        fields: ['host', 'x-plan', 'cookie'].map(name => values(fields, name)),
      });
    }
    return seen;
  }

  it('answer the same', async () => {
    const {
      ports: [one, two],
      got,
    } = await service();
    const text = placed(gatewayYaml('strip_prefix'), {
      '0.0.0.0:8080': '127.0.0.1:0',
      '127.0.0.1:3001': `127.0.0.1:${one}`,
      '127.0.0.1:3002': `127.0.0.1:${two}`,
    });
    const gateway = await startFile(text);
    const block = exampleOf('nginx', 'server_name');
    const nginx = await startNginx(port =>
      placed(block, {
        'events {}\n': '',
        'listen 8080;': `listen 127.0.0.1:${port};`,
        '127.0.0.1:3001': `127.0.0.1:${one}`,
        '127.0.0.1:3002': `127.0.0.1:${two}`,
      }),
    );
    const found = await outcomes(gateway.port, got);
    expect(found).toEqual(await outcomes(nginx, got));
    expect(found[0]).toMatchObject({
      status: 200,
      sent: '/orders/7?x=1',
      fields: [['api.example.com'], ['gold'], []],
    });
  });
});
