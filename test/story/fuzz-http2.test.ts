import type { ServerOptions } from 'node:http2';
import { expect, test } from 'vitest';
import { fuzzHpack } from '../support/fuzz/hpack-fuzz.ts';
import { fuzzHttp2Requests, fuzzHttp2Responses } from '../support/fuzz/http2-fuzz.ts';
import { fuzzBlocks, fuzzFrames, fuzzSeed } from '../support/fuzz/settings.ts';
import { type H2Request, startH2Upstream } from '../support/h2-upstream.ts';
import { HandBody } from '../support/hand-body.ts';
import { Random } from '../support/random.ts';
import { sessionsTo } from '../support/sessions.ts';
import { send } from '../support/transport-calls.ts';

test.each([
  ['client', 'response', fuzzHttp2Responses],
  ['server', 'request', fuzzHttp2Requests],
] as const)(
  `of ${fuzzFrames} connections of frames our %s takes no %s for whole that Node's reads otherwise (WEIR_FUZZ_SEED=${fuzzSeed})`,
  {
    timeout: 600_000,
  },
  async (_side, _message, fuzz) => {
    const { accepted, refused, findings } = await fuzz({ seed: fuzzSeed, cases: fuzzFrames });
    expect(findings).toEqual([]);
    // Neither too tame nor too wild to tell anything.
    expect(accepted).toBeGreaterThan(0.3 * fuzzFrames);
    expect(refused).toBeGreaterThan(0.3 * fuzzFrames);
  },
);

test(`of the header blocks of ${fuzzBlocks} connections, ours and Go's HPACK make the same (WEIR_FUZZ_SEED=${fuzzSeed})`, {
  timeout: 600_000,
}, async () => {
  const { decoded, refused, findings } = await fuzzHpack({ seed: fuzzSeed, cases: fuzzBlocks });
  expect(findings).toEqual([]);
  expect(decoded).toBeGreaterThan(3 * fuzzBlocks);
  expect(refused).toBeGreaterThan(0.5 * fuzzBlocks);
});

/** Sends the fields of the request back, its body, and two trailers. */
async function echo({ stream, section, body }: H2Request): Promise<void> {
  const text = await body();
  const fields = section.filter((_, i) => (section[i - (i % 2)] as string).startsWith('x-'));
  stream.respond([':status', '200', ...fields] as never, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-length': String(text.length), 'x-end': 'ÄÖ' }));
  stream.end(text, 'latin1');
}

function someFields(random: Random): string[] {
  return Array.from({ length: random.below(10) }, () => [
    `x-${random.pick(['a', 'b', 'long-name', `r${random.below(1_000)}`])}`,
    random.pick(['', 'a', 'ÄÖ \xff', `${random.below(1_000_000)}`, 'v'.repeat(random.below(3_000))]),
  ]).flat();
}

test.each<[string, ServerOptions['settings']]>([
  ['as it is', {}],
  ['without a table for headers', { headerTableSize: 0 }],
  ['with a small table and small windows', { headerTableSize: 200, initialWindowSize: 1_000 }],
])('what is sent to a server of nghttp2 %s comes back as it was', async (_, settings) => {
  const upstream = await startH2Upstream(echo, { settings: { ...settings, maxConcurrentStreams: 50 } });
  const pool = sessionsTo(upstream.port);
  const random = new Random(fuzzSeed);
  const calls = Array.from({ length: 100 }, (_, i) => {
    const fields = someFields(random);
    const text = String(i).repeat(random.below(random.pick([2, 300, 30_000])));
    const body = new HandBody();
    body.onStart = sink => {
      sink.chunk(Buffer.from(text));
      sink.end();
    };
    return { fields, text, ...send(pool, { method: 'POST', fields, body, bodyLength: 'chunked' }) };
  });
  for (const { fields, text, sink } of calls) {
    await sink.over;
    expect(sink.events).toEqual(['head 200 null', 'end']);
    expect(sink.fields.slice(0, fields.length)).toEqual(fields);
    expect(sink.body === text).toBe(true);
    expect(sink.trailers).toEqual(['x-length', String(text.length), 'x-end', 'ÄÖ']);
  }
});
