import { describe, expect, test } from 'vitest';
import { expectError } from '../support/error-object.ts';
import { type ConfigPart, startGateway, withoutWorkers } from '../support/gateway.ts';
import { startH2Upstream } from '../support/h2-upstream.ts';
import { ask, connectHttp2, H2C } from '../support/http2-client.ts';
import { TCP4, v2 } from '../support/proxy-header.ts';
import { head } from '../support/requests.ts';
import { waitFor } from '../support/wait.ts';
import {
  header,
  type Script,
  startUpstream,
  type UpstreamConnection,
  values,
} from '../support/wire/index.ts';

/** A service that authenticates connections: all that follows the last step of a handshake is served as its user. */
function service(challenge: string, hasBody = true): Script {
  const users = new WeakMap<UpstreamConnection, string>();
  return async exchange => {
    await exchange.received();
    const [authorization = ''] = values(exchange.request.fields, 'authorization');
    const { connection } = exchange;
    const body = hasBody ? 'no' : '';
    if (authorization === 'NTLM one') {
      users.set(connection, '');
      return exchange.answer(401, ['WWW-Authenticate', 'NTLM two'], body);
    }
    if (authorization.startsWith('NTLM three ') && users.get(connection) === '')
      users.set(connection, authorization.slice(11));
    // Kerberos takes one step, without a challenge before it.
    if (authorization.startsWith('Negotiate ')) users.set(connection, authorization.slice(10));
    const user = users.get(connection) ?? '';
    if (user === '') return exchange.answer(401, ['WWW-Authenticate', challenge], body);
    return exchange.answer(200, [], user);
  };
}

async function front(api: ConfigPart = {}, config: ConfigPart = {}, script = service('NTLM')) {
  const upstream = await startUpstream(script);
  const gateway = await startGateway({ upstreamPort: upstream.port, api, config });
  return { upstream, gateway };
}

const get = (authorization?: string) =>
  authorization === undefined ? head('GET /a') : head('GET /a', `Authorization: ${authorization}`);

type Front = Awaited<ReturnType<typeof front>>;

/** Signs a user in on a connection of its own. */
async function signIn({ gateway }: Front, user: string) {
  const client = await gateway.connect();
  expect((await client.ask(get('NTLM one'))).status).toBe(401);
  expect((await client.ask(get(`NTLM three ${user}`))).body.toString()).toBe(user);
  return client;
}

describe('a connection that a service authenticates', () => {
  test('serves the client who signed in, and nobody else', async () => {
    const world = await front();
    const alice = await signIn(world, 'alice');
    for (let i = 0; i < 3; i++) expect((await world.gateway.ask(get())).status).toBe(401);
    const bob = await signIn(world, 'bob');
    expect((await alice.ask(get())).body.toString()).toBe('alice');
    expect((await bob.ask(get())).body.toString()).toBe('bob');
    expect((await world.gateway.ask(get())).status).toBe(401);
  });

  test.each(['NTLM', 'Negotiate', 'Basic realm="a", negotiate'])(
    'after the challenge %s',
    async challenge => {
      const world = await front({}, {}, service(challenge));
      const client = await world.gateway.connect();
      await client.ask(get());
      await client.ask(get());
      expect((await world.gateway.ask(get())).status).toBe(401);
      const [mine] = world.upstream.connections;
      expect(mine?.requests).toHaveLength(2);
    },
  );

  test('after a 407', async () => {
    const world = await front({}, {}, async exchange => {
      await exchange.received();
      const [authorization = ''] = values(exchange.request.fields, 'authorization');
      const status = authorization === '' ? 407 : 200;
      await exchange.answer(status, ['Proxy-Authenticate', 'NTLM'], 'no');
    });
    const alice = await world.gateway.connect();
    expect((await alice.ask(get())).status).toBe(407);
    await world.gateway.ask(get());
    expect((await alice.ask(get('NTLM one'))).status).toBe(200);
    expect(world.upstream.connections.map(({ requests }) => requests.length)).toEqual([2, 1]);
  });

  test('takes the next step at once, also after a 401 without a body', async () => {
    const world = await front({}, {}, service('NTLM', false));
    await signIn(world, 'alice');
    expect(world.upstream.connections).toHaveLength(1);
  });

  test('closes with the connection of its client', async () => {
    const world = await front();
    const alice = await signIn(world, 'alice');
    expect(world.upstream.openConnections).toHaveLength(1);
    alice.destroy();
    await waitFor('it is closed', () => world.upstream.openConnections.length === 0);
  });

  test('closes after keep_alive, and not at max_connection_age', async () => {
    const world = await front({ keep_alive: '10s', max_connection_age: '1s' });
    const alice = await signIn(world, 'alice');
    world.gateway.time.advance(5_000);
    expect((await alice.ask(get())).body.toString()).toBe('alice');
    expect(world.upstream.openConnections).toHaveLength(1);
    world.gateway.time.advance(11_000);
    await waitFor('it is closed', () => world.upstream.openConnections.length === 0);
    expect((await alice.ask(get())).status).toBe(401);
  });

  test('takes a place of its caller as long as it lasts', async () => {
    withoutWorkers();
    const world = await front({ max_requests: 4, max_requests_per_caller: '50%' });
    const alice = await signIn(world, 'alice');
    await signIn(world, 'bob');
    // Both are of one address, which may have no third place, but each may use its own.
    expectError(await world.gateway.ask(get()), 503, 14);
    expect((await alice.ask(get())).body.toString()).toBe('alice');
    alice.destroy();
    await waitFor('the place is free', async () => (await world.gateway.ask(get())).status === 401);
  });

  test('works where an upstream takes one request of a caller', async () => {
    const world = await front({ max_requests: 1 });
    const alice = await signIn(world, 'alice');
    expect((await alice.ask(get())).body.toString()).toBe('alice');
  });

  test('is found again among several addresses', async () => {
    const [one, other] = [await startUpstream(service('NTLM')), await startUpstream(service('NTLM'))];
    const urls = [one, other].map(({ port }) => `http://127.0.0.1:${port}`);
    const gateway = await startGateway({ upstreamPort: one.port, api: { url: undefined, urls } });
    for (const user of ['alice', 'bob', 'carol', 'dave']) {
      const client = await signIn({ gateway, upstream: one }, user);
      expect((await client.ask(get())).body.toString()).toBe(user);
    }
  });
});

