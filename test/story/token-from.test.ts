import { expect, test } from 'vitest';
import { accessLines, type IdentityGateway, startGatewayOf } from '../support/identity-gateway.ts';
import { clientKey, hashOfToken, proofOf } from '../support/proofs.ts';
import { agreementToHead, handshake, startRawUpstream } from '../support/raw-web-sockets.ts';
import { head } from '../support/requests.ts';
import { secret } from '../support/secrets.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { header, values } from '../support/wire/index.ts';

const FROM = [{ query: 'access_token' }, { subprotocol: 'bearer' }, { cookie: 'api_token' }];
const OWN = 'Origin: http://gateway.test';

/** A gateway with a route that takes tokens from everywhere, and one that takes none. */
async function front() {
  const issuer = await startIssuer();
  const token = secret(issuer.token({ sub: 'alice' }));
  const cors = { origins: ['https://app.example'], credentials: true };
  const routes = [
    { path: '/live/**', upstream: 'api', token_from: FROM, websocket: true },
    { path: '/maybe/**', upstream: 'api', token_from: FROM, websocket: true, authentication: 'optional' },
    { path: '/plain/**', upstream: 'api', authentication: 'none' },
  ];
  const started = await startGatewayOf(issuer, { routes, config: { cors } });
  return { ...started, token, other: secret(issuer.token({ sub: 'bob' })) };
}

const statusOf = async ({ gateway }: IdentityGateway, ...request: Parameters<typeof head>) =>
  (await gateway.ask(head(...request))).status;

test('a GET or HEAD may carry its token in the query, which goes no further', async () => {
  const { gateway, upstream, token } = await front();
  expect((await gateway.ask(head(`GET /live/a?x=1&access_token=${token}&y=2`))).status).toBe(200);
  const request = upstream.onlyRequest;
  expect(request.target).toBe('/live/a?x=1&y=2');
  expect(values(request.fields, 'authorization')).toEqual([`Bearer ${token}`]);
  expect(values(request.fields, 'x-auth-subject')).toEqual(['alice']);
  expect((await gateway.ask(head(`HEAD /live/a?access_token=${token}`))).status).toBe(200);
  expect(upstream.requests[1]?.target).toBe('/live/a');
});

test('a token in the query of a page is in no Referer of any route', async () => {
  const { gateway, upstream, token } = await front();
  const referer = `Referer: http://gateway.test/live/?access%5Ftoken=${token}&page=1`;
  await gateway.ask(head('GET /plain/style.css', referer));
  await gateway.ask(head(`GET /live/image?access_token=${token}`, referer));
  for (const request of upstream.requests)
    expect(values(request.fields, 'referer')).toEqual(['http://gateway.test/live/?page=1']);
});

test('nor in what a browser says of a page to which a link sends pings', async () => {
  const { gateway, upstream, token } = await front();
  const url = (page: string) => `http://gateway.test/live/?access_token=${token}&page=${page}`;
  const ping = head(
    'POST /plain/ping',
    `Ping-From: ${url('1')}`,
    `Ping-To: ${url('2')}`,
    'Content-Length: 0',
  );
  expect((await gateway.ask(ping)).status).toBe(200);
  const { fields } = upstream.onlyRequest;
  expect(values(fields, 'ping-from')).toEqual(['http://gateway.test/live/?page=1']);
  expect(values(fields, 'ping-to')).toEqual(['http://gateway.test/live/?page=2']);
});

test('other methods find no token there, and send none on', async () => {
  const front1 = await front();
  const { gateway, upstream, token } = front1;
  const lines = [`Cookie: api_token=${token}; theme=dark`, OWN];
  expect(await statusOf(front1, `POST /live/a?access_token=${token}`, ...lines)).toBe(401);
  expect((await gateway.ask(head(`DELETE /maybe/a?access_token=${token}&z=1`, ...lines))).status).toBe(200);
  const request = upstream.onlyRequest;
  expect(request.target).toBe('/maybe/a?z=1');
  expect(values(request.fields, 'cookie')).toEqual(['theme=dark']);
  expect(values(request.fields, 'authorization')).toEqual([]);
});

