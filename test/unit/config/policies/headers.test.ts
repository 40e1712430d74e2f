import { describe, expect, it } from 'vitest';
import { changesInWords, diagnosticsIn, loadText } from '../../../support/config-text.ts';

const HEAD = `identity_provider: { issuer: "https://id" }
access_tokens: { audience: api, identity_headers: { X-Auth-Subject: sub } }
forwarding_headers: [X-Tenant]
upstreams: { api: { url: "http://api:3000" } }
routes:
`;
const withRoute = (keys: string) => `${HEAD}  - { path: /a, upstream: api, ${keys} }\n`;

/** What is wrong with a route, without the place. */
const wrongIn = async (keys: string) =>
  (await diagnosticsIn(withRoute(keys))).map(line => line.replace(/^[\d:]+ routes\[0\]/, ''));

const request = (edits: string) => wrongIn(`request_headers: ${edits}`);
const response = (edits: string) => wrongIn(`response_headers: ${edits}`);

describe('request_headers', () => {
  it.each([
    '{ set: { X-Plan: "{claim.plan}", X-Where: "{client_address} {route}", X-Id: "a-{request_id}" } }',
    '{ set: { Cookie: a=b }, remove: [Origin, X-Debug] }',
    '{ set: { X-Plan: "{claim.https://example.com/plan}" } }',
    '{ set: { X-Consumer-Username: main, Remote-User: "{claim.sub}", X-Forwarded-Groups: a }, remove: [X-Userinfo, SM_USER] }',
    '{ set: { X-Matched-Path: /a }, remove: [X-Middleware-Subrequest] }',
    '{ remove: [via] }',
  ])('may be %s', async edits => {
    expect(await request(edits)).toEqual([]);
  });

  it('do not set Via', async () => {
    expect(await request('{ set: { Via: 1.1 x } }')).toEqual([
      '.request_headers.set: "Via" cannot be changed by a route: the gateway writes it in every message',
    ]);
  });

  it.each([
    ['Content-Length', 'it belongs to the connection or frames the message'],
    ['content_length', 'it belongs to the connection or frames the message'],
    ['Connection', 'it belongs to the connection or frames the message'],
    ['Expect', 'it belongs to the connection or frames the message'],
    ['Host', 'write "host" under the upstream'],
    [
      'Authorization',
      'the token decides about it: see "authentication" of the route, and "authorization" of its upstream',
    ],
    ['X-Auth-Subject', 'access_tokens.identity_headers sets it from the token'],
    ['x.auth.subject', 'access_tokens.identity_headers sets it from the token'],
    [
      'Client-Cert',
      'the gateway sends the certificate of a client in it: see client_certificates of the listener',
    ],
    ['X-Forwarded-For', 'the gateway says itself where a request came from: see forwarding_headers'],
    ['X-Real-IP', 'the gateway says itself where a request came from: see forwarding_headers'],
    ['X-Forwarded-Port', 'the gateway says itself where a request came from: see forwarding_headers'],
    ['X-Tenant', 'it is listed in forwarding_headers, so trusted proxies may send it'],
    ['X-RateLimit-Limit', 'the gateway writes limits into it'],
    ['RateLimit', 'the gateway writes limits into it'],
    ['X-Request-Id', 'the gateway writes it in every message'],
    ['traceparent', 'the gateway writes it in every message'],
    ['Sec-WebSocket-Key', 'a WebSocket handshake needs it as it is'],
    [
      'X-HTTP-Method-Override',
      'it is always removed, since services may read another method or path from it',
    ],
  ])('neither set nor remove %s', async (name, why) => {
    const says = `"${name}" cannot be changed by a route: ${why}`;
    const value = name.startsWith('content') ? '"1"' : 'x';
    expect(await request(`{ set: { ${name}: ${value} } }`)).toEqual([`.request_headers.set: ${says}`]);
    expect(await request(`{ remove: [${name}] }`)).toEqual([`.request_headers.remove[0]: ${says}`]);
  });

  it.each([
    ['{}', ': changes nothing: write set or remove, or leave it out'],
    ['{ set: {}, remove: [] }', ': changes nothing: write set or remove, or leave it out'],
    [
      '{ set: { X-A: "" } }',
      '.set.X-A: an empty value sets nothing: to remove the field, list its name under "remove"',
    ],
    [
      '{ set: { X-A: 1 } }',
      '.set.X-A: expected text, in quotes if it is a number, true or false, found a value',
    ],
    [
      '{ set: { X-A: "a\\r\\nX-B: c" } }',
      '.set.X-A: expected visible ASCII characters, with blanks only between them, found text',
    ],
    [
      '{ set: { X-A: "ä" } }',
      '.set.X-A: expected visible ASCII characters, with blanks only between them, found text',
    ],
    [
      '{ set: { X-A: "{claims.plan}" } }',
      '.set.X-A: "{claims.plan}" is not a placeholder: write {request_id}, {client_address}, {route} or {claim.NAME}',
    ],
    [
      '{ set: { X-A: "{claim.}" } }',
      '.set.X-A: "{claim.}" is not a placeholder: write {request_id}, {client_address}, {route} or {claim.NAME}',
    ],
    [
      '{ set: { X-A: "a}" } }',
      '.set.X-A: "a}" is not a placeholder: write {request_id}, {client_address}, {route} or {claim.NAME}',
    ],
    ['{ set: { X-A: a }, remove: [x_a] }', '.remove[0]: "x_a" is named twice, first in line 6: keep one'],
    [
      '{ remove: ["X A"] }',
      '.remove[0]: "X A" is not a header field name: use letters, digits and "-", such as X-Plan',
    ],
    ['{ add: { X-A: a } }', ': unknown key "add"'],
  ])('are refused as %s', async (edits, message) => {
    expect(await request(edits)).toEqual([`.request_headers${message}`]);
  });

  it('name no claim where tokens are ignored', async () => {
    expect(
      await wrongIn('authentication: none, request_headers: { set: { X-A: "{claim.plan}" } }'),
    ).toContain(
      '.request_headers.set.X-A: no claim is known here: "authentication: none" ignores tokens. Leave out one of the two',
    );
    expect(await wrongIn('accept: [api_key], request_headers: { set: { X-A: "{claim.plan}" } }')).toContain(
      '.request_headers.set.X-A: no claim is known here: API keys have none, and "accept" names no token',
    );
  });

  it('have the claims that they name kept of every token, and no client sends their fields anywhere', async () => {
    const loaded = await loadText(
      withRoute('request_headers: { set: { X-Plan: "{claim.plan}/{claim.azp}", X-Fixed: a } }'),
    );
    if (!loaded.ok) throw new Error('invalid');
    const { identity, forwarding } = loaded.snapshot;
    expect(identity?.providers[0]?.accessTokens.keptClaims).toEqual(['azp', 'plan']);
    expect(forwarding.table.get('x_plan')).toBe('drop');
    expect(forwarding.table.get('X-Fixed')).toBeUndefined();
  });

  it('leave the fields that a gRPC call is made of', async () => {
    const text = `${HEAD.replace('3000" }', '3000", protocol: grpc }')}  - { grpc: a.B/*, upstream: api, request_headers: { remove: [grpc-timeout] }, response_headers: { set: { Content-Type: text/plain, X-A: b } } }
listen: { grpc: "127.0.0.1:0" }
`;
    expect((await diagnosticsIn(text)).map(line => line.replace(/^[\d:]+ /, ''))).toEqual([
      'routes[0].request_headers.remove[0]: "grpc-timeout" cannot be changed by a route: gRPC calls need it as it is',
      'routes[0].response_headers.set: "Content-Type" cannot be changed by a route: gRPC calls need it as it is',
    ]);
  });
});

