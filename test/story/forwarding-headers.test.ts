import { describe, expect, test } from 'vitest';
import { type GatewaySettings, startGateway } from '../support/gateway.ts';
import { head } from '../support/requests.ts';
import { type CapturedRequest, header, names, startUpstream, values } from '../support/wire/index.ts';

/** What the upstream gets when a client sends these lines. */
async function forwarded(
  lines: readonly string[],
  settings: Partial<GatewaySettings> = {},
): Promise<CapturedRequest> {
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port, ...settings });
  expect((await gateway.ask(head('GET /a', ...lines))).status).toBe(200);
  return upstream.onlyRequest;
}

/** Every name that could pass for the given one, by a server that folds letter case and punctuation. */
function folded(request: CapturedRequest): string[] {
  return names(request.fields).map(name => name.toLowerCase().replace(/[^a-z0-9]/g, '-'));
}

const TRUSTED = { config: { trusted_proxies: ['127.0.0.1'] } };

/** Names by which a backend learns where a request came from, who sends it, or what it shall be taken for. */
const CLAIMS = [
  ...[
    'X-Forwarded-For',
    'X-Forwarded-Proto',
    'X-Forwarded-Host',
    'X-Forwarded-Anything',
    'Forwarded',
    'X-Real-IP',
  ],
  ...['Remote-User', 'X-Auth-Request-Email', 'Client-Cert', '$WSRU', 'HTTP-X-Forwarded-For', 'Proxy'],
];
const OVERRIDES = ['X-HTTP-Method-Override', 'X-Original-URL', 'X-Rewrite-URL'];

const SPELLINGS: readonly (readonly [string, (name: string) => string[]])[] = [
  ['as it is', name => [`${name}: forged`]],
  ['in upper case', name => [`${name.toUpperCase()}: forged`]],
  ['with underscores', name => [`${name.replaceAll('-', '_')}: forged`]],
  ['with tildes', name => [`${name.replaceAll('-', '~')}: forged`]],
  ['twice', name => [`${name}: forged`, `${name.toLowerCase()}: forged`]],
  ['named by Connection', name => [`${name}: forged`, `Connection: ${name}`]],
];

describe('without a trusted proxy', () => {
  test('the upstream learns from the gateway where a request came from', async () => {
    const { fields } = await forwarded([]);
    expect(values(fields, 'x-forwarded-for')).toEqual(['127.0.0.1']);
    expect(values(fields, 'x-forwarded-proto')).toEqual(['http']);
    expect(values(fields, 'x-forwarded-host')).toEqual(['gateway.test']);
    expect(values(fields, 'via')).toEqual(['1.1 weir']);
    expect(values(fields, 'x-request-id')).toEqual([expect.stringMatching(/^[A-Za-z0-9._-]{1,64}$/)]);
  });

  test('no claim of the client reaches it, however it is written', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const claims = [...CLAIMS, ...OVERRIDES].map(name => name.toLowerCase());
    for (const [spelling, spell] of SPELLINGS) {
      const lines = [...CLAIMS, ...OVERRIDES].flatMap(spell);
      expect((await gateway.ask(head('GET /a', ...lines))).status).toBe(200);
      const [request] = upstream.requests.splice(0);
      if (request === undefined) throw new Error('nothing was forwarded');
      expect(request.head.toString('latin1'), spelling).not.toContain('forged');
      const passed = folded(request).filter(name => claims.includes(name));
      expect(passed.sort(), spelling).toEqual(['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto']);
      expect(values(request.fields, 'x-forwarded-for')).toEqual(['127.0.0.1']);
    }
  });

  test('names that a service uses itself can be kept, however they are spelled', async () => {
    const config = {
      forwarding_headers: { remove: ['X-Edge'], keep: ['X-Host', 'X-Forwarded-Prefix', 'Remote-User'] },
    };
    const request = await forwarded(
      [
        ...['X-Host: a', 'x_host: b', 'X-Forwarded-Prefix: c', 'remote-user: d'],
        ...['X-Edge: forged', 'X-Forwarded-Port: forged', 'X-Forwarded-For: forged', 'Remote-Email: forged'],
      ],
      { config },
    );
    const kept = ['x-host', 'x_host', 'x-forwarded-prefix', 'remote-user'];
    expect(kept.flatMap(name => values(request.fields, name))).toEqual(['a', 'b', 'c', 'd']);
    expect(request.head.toString('latin1')).not.toContain('forged');
  });
});

