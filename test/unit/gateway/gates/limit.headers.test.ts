import { describe, expect, test } from 'vitest';
import { answering, bareGateway, failing, type Sending } from '../../../support/bare-gateway.ts';
import {
  BUCKET_FIELDS,
  fieldOf,
  rateFieldsOf,
  rateOf,
  refusalOf,
  statusesOf,
} from '../../../support/rate-fields.ts';

const ALICE: Sending = { as: true };
const limits = {
  global: { user: '1000/1s', address: '1000/1s' },
  buckets: { reads: { main: 'id', user: '3/60s', bot: '7/60s' } },
  routes: { 'GET /things/{id}': 'reads' },
};

describe('the header fields of a bucket', () => {
  test('have the same Reset and bucket throughout a window, and a falling Reset-After', async () => {
    const bare = await bareGateway(limits);
    bare.service = (...parts) => {
      bare.clock.advance(500);
      answering(200)(...parts);
    };
    const closesMs = bare.clock.epochMs() + 60_000;
    const rates = (await bare.askTimes(4, 'GET /things/1', ALICE)).map(rateOf);
    expect(new Set(rates.map(({ bucket, reset }) => `${bucket} ${reset}`)).size).toBe(1);
    expect(Math.abs((rates[0]?.reset ?? 0) * 1_000 - closesMs)).toBeLessThan(5);
    expect(rates.map(rate => rate.resetAfter)).toEqual([59.5, 59, 58.5, 58.5]);
    expect(rates.map(rate => rate.remaining)).toEqual([2, 1, 0, 0]);
  });

  test('have a Reset-After above 0 when the window closed while the upstream worked', async () => {
    const bare = await bareGateway({ ...limits, buckets: { reads: { main: 'id', user: '3/1s' } } });
    bare.service = (...parts) => {
      bare.clock.advance(1_050);
      answering(200)(...parts);
    };
    expect(rateOf(await bare.ask('GET /things/1', ALICE))).toMatchObject({ resetAfter: 0.001, remaining: 2 });
  });

  test('of bots have their number and the hash of all', async () => {
    const bare = await bareGateway(limits);
    const user = rateOf(await bare.ask('GET /things/1', ALICE));
    const bot = rateOf(await bare.ask('GET /things/1', { as: { client_id: 'robot', azp: 'robot' } }));
    expect([user.limit, bot.limit]).toEqual([3, 7]);
    expect(bot.bucket).toBe(user.bucket);
  });

  test('replace those of the upstream, and are there where it fails after admission', async () => {
    const bare = await bareGateway(limits);
    bare.service = answering(500, ['X-RateLimit-Limit', '99', 'x-ratelimit-bucket', 'theirs']);
    const response = await bare.ask('GET /things/1', ALICE);
    expect([response.status, rateOf(response).limit]).toEqual([500, 3]);
    bare.service = (_, sink) => sink.fail(failing('reset'));
    const broken = await bare.ask('GET /things/1', ALICE);
    expect([broken.status, rateOf(broken).remaining]).toEqual([502, 1]);
  });

  test('of HEAD are those of GET, whose bucket it draws on', async () => {
    const bare = await bareGateway(limits);
    const { bucket } = rateOf(await bare.ask('GET /things/1', ALICE));
    expect(rateOf(await bare.ask('HEAD /things/1', ALICE))).toMatchObject({ remaining: 1, bucket });
  });

  test('are not there on a 401, which draws on no bucket, nor on a 400 or a 404 of the gateway', async () => {
    const bare = await bareGateway(limits, { config: { routes: [{ path: '/things/**', upstream: 'api' }] } });
    const refused = [
      ...(await bare.askTimes(5, 'GET /things/1')),
      await bare.ask('GET /things//1', ALICE),
      await bare.ask('GET /nowhere', ALICE),
    ];
    expect(statusesOf(refused)).toEqual([401, 401, 401, 401, 401, 400, 404]);
    expect(refused.flatMap(rateFieldsOf)).toEqual([]);
    expect(rateOf(await bare.ask('GET /things/1', ALICE)).remaining).toBe(2);
  });

  test('of a 429 are all six, and its wait', async () => {
    const bare = await bareGateway(limits);
    const [first, , , refused] = await bare.askTimes(4, 'GET /things/1', ALICE);
    expect(rateFieldsOf(first)).toEqual(BUCKET_FIELDS);
    expect(rateFieldsOf(refused)).toEqual(['retry-after', ...BUCKET_FIELDS]);
    expect(fieldOf(refused, 'via')).toBe('1.1 weir');
  });

  test('of a 429 say one wait with its body, however much later the header is written', async () => {
    const bare = await bareGateway({
      buckets: { things: { user: '1/60s' } },
      routes: { '/things': 'things' },
    });
    const { clock } = bare;
    const monotonicMs = clock.monotonicMs.bind(clock);
    // Anything that asks for the time again finds that it has gone on.
    clock.monotonicMs = () => {
      clock.advance(2.3);
      return monotonicMs();
    };
    const responses = await bare.askTimes(5, 'GET /things', ALICE);
    for (const response of responses.slice(1))
      expect(refusalOf(response)['retry_after']).toBe(rateOf(response).resetAfter);
  });
});
