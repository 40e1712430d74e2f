import { createHash, generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import OidcProvider from 'oidc-provider';
import { describe, expect, it, onTestFinished } from 'vitest';
import { memoryStore } from '../../src/cli/demo/provider/demo-provider.ts';
import { systemClock } from '../../src/core/index.ts';
import type { Identity } from '../support/certificates.ts';
import { diagnosticsIn } from '../support/config-text.ts';
import { expectInvalidToken } from '../support/error-object.ts';
import { startGateway } from '../support/gateway.ts';
import { ask as askHttp2 } from '../support/http2-client.ts';
import { accessLines, startGatewayOf } from '../support/identity-gateway.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { tempText } from '../support/temp.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { AUTHORITY, startTlsGateway } from '../support/tls-gateway.ts';
import { header, startUpstream, values } from '../support/wire/index.ts';

const TRUST = { ca: AUTHORITY.certificate, servername: 'localhost' };
const [ADA, BOB] = [AUTHORITY.forClient('ada'), AUTHORITY.forClient('bob')];

const base64Of = ({ certificate }: Identity) => certificate.replaceAll(/-----[^-]+-----|\s/g, '');
const thumbprintOf = (identity: Identity) =>
  createHash('sha256')
    .update(Buffer.from(base64Of(identity), 'base64'))
    .digest('base64url');
const boundTo = (identity: Identity) => ({ cnf: { 'x5t#S256': thumbprintOf(identity) } });
const showing = ({ certificate, key }: Identity) => ({ tls: { ...TRUST, cert: certificate, key } });

/** A gateway that asks for certificates of clients, and takes requests without one. */
async function tlsFront(config: Readonly<Record<string, unknown>> = {}) {
  const issuer = await startIssuer();
  const ca_file = await tempText('clients.crt', AUTHORITY.certificate);
  const started = await startTlsGateway({
    tls: { client_certificates: { ca_file, required: false } },
    route: { authentication: 'required' },
    config: {
      identity_provider: { issuer: issuer.url },
      access_tokens: { audience: 'api' },
      log: { level: 'info', access: true },
      ...config,
    },
  });
  await started.gateway.ready();
  return { issuer, ...started };
}

describe('a token that is bound to a certificate', () => {
  it('is valid on a connection with that certificate, and on no other', async () => {
    const { gateway, issuer, upstream } = await tlsFront();
    const bearer = issuer.bearer(boundTo(ADA));
    expect((await gateway.ask(head('GET /', bearer), showing(ADA))).status).toBe(200);
    expectInvalidToken(await gateway.ask(head('GET /', bearer), showing(BOB)));
    expectInvalidToken(await gateway.ask(head('GET /', bearer), { tls: TRUST }));
    await expect
      .poll(() => accessLines(gateway).map(line => line['tokenRefused']))
      .toEqual([undefined, 'certificate', 'certificate']);
    expect(upstream.requests).toHaveLength(1);
    expect((await gateway.counted('weir_tokens_refused_total')).get('{reason="certificate"}')).toBe(2);
  });

  it('is looked at with every request of a connection', async () => {
    const { gateway, issuer } = await tlsFront();
    const client = await gateway.connect(showing(ADA));
    const [own, foreign, free] = [boundTo(ADA), boundTo(BOB), {}].map(claims => issuer.bearer(claims));
    for (const [bearer, status] of [
      [own, 200],
      [foreign, 401],
      [foreign, 401],
      [free, 200],
      [own, 200],
    ] as const)
      expect((await client.ask(head('GET /', bearer ?? ''))).status).toBe(status);
  });

  it('is not taken from a client that knows the certificate and tells it in a field', async () => {
    const { gateway, issuer } = await tlsFront();
    const bearer = issuer.bearer(boundTo(ADA));
    const forged = `Client-Cert: :${base64Of(ADA)}:`;
    expectInvalidToken(await gateway.ask(head('GET /', bearer, forged), { tls: TRUST }));
    expectInvalidToken(await gateway.ask(head('GET /', bearer, forged), showing(BOB)));
  });

  it('is valid over HTTP/2 as well', async () => {
    const { gateway, issuer } = await tlsFront();
    const ask = async (identity: Identity) => {
      const { certificate, key } = identity;
      const session = connect(`https://localhost:${gateway.port}`, { ...TRUST, cert: certificate, key });
      session.on('error', () => {});
      onTestFinished(() => session.destroy());
      const fields = { ':path': '/', authorization: `Bearer ${issuer.token(boundTo(ADA))}` };
      return [(await askHttp2(session, fields)).status, (await askHttp2(session, fields)).status];
    };
    expect(await ask(ADA)).toEqual([200, 200]);
    expect(await ask(BOB)).toEqual([401, 401]);
  });
});

describe('a token that is bound to something else', () => {
  it('is refused, and named in the log by its caller, who will ask why', async () => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer);
    await gateway.ask(head('GET /', issuer.bearer()));
    expectInvalidToken(await gateway.ask(head('GET /', issuer.bearer({ cnf: { jkt: 'x' } }))));
    await expect.poll(() => accessLines(gateway).length).toBe(2);
    const [known, refused] = accessLines(gateway);
    expect(refused).toMatchObject({ tokenRefused: 'confirmation', refusedCaller: known?.['caller'] });
  });
});