describe('behind a trusted proxy', () => {
  test('X-Forwarded-For is extended, the others are kept', async () => {
    const { fields } = await forwarded(
      [
        ...[
          'X-Forwarded-For: 192.0.2.1, 192.0.2.2',
          'X-Forwarded-Proto: https',
          'X-Forwarded-Host: public.test',
        ],
        ...['Forwarded: for=192.0.2.1', 'X-Real-IP: 192.0.2.1', 'X-Forwarded-Port: 443'],
      ],
      TRUSTED,
    );
    expect(values(fields, 'x-forwarded-for')).toEqual(['192.0.2.1, 192.0.2.2, 127.0.0.1']);
    expect(values(fields, 'x-forwarded-proto')).toEqual(['https']);
    expect(values(fields, 'x-forwarded-host')).toEqual(['public.test']);
    expect(values(fields, 'forwarded')).toEqual(['for=192.0.2.1']);
    expect(values(fields, 'x-real-ip')).toEqual(['192.0.2.1']);
    expect(values(fields, 'x-forwarded-port')).toEqual(['443']);
  });

  test('each request of a shared connection counts as its own client', async () => {
    const upstream = await startUpstream();
    const config = { ...TRUSTED.config, log: { level: 'info', access: true } };
    const gateway = await startGateway({ upstreamPort: upstream.port, config });
    const proxy = await gateway.connect();
    const addresses = ['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.2, 192.0.2.1', '192.0.2.1'];
    for (const address of addresses) await proxy.ask(head('GET /a', `X-Forwarded-For: ${address}`));
    await proxy.ask(head('GET /a'));
    await proxy.ask(head('GET /a'));
    const clients = gateway.logLines.map(line => JSON.parse(line)).filter(({ type }) => type === 'access');
    expect(clients.map(({ client }) => client)).toEqual([
      ...['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.1', '192.0.2.1', '127.0.0.1', '127.0.0.1'],
    ]);
  });

  test('headers that override method and path are removed all the same', async () => {
    const request = await forwarded(
      OVERRIDES.map(name => `${name}: forged`),
      TRUSTED,
    );
    expect(request.head.toString('latin1')).not.toContain('forged');
  });

  test('a proxy of another network is not a trusted one', async () => {
    const { fields } = await forwarded(['X-Forwarded-For: 192.0.2.1'], {
      config: { trusted_proxies: ['10.0.0.0/8'] },
    });
    expect(values(fields, 'x-forwarded-for')).toEqual(['127.0.0.1']);
  });
});

describe('a request id', () => {
  test('is the same upstream and on the response, and another for each request', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const client = await gateway.connect();
    const responses = [await client.ask(head('GET /a')), await client.ask(head('GET /a'))];
    const ids = upstream.requests.map(request => values(request.fields, 'x-request-id'));
    expect(responses.map(response => [header(response, 'x-request-id')])).toEqual(ids);
    expect(new Set(ids.flat()).size).toBe(2);
  });

  test('of an untrusted peer is replaced', async () => {
    const { fields } = await forwarded(['X-Request-Id: forged', 'X_Request_Id: forged']);
    expect(values(fields, 'x-request-id')).not.toContain('forged');
    expect(names(fields)).not.toContain('X_Request_Id');
  });

  test('of a trusted peer is kept if it is valid and came once, else replaced', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({ upstreamPort: upstream.port, ...TRUSTED });
    for (const [ids, isKept] of [
      ...[['a'], ['A-b_c.9'], ['a'.repeat(64)]].map(ids => [ids, true] as const),
      ...[[''], ['a b'], ['a\xe9'], ['a/b'], ['a'.repeat(65)]].map(ids => [ids, false] as const),
      ...[
        ['one', 'two'],
        ['same', 'same'],
        ['one', 'two', 'three'],
        ['one', ''],
      ].map(ids => [ids, false] as const),
    ]) {
      const response = await gateway.ask(head('GET /a', ...ids.map(id => `X-Request-Id: ${id}`)));
      const sent = values(upstream.requests.at(-1)?.fields ?? [], 'x-request-id');
      expect(sent, ids.join()).toEqual([header(response, 'x-request-id')]);
      expect(sent[0]).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
      expect(ids.includes(sent[0] ?? ''), ids.join()).toBe(isKept);
    }
  });

  test("of the upstream does not take the place of the gateway's", async () => {
    const upstream = await startUpstream(exchange => exchange.answer(200, ['X-Request-Id', 'theirs'], 'ok'));
    const gateway = await startGateway({ upstreamPort: upstream.port });
    const response = await gateway.ask(head('GET /a'));
    expect(values(response.fields, 'x-request-id')).toEqual(
      values(upstream.onlyRequest.fields, 'x-request-id'),
    );
  });
});

test('forwarding headers of an untrusted peer are counted', async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({ upstreamPort: upstream.port });
  await gateway.ask(head('GET /a'));
  await gateway.ask(head('GET /a', 'X-Forwarded-For: 192.0.2.1'));
  expect([...(await gateway.metric('weir_untrusted_forwarding_headers_total')).values()]).toEqual([1]);
});

describe('Authorization', () => {
  test('passes to the upstream', async () => {
    const { fields } = await forwarded(['Authorization: Bearer a.b.c']);
    expect(values(fields, 'authorization')).toEqual(['Bearer a.b.c']);
  });

  test('is removed where the upstream shall not have it, and so is its underscore', async () => {
    const { fields } = await forwarded(['Authorization: Bearer a'], { api: { authorization: 'remove' } });
    expect(values(fields, 'authorization')).toEqual([]);
  });
});
