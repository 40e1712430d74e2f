import { expect, onTestFinished, test } from 'vitest';
import { type BodySource, NO_NAMES, thisMachine } from '../../src/core/index.ts';
import { ConnectionPool, type Transport } from '../../src/upstream/index.ts';
import type { OutgoingRequest } from '../../src/wire/http1/index.ts';
import { CollectingSink } from '../support/collecting-sink.ts';
import { disagreement } from '../support/fuzz/reader-fuzz.ts';
import type { Reading } from '../support/fuzz/reading.ts';
import { wireResponse } from '../support/fuzz/wire-responses.ts';
import { Random } from '../support/random.ts';
import { runs, seedOfRun } from '../support/runs.ts';
import { clockOfTests } from '../support/test-clock.ts';
import { UndiciTransport } from '../support/undici/undici-transport.ts';
import { upstreamAt } from '../support/upstream-options.ts';
import { type CapturedRequest, startUpstream } from '../support/wire/index.ts';

const CASES = runs(300);

/** Ours, and undici behind the same interface. */
function transports(port: number): readonly [Transport, Transport] {
  const options = upstreamAt(port);
  const clock = clockOfTests();
  const both = [
    new ConnectionPool(options, { ...thisMachine, clock }),
    new UndiciTransport(options, clock, () => 0),
  ] as const;
  onTestFinished(async () => void (await Promise.all(both.map(transport => transport.close()))));
  return both;
}

/** A body that is there at once, in pieces. */
class ReadyBody implements BodySource {
  started = false;
  readonly #pieces: readonly Buffer[];

  constructor(pieces: readonly Buffer[]) {
    this.#pieces = pieces;
  }

  start(sink: Parameters<BodySource['start']>[0]): void {
    this.started = true;
    for (const piece of this.#pieces) sink.chunk(piece);
    sink.end();
  }

  pause(): void {}

  resume(): void {}
}

async function send(transport: Transport, request: OutgoingRequest): Promise<CollectingSink> {
  const sink = new CollectingSink();
  transport.send(request, sink, '192.0.2.1');
  await sink.over;
  return sink;
}

function requestOf(seed: number, number: number): OutgoingRequest {
  const random = new Random(seed + number);
  const method = random.pick(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);
  const pieces = Array.from({ length: random.below(4) }, () => random.bytes(1 + random.below(40_000)));
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return {
    method,
    target: `/${number}?a=%20`,
    fields: ['Host', 'a.test', 'X-Number', `${number}`, 'x-number', '\xe9', 'Authorization', 'Bearer x'],
    bodyLength: length === 0 || random.chance(0.5) ? length : 'chunked',
    body: length === 0 ? null : new ReadyBody(pieces),
    ...{
      neverIndexed: NO_NAMES,
      takesTrailers: false,
      statesZero: false,
      upgrade: 'none' as const,
      firstByteTimeoutMs: 10_000,
      idleTimeoutMs: 10_000,
    },
  };
}

/**
 * What an upstream could tell of a request, apart from what undici does its own way: it speaks of the connection, writes
 * `host` small, and counts a body that is there at once.
 */
function seen({ method, target, fields, body, complete }: CapturedRequest) {
  const own = fields.filter((_, i) => !OF_THE_HOP.test(fields[i - (i % 2)] ?? ''));
  const text = own.map(field => (field === 'Host' ? 'host' : field));
  return { method, target, text, body: body.toString('latin1'), complete };
}
const OF_THE_HOP = /^(connection|content-length|transfer-encoding)$/i;

test(`${CASES} requests look the same to the upstream as those of undici`, async () => {
  const seed = seedOfRun();
  const upstream = await startUpstream();
  const [ours, undici] = transports(upstream.port);
  for (let number = 0; number < CASES; number++) {
    for (const transport of [ours, undici])
      expect((await send(transport, requestOf(seed, number))).failure).toBeNull();
    expect(upstream.requests[0]?.framing).toBe(requestOf(seed, number).bodyLength);
    const [a, b] = upstream.requests.splice(0).map(seen);
    expect(a).toEqual(b);
  }
});

test(`${CASES} answers are the same as those that undici reads from the same upstream`, async () => {
  const seed = seedOfRun();
  const upstream = await startUpstream(async exchange => {
    const { bytes } = wireResponse(new Random(seed + Number(exchange.request.target.slice(1))));
    await exchange.send(bytes);
    exchange.connection.end();
  });
  const [ours, undici] = transports(upstream.port);
  let whole = 0;
  for (let number = 0; number < CASES; number++) {
    const { method, bytes } = wireResponse(new Random(seed + number));
    const request = {
      ...requestOf(seed, number),
      ...{ method, target: `/${number}`, bodyLength: 0, body: null },
    };
    const [a, b] = [await send(ours, request), await send(undici, request)];
    // Its transport refuses more than undici does.
    if (b.failure !== null) continue;
    expect(disagreement(readingOf(a), readingOf(b)), JSON.stringify(bytes.toString('latin1'))).toBeNull();
    if (a.failure === null) whole++;
  }
  expect(whole).toBeGreaterThan(CASES / 2);
});

function readingOf(sink: CollectingSink): Reading {
  const outcome = sink.failure === null ? 'whole' : sink.failure.kind === 'malformed' ? 'refused' : 'part';
  const status = Number(/(?:head|whole) (\d+)/.exec(sink.events.join('\n'))?.[1] ?? 0);
  const fields = sink.fields.map((text, i) => (i % 2 === 0 ? text : text.replace(/[ \t]+$/, '')));
  return {
    ...{ outcome, interim: [], status, reason: null, fields, body: sink.body },
    trailers: sink.trailers.map(text => text.replace(/[ \t]+$/, '')),
  };
}
