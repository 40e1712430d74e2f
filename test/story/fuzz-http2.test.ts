import {
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
  constants,
  type ServerOptions,
} from 'node:http2';
import { expect, onTestFinished, test } from 'vitest';
import { fuzzHttp2Exchanges } from '../support/fuzz/http2-exchange-fuzz.ts';
import { fuzzHttp2Requests, fuzzHttp2Responses } from '../support/fuzz/http2-fuzz.ts';
import { startGateway } from '../support/gateway.ts';
import { type H2Request, startH2Upstream } from '../support/h2-upstream.ts';
import { HandBody } from '../support/hand-body.ts';
import { H2C } from '../support/http2-client.ts';
import { Random } from '../support/random.ts';
import { areWhole, runs, seedOfRun } from '../support/runs.ts';
import { sessionsTo } from '../support/sessions.ts';
import { send } from '../support/transport-calls.ts';

const FRAMES = runs(800);
const EXCHANGES = runs(2_000);

test.each([
  ['client', 'response', fuzzHttp2Responses],
  ['server', 'request', fuzzHttp2Requests],
] as const)(
  `of ${FRAMES} connections of frames our %s takes no %s for whole that Node's (or Go's, in test:long) reads otherwise`,
  async (_side, _message, fuzz) => {
    const { accepted, refused, stricterGo, findings } = await fuzz({
      seed: seedOfRun(),
      cases: FRAMES,
      withGo: areWhole,
    });
    expect(findings).toEqual([]);
    // Neither too tame nor too wild to tell anything.
    expect(accepted).toBeGreaterThan(0.3 * FRAMES);
    expect(refused).toBeGreaterThan(0.3 * FRAMES);
    expect(stricterGo).toBeLessThan(0.15 * accepted);
  },
);

test(`in ${EXCHANGES} exchanges Node's client and our server tell the same of each message`, async () => {
  const { whole, findings } = await fuzzHttp2Exchanges({ seed: seedOfRun(), cases: EXCHANGES });
  expect(findings).toEqual([]);
  expect(whole).toBeGreaterThan(0.7 * EXCHANGES);
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
  const random = new Random(seedOfRun());
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

test.each<[string, ClientSessionOptions]>([
  ['as it is', {}],
  ['without a table for headers', { settings: { headerTableSize: 0 }, maxDeflateDynamicTableSize: 0 }],
  ['with small windows', { settings: { initialWindowSize: 1_000 } }],
  ['with large frames', { settings: { maxFrameSize: 1_000_000, initialWindowSize: 10_000_000 } }],
  ['that pads all it can', { paddingStrategy: constants.PADDING_STRATEGY_MAX }],
])("what Node's client %s sends through a gateway comes back as it was", async (_, options) => {
  const upstream = await startH2Upstream(echo);
  const api = { protocol: 'h2', max_requests_per_caller: '100%' };
  const gateway = await startGateway({ upstreamPort: upstream.port, api, config: { listen: H2C } });
  const session = connect(`http://127.0.0.1:${gateway.port}`, { maxSessionMemory: 100, ...options });
  onTestFinished(() => session.destroy());
  const random = new Random(seedOfRun());
  const calls = Array.from({ length: 100 }, (_, i) => {
    const fields = someFields(random);
    const text = String(i).repeat(random.below(random.pick([2, 300, 30_000])));
    const stream = session.request([':method', 'POST', ':path', `/${i}`, ':authority', 'a.test', ...fields]);
    for (let at = 0; at < text.length; ) {
      const to = at + 1 + random.below(random.pick([10, 20_000]));
      stream.write(text.slice(at, to));
      at = to;
    }
    stream.end();
    return { fields, text, response: read(stream) };
  });
  for (const { fields, text, response } of calls) {
    const { section, body, trailers } = await response;
    expect(section[1]).toBe('200');
    expect(section.slice(2, 2 + fields.length)).toEqual(fields);
    expect(body === text).toBe(true);
    expect(trailers).toEqual(['x-length', String(text.length), 'x-end', 'ÄÖ']);
  }
  expect(await gateway.counted('weir_http2_faults_total')).toEqual(new Map());
});

interface Received {
  section: string[];
  body: string;
  trailers: string[];
}

function read(stream: ClientHttp2Stream): Promise<Received> {
  const received: Received = { section: [], body: '', trailers: [] };
  stream.on('response', (_headers, _flags, section: string[]) => {
    received.section = section;
  });
  stream.on('trailers', (_headers, _flags, section: string[]) => {
    received.trailers = section;
  });
  stream.setEncoding('latin1').on('data', text => {
    received.body += text;
  });
  return new Promise((resolve, reject) => stream.on('close', () => resolve(received)).on('error', reject));
}
