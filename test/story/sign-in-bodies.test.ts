import { describe, expect, onTestFinished, test } from 'vitest';
import { GATEWAY_CLIENT } from '../../src/cli/demo/provider/demo-provider.ts';
import { expectError } from '../support/error-object.ts';
import { type IdentitySettings, startGatewayOf } from '../support/identity-gateway.ts';
import { shared } from '../support/lifetime.ts';
import { head, inChunks, withBody } from '../support/requests.ts';
import { expectNoSecretIn, expectSecretsKept, secret } from '../support/secrets.ts';
import { json, redeeming } from '../support/sign-in-client.ts';
import { inTime } from '../support/test-clock.ts';
import { startIssuer } from '../support/test-issuer.ts';
import { header, type Response, values } from '../support/wire/index.ts';

const POST = 'POST /v1/anonymous/auth';
const CODE = 'marker-code-of-the-body';
const REDIRECT = 'https://app.example/marker-redirect';

async function start(settings: Partial<IdentitySettings> = {}) {
  const issuer = await startIssuer();
  return { issuer, ...(await startGatewayOf(issuer, settings)) };
}

const started = shared(start);

/** The gateway of most tests here, whose provider was asked for no token yet. At the end of each test it has told no secret. */
async function front() {
  for (const each of [CODE, REDIRECT, GATEWAY_CLIENT.secret]) secret(each);
  const { issuer, gateway } = await started();
  issuer.provider.tokenRequests.length = 0;
  onTestFinished(() => expectSecretsKept(gateway));
  return { issuer, gateway };
}

/** What the provider was sent. */
function formOf(issuer: {
  provider: { tokenRequests: readonly { body: string }[] };
}): Record<string, string> {
  expect(issuer.provider.tokenRequests).toHaveLength(1);
  return Object.fromEntries(new URLSearchParams(issuer.provider.tokenRequests[0]?.body));
}

/** That the body is refused, by the names of the members that are wrong. */
function expectWrong(response: Response, ...fields: string[]): void {
  expect(response.status, response.body.toString()).toBe(400);
  const fieldViolations = fields.map(field => ({
    field,
    description: expect.stringMatching(/^[\x20-\x7e]+$/),
  }));
  expect(json(response)).toEqual({
    code: 3,
    message: expect.stringMatching(/^[\x20-\x7e]+$/),
    details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }],
  });
  expect(header(response, 'content-type')).toBe('application/json');
  expect(values(response.fields, 'via')).toEqual(['1.1 weir']);
  expect(header(response, 'x-request-id')).toMatch(/./);
  expectNoSecretIn('the error', response.body.toString());
}

const raw = (text: string) => Buffer.from(text, 'latin1');
const good = `"code":"${CODE}","redirectUri":"${REDIRECT}"`;

describe('a wrong body', () => {
  test.each<[string, unknown, string[]]>([
    ['nothing', raw(''), ['body']],
    ['in another letter case', { Code: CODE, redirecturi: REDIRECT }, ['code', 'redirectUri']],
  ])('(%s) gets an error that names the error, and the provider is not asked', async (_, body, fields) => {
    const { issuer, gateway } = await front();
    const client = await gateway.connect();
    expectWrong(await client.ask(redeeming(body)), ...fields);
    // The connection is still in step.
    expect((await client.ask(head('GET /v1/anonymous/authorize-url'))).status).toBe(200);
    expect(issuer.provider.tokenRequests).toEqual([]);
  });
});

describe('a good body', () => {
  test.each(['HTTP://a.example:80/a/../b?x=%7e#frag', ' \u0000\r\n\tü 🦦 + & = %'])(
    'takes the redirect uri %j to the provider byte for byte',
    async redirectUri => {
      const { issuer, gateway } = await front();
      expect((await gateway.ask(redeeming({ code: `${redirectUri}!`, redirectUri }))).status).toBe(200);
      expect(formOf(issuer)).toMatchObject({ code: `${redirectUri}!`, redirect_uri: redirectUri });
    },
  );

  test('takes a code verifier along', async () => {
    const { issuer, gateway } = await front();
    const codeVerifier = secret('marker-verifier-'.padEnd(43, 'v'));
    expect((await gateway.ask(redeeming({ code: CODE, redirectUri: REDIRECT, codeVerifier }))).status).toBe(
      200,
    );
    expect(formOf(issuer)).toHaveProperty('code_verifier', codeVerifier);
  });

  test('may come in pieces, as chunks, or after the gateway has said to continue', async () => {
    const { gateway } = await front();
    const body = `{${good}}`;
    const pieces = await gateway.connect();
    void pieces.sendSlowly(redeeming(raw(body)).match(/.{1,40}/gs) ?? [], 5);
    expect((await pieces.answer()).status).toBe(200);
    const chunks = await gateway.ask(
      inChunks(POST, body.match(/.{1,30}/g) ?? [], 'Content-Type: application/json'),
    );
    expect(chunks.status).toBe(200);
    const waiting = await gateway.connect();
    await waiting.send(head(POST, `Content-Length: ${body.length}`, 'Expect: 100-continue'));
    await waiting.continued();
    const { status, interim } = await waiting.ask(body);
    expect([status, interim.map(each => each.status)]).toEqual([200, [100]]);
  });

  test.each([1, 65_536])('may be exactly 64 KiB in chunks of %i bytes, whatever frames them', async size => {
    const { gateway } = await front();
    const chunks = (bytes: number) =>
      inChunks(POST, `{${good}}`.padEnd(bytes, ' ').match(new RegExp(`.{1,${size}}`, 'g')) ?? []);
    expect((await gateway.ask(chunks(65_536))).status).toBe(200);
    expectError(await gateway.ask(chunks(65_537)), 413, 3);
  });
});

