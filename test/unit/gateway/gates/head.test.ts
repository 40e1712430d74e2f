import { describe, expect, test } from 'vitest';
import { ConnectionMemory } from '../../../../src/gateway/index.ts';
import { requestFraming } from '../../../../src/wire/http1/index.ts';
import { type BareGateway, bareGateway, type Sending, silence } from '../../../support/bare-gateway.ts';
import type { ConfigPart } from '../../../support/gateway.ts';
import { fieldOf, statusesOf } from '../../../support/rate-fields.ts';
import { values } from '../../../support/wire/index.ts';

const HOST = 'Host: a.test';

/** A request with these fields and no others. */
function withFields(lines: readonly string[], more: Sending['more'] = {}): Sending {
  const fields = lines.flatMap(line => line.split(': '));
  return { more: { fields, framing: requestFraming(fields, 1), ...more } };
}

/** A request over HTTP/2. */
const typed = (type: string, lines: readonly string[] = [], onlyCalls = false) =>
  withFields([HOST, `content-type: ${type}`, ...lines], { protocol: 'h2', onlyCalls });

/** What a request is refused with, before it reaches a service: the status, whether its connection ends, and why. */
async function refusalOf(bare: BareGateway, line: string, sending: Sending) {
  const { exchange, client } = bare.send(line, sending);
  await client.response;
  expect(bare.requests).toEqual([]);
  const { error } = exchange.response;
  return [error?.status, error?.close, error?.message.replace('Bad request: ', '')];
}

/** A gateway with services of HTTP and gRPC that never answer. */
async function calling(limits: ConfigPart = {}): Promise<BareGateway> {
  const url = 'http://127.0.0.1:1';
  const config = { upstreams: { api: { url }, calls: { url, protocol: 'grpc' } } };
  const routes = [{ grpc: 'v.Echo/*', upstream: 'calls', authentication: 'none' }];
  return bareGateway(limits, { config, routes, service: silence });
}

describe('a head', () => {
  test('of as many fields as the cap is served, and one of one more is 431', async () => {
    const bare = await bareGateway({}, { config: { caps: { fields: 3 } } });
    const refused = [431, true, expect.stringMatching(/too many fields/)];
    expect(await refusalOf(bare, 'GET /open/a', withFields([HOST, 'A: ', 'B: ', 'C: ']))).toEqual(refused);
    expect((await bare.ask('GET /open/a', withFields([HOST, 'A: ', 'B: ']))).status).toBe(200);
  });

  test.each([
    [[HOST, 'Content-Length: 5', 'content-length: 6'], 'the header field "content-length" came twice.'],
    [[HOST, HOST], 'the header field "host" came twice.'],
    [[HOST, 'Authorization: a', 'authorization: a'], 'the header field "authorization" came twice.'],
    [[], 'the Host header is missing or not a plain host.'],
    [['Host: a/b'], 'the Host header is missing or not a plain host.'],
  ])('that can be read in two ways is 400, counts for nobody, and stays so: %j', async (lines, why) => {
    const bare = await bareGateway({ global: { address: '1/1m' } });
    const sending = { ...withFields(lines), on: new ConnectionMemory(true) };
    for (let n = 0; n < 2; n++)
      expect(await refusalOf(bare, 'GET /open/a', sending)).toEqual([400, true, why]);
    expect((await bare.ask('GET /open/a')).status).toBe(200);
  });

  test('that is good is remembered for its connection, and speaks for no other', async () => {
    const bare = await bareGateway();
    const sending = { ...withFields([HOST]), on: new ConnectionMemory(true) };
    expect(statusesOf(await bare.askTimes(2, 'GET /open/a', sending))).toEqual([200, 200]);
    expect(sending.on.arrival?.fields).toBe(sending.more?.fields);
    expect((await bare.ask('GET /open/a', { ...sending, ...withFields([]) })).status).toBe(400);
  });
});

