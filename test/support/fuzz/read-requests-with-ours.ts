import { Accepted } from '../../../src/edge/server/client-connection.ts';
import { Http1Connection } from '../../../src/edge/server/http1-connection.ts';
import { MalformedMessage, RequestReader } from '../../../src/wire/http1/index.ts';
import { listenerState } from '../listener-state.ts';
import { MemorySocket } from '../memory-socket.ts';
import { type Manner, RecordingGateway } from './recording-gateway.ts';
import type { RequestsReading } from './request-reading.ts';

const HEAD_BYTES = 1_048_576;

export interface Delivery {
  /** Default `prompt`. */
  readonly manner?: Manner;
  /** Whether something else may happen before the next piece comes. Default: no. */
  readonly pauses?: () => boolean;
  /**
   * Whether the connection ends with the last piece, or only once everything has been served. Default: the latter, which
   * alone distinguishes incomplete requests from refused ones.
   */
  readonly endsAtOnce?: boolean;
}

/** What the gateway's connections make of bytes that come in these pieces, before the connection ends. */
export async function readRequestsWithOurs(
  pieces: readonly Buffer[],
  { manner = 'prompt', pauses = () => false, endsAtOnce = false }: Delivery = {},
): Promise<RequestsReading> {
  const gateway = new RecordingGateway(manner);
  const wire = new MemorySocket();
  new Http1Connection(
    new Accepted(wire.asSocket, '127.0.0.1'),
    wire.asSocket,
    { peer: '127.0.0.1', scheme: 'http', mayForward: true, redirects: false, certificate: null },
    listenerState(gateway.asGateway, HEAD_BYTES),
  );
  await turn();
  for (const piece of pieces) {
    if (wire.destroyed) break;
    wire.bring(piece);
    if (pauses()) await turn();
  }
  if (endsAtOnce) wire.push(null);
  let before = -1;
  do {
    before = wire.written.length;
    // A response leaves a turn after it was given, and its exchange ends then.
    for (let turns = 0; turns < 8; turns++) await turn();
  } while (gateway.busy > 0 || wire.written.length > before);
  const { refusal, requests } = gateway;
  const closed = wire.writableEnded && !endsAtOnce;
  if (!endsAtOnce) wire.push(null);
  await turn();
  const inside = gateway.refusal !== null;
  wire.destroy();
  await turn();
  if (!gateway.allOver) throw new Error('a connection has gone and its exchange has not');
  const turnedAway = requests.at(-1)?.turnedAway ?? null;
  const status = refusal?.status ?? 0;
  if (refusal !== null || turnedAway !== null)
    return { requests, outcome: 'refused', why: turnedAway ?? whyRefused(Buffer.concat(pieces)), status };
  return { requests, outcome: closed ? 'closed' : inside ? 'inside' : 'between', why: '', status };
}

function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}

/** What a connection does not say: why the bytes are not requests. Its reader without the connection does. */
function whyRefused(bytes: Buffer): string {
  let why = 'nothing';
  const reader = new RequestReader({
    requestBegun({ framing: { bodyLength } }) {
      if (typeof bodyLength === 'object') why = bodyLength.rejected;
      else reader.next();
    },
    bodyStarted() {},
    bodyFlowChanged() {},
    bodyTooLarge() {},
  });
  try {
    reader.add(bytes);
    reader.read(HEAD_BYTES);
    return why;
  } catch (error) {
    if (error instanceof MalformedMessage) return error.message;
    throw error;
  }
}
