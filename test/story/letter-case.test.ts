import { describe, expect, test } from 'vitest';
import { expectError, expectRejected } from '../support/error-object.ts';
import { startGateway } from '../support/gateway.ts';
import { shared } from '../support/lifetime.ts';
import { startLimited } from '../support/limits.ts';
import { head } from '../support/requests.ts';
import { startUpstream, values } from '../support/wire/index.ts';

/** As clients send them: each byte of its UTF-8 a character. */
const wire = (text: string) => Buffer.from(text).toString('latin1');

/** U+212A, whose lower case is `k`. */
const KELVIN = '\u212a';
/** U+017F, whose upper case is `S`. */
const LONG_S = '\u017f';

const started = shared(async () => {
  const upstream = await startUpstream();
  return { upstream, gateway: await startGateway({ upstreamPort: upstream.port }) };
});

async function front() {
  const { upstream, gateway } = await started();
  await upstream.renew();
  return { upstream, gateway };
}

describe('a path with a letter whose other case is an ASCII one', () => {
  test.each([
    ['/%E2%84%AAeys/1', '/keys/**'],
    ['/%e2%84%aaEYS/1', '/keys/**'],
    ['/%C5%BFtats/1', '/stats/**'],
    ['/%EF%BD%8Beys/1', '/keys/**'],
  ])('is another path: %s differs from %s', async (target, path) => {
    const upstream = await startUpstream();
    const routes = [{ path, upstream: 'api', authentication: 'none' }];
    const gateway = await startGateway({ upstreamPort: upstream.port, config: { routes } });
    expectError(await gateway.ask(head(`GET ${target}`)), 404, 5);
    expect((await gateway.ask(head(`GET ${path.toUpperCase().replace('**', '1')}`))).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
  });

  test('draws on no bucket of the other, and needs a token where that one needs none', async () => {
    const keys = { path: '/keys/**', authentication: 'none' };
    const limits = { buckets: { keys: { address: '1/60s' } }, routes: { '/keys/**': 'keys' } };
    const front = await startLimited(limits, { routes: [keys] });
    expect((await front.gateway.ask(head('GET /KEYS/1'))).status).toBe(200);
    expect((await front.gateway.ask(head('GET /%E2%84%AAEYS/1'))).status).toBe(401);
  });
});

describe('a word of the wire with a letter whose other case is an ASCII one', () => {
  test.each([
    ['a method', head(wire(`LIN${KELVIN} /a`))],
    ['a field name', head('GET /a', wire(`Transfer-Encoding${LONG_S}: chunked`))],
    ['a field name', head('GET /a', wire(`Coo${KELVIN}ie: a=b`))],
    ['a Host', `GET /a HTTP/1.1\r\nHost: ${wire(`${KELVIN}.test`)}\r\n\r\n`],
    ['a host in absolute form', `GET http://${wire(KELVIN)}.test/a HTTP/1.1\r\nHost: k.test\r\n\r\n`],
    ['a scheme in absolute form', head(wire(`GET http${LONG_S}://gateway.test/a`))],
    ['a transfer coding', head('POST /a', wire(`Transfer-Encoding: chun${KELVIN}ed`))],
  ])('is refused: %s', async (_, bytes) => {
    const { gateway, upstream } = await front();
    const client = await gateway.connect();
    await client.send(bytes);
    await expectRejected(client);
    expect(upstream.connections).toEqual([]);
  });

  test('is no option of Connection, and none of the fields that it names', async () => {
    const { gateway, upstream } = await front();
    const client = await gateway.connect();
    const lines = [wire(`Connection: clo${LONG_S}e, Coo${KELVIN}ie`), 'Cookie: a=b'];
    expect((await client.ask(head('GET /1', ...lines))).status).toBe(200);
    expect((await client.ask(head('GET /2'))).status).toBe(200);
    expect(values(upstream.requests[0]?.fields ?? [], 'cookie')).toEqual(['a=b']);
  });

  test('is not a token scheme', async () => {
    const front = await startLimited({}, { tokens: { schemes: ['Bearer', 'Token', 'Ask'] } });
    const token = front.issuer.bearer().replace('Authorization: Bearer ', '');
    const statusOf = async (scheme: string) =>
      (await front.gateway.ask(head('GET /a', `Authorization: ${wire(scheme)} ${token}`))).status;
    expect(await statusOf('TOKEN')).toBe(200);
    expect(await statusOf(`To${KELVIN}en`)).toBe(401);
    expect(await statusOf(`A${LONG_S}k`)).toBe(401);
  });
});