test('a redirect to the other slash leaves the client its token, which it has to send again', async () => {
  const issuer = await startIssuer();
  const token = secret(issuer.token({ sub: 'alice' }));
  const routes = [
    { path: '/live/', upstream: 'api', token_from: FROM, websocket: true, trailing_slash: 'redirect' },
  ];
  const { gateway } = await startGatewayOf(issuer, { routes });
  const answer = await gateway.ask(head(`GET /live?x=1&access_token=${token}`));
  expect([answer.status, header(answer, 'location')]).toEqual([308, `/live/?x=1&access_token=${token}`]);
  expect((await gateway.ask(head(`GET ${header(answer, 'location')}`))).status).toBe(200);
});

test('two tokens in two places are refused with 400', async () => {
  const front1 = await front();
  const { token, other } = front1;
  const inQuery = `GET /live/a?access_token=${token}`;
  expect(await statusOf(front1, inQuery, `Authorization: Bearer ${other}`)).toBe(400);
  expect(await statusOf(front1, inQuery, `Cookie: api_token=${other}`, OWN)).toBe(400);
  expect(await statusOf(front1, `${inQuery}&access_token=${other}`)).toBe(400);
  expect(await statusOf(front1, inQuery, `Cookie: api_token=${other}`)).toBe(200);
  expect(front1.upstream.requests).toHaveLength(1);
});

test('a token that is bound to a key needs its proof, so it counts in no place but Authorization', async () => {
  const issuer = await startIssuer();
  const routes = [{ path: '/live/**', upstream: 'api', token_from: FROM, websocket: true }];
  const { gateway, upstream } = await startGatewayOf(issuer, { routes, tokens: { dpop: 'accepted' } });
  const key = clientKey();
  const token = secret(issuer.token({ cnf: key.cnf }));
  const proof = () =>
    `DPoP: ${secret(proofOf(key, { htu: 'http://gateway.test/live/a', ath: hashOfToken(token) }))}`;
  const dpop = `Authorization: DPoP ${token}`;
  expect((await gateway.ask(head(`GET /live/a?access_token=${token}`, proof()))).status).toBe(401);
  expect((await gateway.ask(head('GET /live/a', `Cookie: api_token=${token}`, OWN, proof()))).status).toBe(
    401,
  );
  expect((await gateway.ask(head(`GET /live/a?access_token=${token}`, dpop, proof()))).status).toBe(400);
  expect(upstream.requests).toEqual([]);
  expect((await gateway.ask(head('GET /live/a?x=1', dpop, proof()))).status).toBe(200);
  await expect.poll(() => accessLines(gateway).length).toBe(4);
  const reasons = accessLines(gateway).map(line => line['tokenRefused'] ?? null);
  expect(reasons).toEqual(['proof_scheme', 'proof_scheme', null, null]);
});

test('a cookie is a token for pages of the own host and of cors.origins alone', async () => {
  const front1 = await front();
  const cookie = `Cookie: api_token=${front1.token}`;
  const read = (...lines: string[]) => statusOf(front1, 'GET /live/a', cookie, ...lines);
  expect(await read(OWN)).toBe(200);
  expect(await read('Origin: https://app.example')).toBe(200);
  expect(await read('Sec-Fetch-Site: same-origin')).toBe(200);
  expect(await read('Sec-Fetch-Site: none')).toBe(200);
  expect(await read()).toBe(401);
  expect(await read('Sec-Fetch-Site: cross-site')).toBe(401);
  expect(await read('Sec-Fetch-Site: same-site')).toBe(401);
  expect(await read('Origin: https://evil.test')).toBe(401);
  expect(await read('Origin: null')).toBe(401);
  expect(await read('Origin: https://evil.test', 'Connection: Origin', 'Sec-Fetch-Site: none')).toBe(401);
  for (const request of front1.upstream.requests) expect(values(request.fields, 'cookie')).toEqual([]);
});