describe('a proxy that tells the certificate of its client', () => {
  async function behind(field: string, more: Readonly<Record<string, unknown>> = {}, limits = {}) {
    const issuer = await startIssuer();
    const { gateway, upstream } = await startGatewayOf(issuer, {
      limits,
      tokens: { certificate_field: field },
      config: { trusted_proxies: ['127.0.0.1'], ...more },
    });
    const ask = (...lines: string[]) => gateway.ask(head('GET /', issuer.bearer(boundTo(ADA)), ...lines));
    return { issuer, gateway, upstream, ask };
  }

  it.each([
    ['Client-Cert', `:${base64Of(ADA)}:`],
    ['X-SSL-Client-Cert', encodeURIComponent(ADA.certificate)],
    ['X-Forwarded-Client-Cert', `Hash=${Buffer.from(thumbprintOf(ADA), 'base64url').toString('hex')}`],
    ['X-My-Cert', base64Of(ADA)],
  ])('is believed, in %s, and the service learns of it', async (field, value) => {
    const { ask, upstream } = await behind(field);
    expect((await ask(`${field}: ${value}`)).status).toBe(200);
    expect(values(upstream.onlyRequest.fields, field.toLowerCase())).toEqual([value]);
  });

  it('is believed where it is trusted alone', async () => {
    const { ask, gateway, issuer, upstream } = await behind('X-My-Cert', { trusted_proxies: ['192.0.2.1'] });
    expectInvalidToken(await ask(`X-My-Cert: ${base64Of(ADA)}`));
    // Nor does the field reach a service with a token that is bound to nothing.
    await gateway.ask(head('GET /', issuer.bearer(), `X-My-Cert: ${base64Of(ADA)}`, 'x_my_cert: a'));
    expect(String(upstream.onlyRequest.head).toLowerCase()).not.toMatch(/x.my.cert/);
  });

  it('tells it once, in the spelling of the configuration', async () => {
    const { ask } = await behind('X-My-Cert');
    expectInvalidToken(await ask());
    expectInvalidToken(await ask(`X-My-Cert: ${base64Of(BOB)}`));
    expectInvalidToken(await ask(`X-My-Cert: ${base64Of(ADA)}`, `X-My-Cert: ${base64Of(ADA)}`));
    expectInvalidToken(await ask(`X_My_Cert: ${base64Of(ADA)}`));
    expectInvalidToken(await ask(`Client-Cert: :${base64Of(ADA)}:`));
    expect((await ask(`x-my-cert: ${base64Of(ADA)}`)).status).toBe(200);
  });

  it('carries requests of several clients on one connection', async () => {
    const { gateway, issuer } = await behind('Client-Cert');
    const client = await gateway.connect();
    const ask = async (token: Identity, shown: Identity) =>
      (await client.ask(head('GET /', issuer.bearer(boundTo(token)), `Client-Cert: :${base64Of(shown)}:`)))
        .status;
    expect(await ask(ADA, ADA)).toBe(200);
    expect(await ask(ADA, BOB)).toBe(401);
    expect(await ask(BOB, BOB)).toBe(200);
    expect(await ask(ADA, ADA)).toBe(200);
  });

  it('has the log name no caller whose certificate did not come, even where its address is restricted', async () => {
    const rule = { invalid_requests: { limit: '1/1m', restrict_for: '1m' } };
    const { gateway, issuer } = await behind('Client-Cert', {}, rule);
    const client = await gateway.connect();
    const bearer = issuer.bearer(boundTo(ADA));
    const ask = async (shown: Identity) =>
      (await client.ask(head('GET /', bearer, `Client-Cert: :${base64Of(shown)}:`))).status;
    expect([await ask(ADA), await ask(BOB), await ask(BOB), await ask(BOB), await ask(ADA)]).toEqual([
      ...[200, 401, 401, 429, 429],
    ]);
    await expect.poll(() => accessLines(gateway).length).toBe(5);
    expect(accessLines(gateway).map(line => line['class'])).toEqual([
      ...['user', 'address', 'address', 'address', 'user'],
    ]);
  });

  it('does not lend its own certificate to its clients', async () => {
    const { gateway, issuer, upstream } = await tlsFront({ trusted_proxies: ['127.0.0.1'] });
    // Without the field, the certificate of the connection is the client's.
    expect((await gateway.ask(head('GET /', issuer.bearer(boundTo(ADA))), showing(ADA))).status).toBe(200);
    const other = await tlsFront({
      trusted_proxies: ['127.0.0.1'],
      access_tokens: { audience: 'api', certificate_field: 'Client-Cert' },
    });
    const ask = (token: Identity, ...lines: string[]) =>
      other.gateway.ask(head('GET /', other.issuer.bearer(boundTo(token)), ...lines), showing(ADA));
    expectInvalidToken(await ask(ADA));
    expect((await ask(BOB, `Client-Cert: :${base64Of(BOB)}:`)).status).toBe(200);
    expect(values(other.upstream.onlyRequest.fields, 'client-cert')).toEqual([`:${base64Of(BOB)}:`]);
    expect(header(upstream.onlyRequest, 'client-cert')).toBe(`:${base64Of(ADA)}:`);
  });
});