describe('a listener of gRPC', () => {
  test.each([
    ['GET /v.Echo/Talk', 'application/grpc'],
    ['POST /v.Echo/Talk', 'application/json'],
    ['POST /v.Echo/Talk', 'application/grpc-web'],
    ['BREW /open/a', 'x/y'],
  ])('refuses what is no call, whatever else is wrong with it: %s of %s', async (line, type) => {
    const refused = [415, false, expect.stringMatching(/^This listener serves gRPC alone/)];
    const sending = typed(type, ['expect: wonders'], true);
    const bare = await calling({ global: { address: '1/1m' } });
    expect(await refusalOf(bare, line, sending)).toEqual(refused);
    expect((await bare.ask(line, sending)).status).toBe(429);
  });

  test('lets calls pass, and another listener what is none', async () => {
    const bare = await calling();
    bare.send('POST /v.Echo/Talk', typed('application/grpc', [], true));
    bare.send('POST /open/a', typed('application/json'));
    expect(bare.requests.map(({ target }) => target)).toEqual(['/v.Echo/Talk', '/open/a']);
  });
});

test('an expectation is 100-continue, or refused', async () => {
  const bare = await bareGateway();
  const refused = [417, true, 'The only expectation supported is 100-continue.'];
  expect(await refusalOf(bare, 'POST /open/a', withFields([HOST, 'Expect: wonders']))).toEqual(refused);
  expect((await bare.ask('POST /open/a', withFields([HOST, 'Expect: 100-continue']))).status).toBe(200);
});

describe('Max-Forwards', () => {
  const sending = (told: readonly string[]) =>
    withFields([HOST, ...told.map(text => `Max-Forwards: ${text}`)]);

  test.each([
    ['OPTIONS', [], null, []],
    ['OPTIONS', ['1'], 1, ['0']],
    ['GET', ['0', 'x'], null, ['0', 'x']],
    ['POST', ['0', 'x'], null, ['0', 'x']],
  ])('says how far an OPTIONS goes, and passes as it came on others: %s %j', async (...row) => {
    const [method, told, maxForwards, passed] = row;
    const bare = await bareGateway();
    expect(bare.send(`${method} /open/a`, sending(told)).exchange.maxForwards).toBe(maxForwards);
    expect(values(bare.requests[0]?.fields ?? [], 'max-forwards')).toEqual(passed);
  });

  test('of 0 ends it here, although Connection names the field', async () => {
    const bare = await bareGateway();
    const lines = [HOST, 'Connection: max-forwards', 'Max-Forwards: 0'];
    const response = await bare.ask('OPTIONS /open/a', withFields(lines));
    expect([response.status, fieldOf(response, 'allow')]).toEqual([204, expect.stringMatching(/OPTIONS/)]);
    expect(bare.requests).toEqual([]);
  });

  test.each([
    [['x'], 'Max-Forwards is not a plain number.'],
    [['1', '0'], 'the header field "max-forwards" came twice.'],
  ])('of an OPTIONS that is no number is 400: %j', async (told, why) => {
    expect(await refusalOf(await bareGateway(), 'OPTIONS /open/a', sending(told))).toEqual([400, true, why]);
  });
});

describe('the deadline of a call', () => {
  test('ends it once it has passed, and not before', async () => {
    const bare = await calling();
    const { client, exchange } = bare.send(
      'POST /v.Echo/Talk',
      typed('application/grpc', ['grpc-timeout: 5S']),
    );
    bare.clock.advance(4_999);
    expect(client.responses).toBe(0);
    bare.clock.advance(1);
    expect([client.responses, exchange.response.error]).toMatchObject([1, { status: 504, rpcCode: 4 }]);
  });

  test.each([
    ['is not said', 'POST /v.Echo/Talk', typed('application/grpc')],
    ['is said of what is no call', 'POST /open/a', typed('application/json', ['grpc-timeout: 5S'])],
  ])('is none where it %s', async (_, line, sending) => {
    const bare = await calling();
    expect(bare.send(line, sending).exchange.deadline).toBeNull();
    expect(bare.requests).toHaveLength(1);
  });

  test('that cannot be read is 400, and its connection goes on', async () => {
    const sending = typed('application/grpc', ['grpc-timeout: 5s']);
    const refused = [400, false, expect.stringMatching(/grpc-timeout is not a number/)];
    expect(await refusalOf(await calling(), 'POST /v.Echo/Talk', sending)).toEqual(refused);
  });
});