test('a wrong token there is refused as in Authorization, and without any the limit goes by address', async () => {
  const front1 = await front();
  const refused = await front1.gateway.ask(head('GET /live/a?access_token=made-up'));
  expect(refused.status).toBe(401);
  expect(header(refused, 'www-authenticate')).toContain('invalid_token');
  expect(await statusOf(front1, 'GET /maybe/a?access_token=made-up')).toBe(200);
  expect(await statusOf(front1, 'GET /maybe/a')).toBe(200);
  expect(accessLines(front1.gateway).at(-1)).toMatchObject({ class: 'address' });
  expect(front1.upstream.requests.map(({ target }) => target)).toEqual(['/maybe/a', '/maybe/a']);
});

/** A gateway before a service that accepts every WebSocket. */
async function sockets() {
  const issuer = await startIssuer();
  const token = secret(issuer.token({ sub: 'alice' }));
  const upstream = await startRawUpstream(({ socket, head: asked }) => {
    const chosen = /^sec-websocket-protocol: *([^,\r]+)/im.exec(asked)?.[1];
    const lines = chosen === undefined ? [] : [`Sec-WebSocket-Protocol: ${chosen}`];
    socket.write(agreementToHead(asked, ...lines), 'latin1');
  });
  const { gateway } = await startGatewayOf(issuer, {
    config: {
      upstreams: { api: { url: `http://127.0.0.1:${upstream.port}` } },
      routes: [{ path: '/**', upstream: 'api', websocket: true, token_from: FROM }],
      cors: { origins: ['https://app.example'] },
    },
  });
  const ask = async (target: string, ...lines: string[]) =>
    (await gateway.connect()).ask(handshake(target, ...lines));
  return { ask, upstream, token };
}

test('a WebSocket may offer its token as a subprotocol, which the service does not see', async () => {
  const { ask, upstream, token } = await sockets();
  const agreed = await ask('/live', `Sec-WebSocket-Protocol: bearer, ${token}, chat`);
  expect(agreed.status).toBe(101);
  expect(header(agreed, 'sec-websocket-protocol')).toBe('chat');
  const alone = await ask('/live', `Sec-WebSocket-Protocol: bearer, ${token}`);
  expect(alone.status).toBe(101);
  expect(values(alone.fields, 'sec-websocket-protocol')).toEqual([]);
  const sent = upstream.peers.map(peer => peer.head);
  expect(sent[0]).toContain('\r\nSec-WebSocket-Protocol: chat\r\n');
  expect(sent[1]).not.toContain('Sec-WebSocket-Protocol');
  for (const each of sent) {
    expect(each).not.toMatch(/bearer,/);
    expect(each).toContain(`\r\nAuthorization: Bearer ${token}\r\n`);
  }
});

test('a WebSocket of another site gets nothing by a cookie, nor does one that names no site', async () => {
  const { ask, upstream, token } = await sockets();
  const cookie = `Cookie: api_token=${token}`;
  expect((await ask('/live', cookie, OWN)).status).toBe(101);
  expect((await ask('/live', cookie, 'Origin: https://app.example')).status).toBe(101);
  expect((await ask('/live', cookie)).status).toBe(401);
  expect((await ask('/live', cookie, 'Sec-Fetch-Site: same-origin')).status).toBe(401);
  expect((await ask('/live', cookie, 'Origin: https://evil.test')).status).toBe(403);
  const referer = 'Referer: http://gateway.test/live?access_token=another';
  expect((await ask(`/live?access_token=${token}`, referer)).status).toBe(101);
  expect(upstream.peers).toHaveLength(3);
  expect(upstream.peers[2]?.head).toContain('\r\nReferer: http://gateway.test/live\r\n');
  for (const { head: sent } of upstream.peers) {
    expect(sent).not.toContain('Cookie');
    expect(sent).toMatch(/^GET \/live HTTP/);
  }
});