describe('certificate_field', () => {
  const text = (name: string, more: string) => `identity_provider: { issuer: "https://id" }
access_tokens: { audience: api, certificate_field: ${name}, identity_headers: { X-User: sub } }
upstreams: { api: { url: "http://api:3000" } }
routes: [{ path: /**, upstream: api }]
${more}`;
  const PROXIES = 'trusted_proxies: [10.0.0.0/8]\n';

  it.each(['Client-Cert', 'X-Forwarded-Client-Cert', 'X-My-Cert'])('may be %s', async name => {
    expect(await diagnosticsIn(text(name, PROXIES))).toEqual([]);
  });

  it.each([
    ['X-My-Cert', '', 'no proxy is trusted to send this field: list your proxies under trusted_proxies'],
    ['Authorization', PROXIES, 'the gateway uses "Authorization" itself'],
    ['X-Forwarded-For', PROXIES, 'the gateway uses "X-Forwarded-For" itself'],
    [
      'x_user',
      PROXIES,
      'the gateway writes this field itself, see identity_headers in line 2: choose another',
    ],
    [
      'X-My-Cert',
      `${PROXIES}forwarding_headers: { remove: [], keep: [X-My-Cert] }\n`,
      '"X-My-Cert" is kept by forwarding_headers, so anyone could send it',
    ],
    ['"a b"', PROXIES, '"a b" is not a header field name'],
  ])('may not be %s', async (name, more, message) => {
    expect((await diagnosticsIn(text(name, more))).join('\n')).toContain(
      `access_tokens.certificate_field: ${message}`,
    );
  });
});

it('the document of a protected resource says that tokens may be bound to certificates', async () => {
  const document = async (
    tokens: Readonly<Record<string, unknown>>,
    resource = 'https://api.example.com',
  ) => {
    const issuer = await startIssuer();
    const { gateway } = await startGatewayOf(issuer, {
      tokens,
      config: { trusted_proxies: ['192.0.2.1'], protected_resource: { resource } },
    });
    return JSON.parse((await gateway.ask(head('GET /.well-known/oauth-protected-resource'))).body.toString());
  };
  expect(await document({ certificate_field: 'Client-Cert' })).toMatchObject({
    tls_client_certificate_bound_access_tokens: true,
  });
  expect(await document({})).not.toHaveProperty('tls_client_certificate_bound_access_tokens');
});

/** oidc-provider, which binds the tokens of its client to the certificate that the client shows in this field. */
async function startBindingProvider(field: string): Promise<string> {
  let serve = (_request: IncomingMessage, _response: ServerResponse): void => undefined;
  const server = createServer((request, response) => serve(request, response));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwt = { accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } };
  const provider = new OidcProvider(issuer, {
    adapter: memoryStore(systemClock),
    clients: [
      {
        client_id: 'robot',
        client_secret: 'secret',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: 'ES256',
        tls_client_certificate_bound_access_tokens: true,
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'ES256' }] },
    ttl: { ClientCredentials: 60 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      mTLS: {
        enabled: true,
        certificateBoundAccessTokens: true,
        getCertificate: (ctx: { get(name: string): string }) => decodeURIComponent(ctx.get(field)),
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:api',
        getResourceServerInfo: () => ({ scope: 'orders.read', audience: 'api', ...jwt }),
      },
    },
  });
  serve = (request, response) => void provider.callback()(request, response);
  return issuer;
}

it('a real provider binds tokens to the certificate of the client that asks for them', async () => {
  const field = 'X-Client-Cert';
  const issuer = await startBindingProvider(field);
  const upstream = await startUpstream();
  const gateway = await startGateway({
    upstreamPort: upstream.port,
    config: {
      identity_provider: { issuer },
      access_tokens: { audience: 'api', principal: ['client_id'], certificate_field: field },
      trusted_proxies: ['127.0.0.1'],
      routes: [{ path: '/**', upstream: 'api', require: { scopes: ['orders.read'] } }],
    },
  });
  await gateway.ready();
  const certificate = (identity: Identity) => encodeURIComponent(identity.certificate);
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa('robot:secret')}`, [field]: certificate(ADA) },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'orders.read' }),
  });
  const { access_token } = (await response.json()) as { access_token: string };
  const ask = (identity: Identity) =>
    gateway.ask(
      head('GET /', `Authorization: Bearer ${secret(access_token)}`, `${field}: ${certificate(identity)}`),
    );
  expect((await ask(ADA)).status).toBe(200);
  expectInvalidToken(await ask(BOB));
});
