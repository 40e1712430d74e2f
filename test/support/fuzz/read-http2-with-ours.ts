import { SLAB_BYTES, SlabStore } from '../../../src/upstream/pool.ts';
import { StreamCall } from '../../../src/upstream/stream-call.ts';
import { ClientSession, Http2Fault } from '../../../src/wire/http2/index.ts';
import { CollectingSink } from '../collecting-sink.ts';
import { GET } from '../get-request.ts';
import { upstreamAt } from '../upstream-options.ts';
import type { Http2Reading } from './http2-reading.ts';

const OPTIONS = { maxBytes: 65_536, maxFields: 501, streamWindow: 131_072, connectionWindow: 8_388_608 };

/** One for all, so that a slab that is given back too early is filled by the next read. */
const slabs = new SlabStore();

/** Reads the bytes, in these pieces, as the responses to so many calls. */
export function readHttp2WithOurs(pieces: readonly Buffer[], requests: number): Http2Reading[] {
  const owner = {
    wake: () => {},
    settingsRead: () => {},
    // As Node does. The gateway waits for what the upstream may still complete.
    goaway: (_last: number, code: number) => code !== 0 && session.lose(),
  };
  const session = new ClientSession(OPTIONS, owner);
  const fate = { broken: null, closedWhileIdle: false, writes: 0, released: () => {}, suspect: () => {} };
  const sinks = Array.from({ length: requests }, (_, i) => {
    const sink = new CollectingSink();
    sink.takesAtOnce = i % 2 === 0;
    const call = new StreamCall(GET, sink, fate, upstreamAt(81, { protocol: 'grpc' }));
    call.begin(session.request([], call, true), fate);
    return sink;
  });
  // What they sent has left.
  fate.writes = 1;
  let slab = slabs.take();
  try {
    for (const piece of pieces.flatMap(inReads)) {
      slab.bytes.set(piece);
      session.read(slab, 0, piece.length);
      if (slab.lent) slab = slabs.replace(slab);
    }
  } catch (error) {
    if (!(error instanceof Http2Fault)) throw error;
  }
  session.lose();
  slab.detach();
  const readings = sinks.map(readingOf);
  for (const { taken } of sinks.flatMap(({ lent }) => lent)) taken();
  return readings;
}

/** No read brings more than a slab holds. */
function inReads(piece: Buffer): Buffer[] {
  const reads = Math.ceil(piece.length / SLAB_BYTES);
  return Array.from({ length: reads }, (_, i) => piece.subarray(i * SLAB_BYTES, (i + 1) * SLAB_BYTES));
}

function readingOf(sink: CollectingSink): Http2Reading {
  const head = sink.events.find(event => /^(head|whole)/.test(event));
  return {
    whole: sink.failure === null && /^(end|whole)/.test(sink.events.at(-1) ?? ''),
    status: head?.split(' ')[1] ?? '',
    fields: head === undefined ? [] : sink.fields,
    body: sink.body,
    trailers: sink.trailers,
  };
}
