import { describe, expect, test } from 'vitest';
import { bareGateway, type Sending } from '../../../support/bare-gateway.ts';
import { values } from '../../../support/wire/index.ts';

const ALL = ['X-Real-IP', 'X-Forwarded-Port', 'X-Forwarded-Prefix', 'X-Script-Name'];

/** The fields that the service gets with a request. */
async function allSent(
  sending: Sending = {},
  line = 'GET /open/a',
  send: readonly string[] = ALL,
): Promise<readonly string[]> {
  const bare = await bareGateway(
    {},
    {
      routes: [{ path: '/api/v1/**', strip_prefix: '/api/v1', authentication: 'none' }],
      config: { forwarding_headers: { send }, trusted_proxies: ['10.0.0.1'] },
    },
  );
  expect((await bare.ask(line, sending)).status).toBe(200);
  return bare.requests[0]?.fields ?? [];
}

/** The values of one of them. */
async function sent(name: string, sending?: Sending, line?: string): Promise<readonly string[]> {
  return values(await allSent(sending, line), name);
}

const PROXY = (...fields: string[]): Sending => ({ from: '10.0.0.1', fields });

describe('X-Real-IP', () => {
  test("is the client's address as it is logged", async () => {
    expect(await sent('x-real-ip', { from: '192.0.2.9' })).toEqual(['192.0.2.9']);
    expect(await sent('x-real-ip', PROXY('X-Forwarded-For', '203.0.113.7'))).toEqual(['203.0.113.7']);
  });

  test.each(['X-Real-IP', 'x_real_ip', 'X.Real-Ip'])('is nobody else’s, sent as %s', async name => {
    const forged = { fields: [name, '198.51.100.1', name, '198.51.100.2'], from: '192.0.2.9' };
    expect(await sent(name, forged)).toEqual(name === 'X-Real-IP' ? ['192.0.2.9'] : []);
    const ofProxy = PROXY(name, '198.51.100.1', 'X-Forwarded-For', '203.0.113.7');
    expect(await sent('x-real-ip', ofProxy)).toEqual(['203.0.113.7']);
  });
});

describe('X-Forwarded-Port', () => {
  test.each<[string, Sending, string]>([
    ['the port of Host', { more: { fields: ['Host', 'a.test:8443'] } }, '8443'],
    ['the port of Host, without zeros', { more: { fields: ['Host', 'A.test:08443'] } }, '8443'],
    ['the port behind an IPv6 address', { more: { fields: ['Host', '[::1]:81'] } }, '81'],
    ['80 for http', {}, '80'],
    ['80 for an IPv6 address', { more: { fields: ['Host', '[::1]'] } }, '80'],
    ['443 for https', { more: { scheme: 'https' } }, '443'],
    ['443 where a trusted proxy says https', PROXY('X-Forwarded-Proto', 'https'), '443'],
    ['80 where anyone else says https', { fields: ['X-Forwarded-Proto', 'https'] }, '80'],
    ['the port of a trusted X-Forwarded-Host', PROXY('X-Forwarded-Host', 'b.test:444'), '444'],
    ["a trusted proxy's own", PROXY('X-Forwarded-Port', '9'), '9'],
    ["never a client's own", { fields: ['X-Forwarded-Port', '9', 'X_Forwarded_Port', '9'] }, '80'],
    [
      'not what a proxy names for this hop alone',
      PROXY('X-Forwarded-Port', '9', 'Connection', 'X-Forwarded-Port'),
      '80',
    ],
  ])('is %s', async (_, sending, port) => {
    expect(await sent('x-forwarded-port', sending)).toEqual([port]);
  });
});

describe.each(['X-Forwarded-Prefix', 'X-Script-Name'])('%s', name => {
  test.each([
    ['GET /api/v1/x', ['/api/v1']],
    ['GET /API/V1/x?y', ['/API/V1']],
    ['GET /%61pi/v1', ['/api/v1']],
    ['GET /open/a', []],
  ])('is the prefix that was taken away, as it matched: %s', async (line, expected) => {
    expect(await sent(name, {}, line)).toEqual(expected);
    expect(await sent(name, PROXY(name, '/forged'), line)).toEqual(expected);
    expect(await sent(name, { fields: [name, '/forged'] }, line)).toEqual(expected);
  });
});

test('only the fields that are named are written, and without names none', async () => {
  for (const named of [[], ...ALL.map(name => [name])]) {
    const fields = await allSent({}, 'GET /api/v1/x', named);
    expect(ALL.filter(name => values(fields, name).length === 1)).toEqual(named);
    expect(ALL.filter(name => values(fields, name).length > 1)).toEqual([]);
  }
});
