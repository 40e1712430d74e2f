import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { makeCertificates } from '../support/certificates.ts';
import { expectError } from '../support/error-object.ts';
import { startGatewayOf, startIdentityGateway } from '../support/identity-gateway.ts';
import { atEnd } from '../support/lifetime.ts';
import { head, withBody } from '../support/requests.ts';
import { scripts } from '../support/scripted-provider.ts';
import { secret } from '../support/secrets.ts';
import { tempText } from '../support/temp.ts';
import { inTime } from '../support/test-clock.ts';
import { startIssuer } from '../support/test-issuer.ts';

type Asked = { readonly what: string; readonly authorization: string | undefined };

/** A forward proxy: CONNECT and absolute addresses. It may refuse, or never answer. */
async function startProxy() {
  const asked: Asked[] = [];
  const proxy = { asked, does: 'forward' as 'forward' | 'refuse' | 'hang', url: '' };
  const sockets = new Set<Socket>();
  const note = ({ method, url, headers }: IncomingMessage) =>
    asked.push({ what: `${method} ${url}`, authorization: headers['proxy-authorization'] });
  const server = createServer(async (request, response) => {
    note(request);
    const body =
      request.method === 'POST' ? new Uint8Array(Buffer.concat(await request.toArray())) : undefined;
    const headers = new Headers(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    for (const name of ['connection', 'host', 'content-length', 'proxy-connection', 'proxy-authorization'])
      headers.delete(name);
    const answer = await fetch(request.url ?? '', {
      method: request.method ?? '',
      headers,
      ...(body && { body }),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  server.on('connection', socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    note(request);
    client.on('error', () => {});
    if (proxy.does === 'refuse') client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    if (proxy.does !== 'forward') return;
    const upstream = connect(Number(request.url?.split(':')[1]), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on('error', () => client.destroy());
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}

const code = () =>
  withBody(
    'POST /v1/anonymous/auth',
    JSON.stringify({ code: secret('marker-code'), redirectUri: 'https://app.example/callback' }),
  );

test('everything is asked of a provider through its proxy: over https by CONNECT, with the password of the proxy kept secret', async () => {
  const { server, ca } = makeCertificates();
  const issuer = await startIssuer({ tls: { key: server.key, cert: server.certificate } });
  const proxy = await startProxy();
  process.env['WEIR_TEST_PROXY'] = proxy.url.replace('//', `//weir:${secret('marker-password')}@`);
  atEnd(() => void delete process.env['WEIR_TEST_PROXY']);
  const { gateway } = await startGatewayOf(issuer, {
    provider: { proxy: `\${WEIR_TEST_PROXY}`, tls: { ca_file: await tempText('ca.pem', ca) } },
    routes: [{ path: '/asked', introspection: true }],
  });
  issuer.provider.token = scripts.tokens({ access_token: issuer.token() });
  expect((await gateway.ask(code())).status).toBe(200);
  expect((await gateway.ask(head('GET /asked', issuer.bearer()))).status).toBe(200);
  // Discovery, keys, the token endpoint and introspection.
  const authorization = `Basic ${btoa('weir:marker-password')}`;
  const what = `CONNECT 127.0.0.1:${issuer.provider.port}`;
  expect(proxy.asked).toEqual(Array(4).fill({ what, authorization }));
});

test('a provider over http is asked by its whole address', async () => {
  const issuer = await startIssuer();
  const proxy = await startProxy();
  const { gateway } = await startGatewayOf(issuer, { provider: { proxy: proxy.url } });
  issuer.provider.token = scripts.tokens({ access_token: issuer.token() });
  expect((await gateway.ask(code())).status).toBe(200);
  expect(proxy.asked.map(({ what }) => what)).toEqual([
    `GET ${issuer.url}/.well-known/openid-configuration`,
    `GET ${issuer.url}/keys`,
    `POST ${issuer.url}/token`,
  ]);
});

test('the variables of the environment say which proxy is used, and for which hosts none is', async () => {
  const issuer = await startIssuer();
  const proxy = await startProxy();
  const withVariables = async (variables: Record<string, string>, provider: { readonly proxy?: string }) => {
    Object.assign(process.env, variables);
    try {
      await startGatewayOf(issuer, { provider });
    } finally {
      for (const name of Object.keys(variables)) delete process.env[name];
    }
    return proxy.asked.splice(0).length;
  };
  const variables = { HTTP_PROXY: proxy.url, NO_PROXY: 'id.example,.example.com' };
  expect(await withVariables(variables, { proxy: 'environment' })).toBe(2);
  expect(await withVariables({ http_proxy: proxy.url }, { proxy: 'environment' })).toBe(2);
  for (const none of ['127.0.0.1', '*', `127.0.0.1:${issuer.provider.port}`])
    expect(await withVariables({ ...variables, NO_PROXY: none }, { proxy: 'environment' })).toBe(0);
  expect(await withVariables(variables, {})).toBe(0);
  expect(await withVariables({}, { proxy: 'environment' })).toBe(0);
});

test.each(['refuse', 'hang'] as const)(
  'a proxy that would %s to connect leaves the code unused: 503 that says so',
  async does => {
    const { server, ca } = makeCertificates();
    const issuer = await startIssuer({ tls: { key: server.key, cert: server.certificate } });
    const proxy = await startProxy();
    const { gateway } = await startIdentityGateway({
      issuer: issuer.url,
      provider: { proxy: proxy.url, timeout: '1s', tls: { ca_file: await tempText('ca.pem', ca) } },
    });
    await gateway.ready();
    proxy.does = does;
    const refused = await inTime(gateway.time, gateway.ask(code()));
    expectError(refused, 503, 14);
    expect(issuer.provider.tokenRequests).toEqual([]);
    expect(refused.body.toString()).toContain('was not used');
  },
);