describe('response_headers', () => {
  it.each([
    '{ set: { X-Frame-Options: DENY, Strict-Transport-Security: max-age=63072000 }, remove: [Server] }',
    `{ set: { NEL: '{"report_to":"default"}' } }`,
    '{ remove: [X-Envoy-Upstream-Service-Time, X-Powered-By] }',
    '{ set: { Access-Control-Allow-Origin: "*" } }',
  ])('may be %s', async edits => {
    expect(await response(edits)).toEqual([]);
  });

  it.each([
    ['Transfer-Encoding', 'it belongs to the connection or frames the message'],
    ['Trailer', 'it belongs to the connection or frames the message'],
    ['X-RateLimit-Bucket', 'the gateway writes limits into it'],
    ['Retry-After', 'the gateway writes limits into it'],
    ['Via', 'the gateway writes it in every message'],
    ['Sec-WebSocket-Accept', 'a WebSocket handshake needs it as it is'],
  ])('neither set nor remove %s', async (name, why) => {
    const says = `"${name}" cannot be changed by a route: ${why}`;
    expect(await response(`{ set: { ${name}: x }, remove: [] }`)).toEqual([`.response_headers.set: ${says}`]);
    expect(await response(`{ remove: [${name}] }`)).toEqual([`.response_headers.remove[0]: ${says}`]);
  });

  it('are fixed', async () => {
    expect(await response('{ set: { X-A: "{request_id}" } }')).toEqual([
      '.response_headers.set.X-A: placeholders work in "request_headers" only: write a fixed value',
    ]);
  });

  it('leave the fields of "cors" to it', async () => {
    const route = 'response_headers: { set: { Access-Control-Allow-Origin: "*" } }';
    const text = (keys: string) =>
      `${withRoute(`${route}${keys}`)}cors: { origins: ["https://a.example"] }\n`;
    expect((await diagnosticsIn(text(''))).map(line => line.replace(/^[\d:]+ /, ''))).toEqual([
      'routes[0].response_headers.set: "Access-Control-Allow-Origin" cannot be changed by a route: the gateway writes it by "cors"',
    ]);
    expect(await diagnosticsIn(text(', cors: false'))).toEqual([]);
  });
});

it('a change is told without values, which may come from variables', async () => {
  const changes = async (before: string, now: string) => {
    const [one, other] = [await loadText(withRoute(before)), await loadText(withRoute(now))];
    if (!one.ok || !other.ok) throw new Error('invalid');
    return changesInWords(other.snapshot.outline, one.snapshot.outline);
  };
  const one = 'request_headers: { set: { X-Key: secret }, remove: [X-Debug] }';
  expect(await changes(one, one)).toEqual([]);
  expect(await changes(one, one.replace('secret', 'other'))).toEqual([
    'neutral: /a: request_headers X-Key with another value, before its own',
  ]);
  expect(await changes(one, 'response_headers: { set: { X-A: b } }')).toEqual([
    'neutral: /a: request_headers none, before set X-Key, remove X-Debug; response_headers set X-A, before none',
  ]);
});