describe('the Authorization of a client alone', () => {
  test('binds no connection, and leaves none for others', async () => {
    const world = await front();
    const client = await world.gateway.connect();
    expect((await client.ask(get('Negotiate alice'))).body.toString()).toBe('alice');
    await waitFor('it is closed', () => world.upstream.openConnections.length === 0);
    expect((await client.ask(get())).status).toBe(401);
    expect((await world.gateway.ask(get())).status).toBe(401);
  });
});

describe('a challenge for connections passes without its schemes', () => {
  const line = (because: string) =>
    `"type":"connection_authentication","upstream":"api","because":"${because}"`;
  const log = { log: { level: 'warn', access: false } };

  test('to clients of HTTP/2', async () => {
    const world = await front({}, { listen: H2C, ...log }, service('NTLM, Basic realm="a"'));
    const session = connectHttp2(world.gateway);
    const answers = [];
    for (let i = 0; i < 2; i++) answers.push(await ask(session, { ':path': '/a', ':authority': 'a' }));
    for (const { status, fields } of answers)
      expect([status, fields['www-authenticate']]).toEqual([401, 'Basic realm="a"']);
    expect(world.gateway.logLines.filter(each => each.includes(line('client_h2')))).toHaveLength(1);
    for (const [ms, lines] of [
      [3_590_000, 1],
      [10_001, 2],
    ] as const) {
      world.gateway.time.advance(ms);
      await ask(connectHttp2(world.gateway), { ':path': '/a', ':authority': 'a' });
      expect(world.gateway.logLines.filter(each => each.includes(line('client_h2')))).toHaveLength(lines);
    }
  });

  test('and leaves the connection to nobody if a client of HTTP/2 tries it all the same', async () => {
    const world = await front({}, { listen: H2C }, service('Basic realm="a", NTLM'));
    const session = connectHttp2(world.gateway);
    const mine = { ':path': '/a', ':authority': 'a', authorization: 'Negotiate alice' };
    expect((await ask(session, mine)).body.toString()).toBe('alice');
    expect((await ask(session, { ':path': '/a', ':authority': 'a' })).status).toBe(401);
    expect((await world.gateway.ask(get())).status).toBe(401);
  });

  test('to clients behind a trusted proxy: 502 if none is left', async () => {
    const world = await front({}, { trusted_proxies: ['127.0.0.1'], ...log });
    expectError(await world.gateway.ask(get()), 502, 14);
    expect(world.gateway.logLines.join()).toContain(line('proxy'));
  });

  test.each([
    'Via: 1.1 squid',
    'X-Forwarded-For: 192.0.2.1',
    'Forwarded: for=192.0.2.1',
    'X-Real-IP: 192.0.2.1',
  ])('to clients behind a proxy that is not listed, and says so: %s', async claim => {
    const world = await front({}, log);
    const client = await world.gateway.connect();
    const ask = (authorization: string) =>
      client.ask(head('GET /a', `Authorization: ${authorization}`, claim));
    expectError(await ask('NTLM one'), 502, 14);
    expect((await ask('Negotiate alice')).body.toString()).toBe('alice');
    expect((await client.ask(head('GET /a', claim))).status).toBe(502);
    expect(world.gateway.logLines.join()).toContain(line('proxy'));
  });

  test('but as it is to clients behind one that speaks the PROXY protocol', async () => {
    const listen = { http: { address: '127.0.0.1:0', proxy_protocol: true }, admin: '127.0.0.1:0' };
    const world = await front({}, { trusted_proxies: ['127.0.0.1'], listen });
    const client = await world.gateway.connect();
    await client.send(v2(TCP4('192.0.2.7')));
    const response = await client.ask(get('NTLM one'));
    expect(header(response, 'www-authenticate')).toBe('NTLM two');
    expect((await client.ask(get('NTLM three alice'))).body.toString()).toBe('alice');
  });

  test('from services that are reached by HTTP/2', async () => {
    const upstream = await startH2Upstream(({ stream }) => {
      stream.respond({
        ':status': 401,
        'www-authenticate': ['Negotiate', 'Basic realm="a"'],
        'content-length': 2,
      });
      stream.end('no');
    });
    const gateway = await startGateway({ upstreamPort: upstream.port, api: { protocol: 'h2' }, config: log });
    const response = await gateway.ask(get());
    expect(header(response, 'www-authenticate')).toBe('Basic realm="a"');
    expect(gateway.logLines.join()).toContain(line('upstream_h2'));
  });
});