describe('the media type', () => {
  test('of another kind is a 415, and the provider is not asked', async () => {
    const { issuer, gateway } = await front();
    const client = await gateway.connect();
    expectError(await client.ask(withBody(POST, `{${good}}`, 'Content-Type: text/plain')), 415, 3);
    expect((await client.ask(redeeming(raw(`{${good}}`)))).status).toBe(200);
    expect(issuer.provider.tokenRequests).toHaveLength(1);
  });

  test('is read though Connection says that it ends at this hop', async () => {
    const { issuer, gateway } = await front();
    const lines = ['Content-Type: text/plain', 'Connection: Content-Type'];
    expectError(await gateway.ask(withBody(POST, `{${good}}`, ...lines)), 415, 3);
    expect(issuer.provider.tokenRequests).toHaveLength(0);
  });

  test('is asked for before the body: no 100 goes to a request that is refused', async () => {
    const { gateway } = await front();
    for (const [line, status, type] of [
      [POST, 415, 'text/plain'],
      ['PUT /v1/anonymous/auth', 405, 'application/json'],
    ] as const) {
      const client = await gateway.connect();
      const response = await client.ask(
        head(line, 'Content-Length: 10', 'Expect: 100-continue', `Content-Type: ${type}`),
      );
      expectError(response, status, 3);
      expect(response.interim).toEqual([]);
      expect(await client.ended()).toBe('close');
    }
  });
});

describe('a body that is too much', () => {
  test.each(['announced', 'chunked'])(
    '(never-ending, %s) is a 413, and the connection does not last',
    async how => {
      const { issuer, gateway } = await front();
      const client = await gateway.connect();
      const framing = how === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${2 ** 40}`;
      await client.send(head(POST, framing));
      const piece = Buffer.alloc(16_384, ' ');
      const chunk = how === 'chunked' ? Buffer.concat([raw('4000\r\n'), piece, raw('\r\n')]) : piece;
      const flood = setInterval(() => void client.send(chunk), 10);
      try {
        const response = await client.answer();
        expectError(response, 413, 3);
        expect(header(response, 'connection')).toBe('close');
        await client.ended();
      } finally {
        clearInterval(flood);
      }
      expect(issuer.provider.tokenRequests).toEqual([]);
    },
  );

  test('(slow) gets 408 when it stalls, and the provider is not asked', async () => {
    const { issuer, gateway } = await start({ config: { timeouts: { client_body: '300ms' } } });
    const client = await gateway.connect();
    await client.send(redeeming(raw(`{${good}}`)).slice(0, -1));
    expectError(await inTime(gateway.time, client.answer()), 408, 4);
    expect(await inTime(gateway.time, client.ended())).toBe('close');
    expect(issuer.provider.tokenRequests).toEqual([]);
  });

  test('(abandoned halfway by its client) does not ask the provider, and is logged', async () => {
    const { issuer, gateway } = await front();
    const before = gateway.logLines.length;
    const client = await gateway.connect();
    // What has come would do, but it is not all that was announced.
    await client.send(redeeming(raw(`{${good}} `)).slice(0, -1));
    // Bytes that the gateway has not read yet would go with the connection.
    await expect.poll(() => gateway.metric('weir_requests_in_flight')).toEqual(new Map([['', 1]]));
    client.reset();
    const lines = () => gateway.logLines.slice(before);
    await expect.poll(() => lines().some(line => line.includes('"abandoned"'))).toBe(true);
    expect((await gateway.ask(redeeming(raw(`{${good}}`)))).status).toBe(200);
    expect(issuer.provider.tokenRequests).toHaveLength(1);
  });

  test('(ended halfway by a client that still reads) is a 400, and the provider is not asked', async () => {
    const { issuer, gateway } = await front();
    const client = await gateway.connect();
    // What has come would do, but it is not all that was announced.
    await client.send(redeeming(raw(`{${good}} `)).slice(0, -1));
    client.endSending();
    expectError(await client.answer(), 400, 3);
    expect(await client.ended()).toBe('close');
    expect((await gateway.ask(redeeming(raw(`{${good}}`)))).status).toBe(200);
    expect(issuer.provider.tokenRequests).toHaveLength(1);
  });

  test('(with framing that breaks in its middle) is a 400, and the provider is not asked', async () => {
    const { issuer, gateway } = await front();
    const client = await gateway.connect();
    await client.send(`${head(POST, 'Transfer-Encoding: chunked')}5\r\n{"cod\r\nzz\r\n`);
    expectError(await client.answer(), 400, 3);
    expect(await client.ended()).toBe('close');
    expect(issuer.provider.tokenRequests).toEqual([]);
  });
});
