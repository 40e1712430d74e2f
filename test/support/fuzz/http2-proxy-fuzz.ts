import { connect } from 'node:net';
import { FLAG, type Frame, FrameClient, frame, PREFACE, TYPE, wholeFrames } from '../http2-frames.ts';
import { type FuzzRun, fuzz } from './fuzz-run.ts';
import { byName } from './go-quirks.ts';
import { clientBytes, type LeftOut, REQUEST_NAME } from './http2-frames-of-client.ts';
import type { Http2Reading } from './http2-reading.ts';
import { type ForwardedRequest, type ProxyName, startProxy } from './other-proxies.ts';
import type { ProxyFuzzResult } from './proxy-fuzz.ts';
import { readHttp2RequestsWithOurs } from './read-http2-requests-with-ours.ts';

/** Longer than a proxy is silent on a busy machine. */
const SILENCE_MS = 60_000;
const HEAD_BYTES = 9;
/** The proxy says these itself, for its own connection. */
const OF_CONNECTION =
  /^(:.*|host|connection|content-length|transfer-encoding|te|trailer|upgrade|sec-websocket-key|x-client-port)$/;

/**
 * What is valid, and yet makes a proxy end the whole connection, with the other requests on it. When connections always had these things,
 * fewer than half of the requests could be compared.
 */
const REFUSED: Readonly<Record<ProxyName, LeftOut>> = {
  // Seen in version 1.22.
  nginx: { trailers: true, emptyBlocks: true },
  // Version 2.6 refuses padded DATA unless its stream ends with that.
  haproxy: { paddedData: true, emptyBlocks: true },
};
/** The share of connections that leave nothing out. */
const ALL_OF = 0.1;

/**
 * Gives the same frames to our HTTP/2 server and to another proxy. Of what both accept, a service behind the proxy must get just the
 * requests that ours reads, with the same fields and bodies.
 */
export async function fuzzHttp2ThroughProxy(name: ProxyName, run: FuzzRun): Promise<ProxyFuzzResult> {
  const proxy = await startProxy(name, { http2: true });
  let [accepted, stricter, lenient] = [0, 0, 0];
  const result = await fuzz(
    run,
    async (random, note) => {
      const bytes = filledUp(
        clientBytes(random, 1 + random.below(3), random.chance(ALL_OF) ? {} : REFUSED[name]),
      );
      const read = readHttp2RequestsWithOurs([bytes]);
      const { port, isHeard } = await converse(bytes, proxy.port, answerable(bytes, read));
      const left = [...read.values()];
      if (!isHeard) note(`silence of ${name}: ${bytes.toString('hex')}`);
      for (const request of proxy.take(port)) {
        const like = left.filter(
          ({ fields }) => firstOf(fields, REQUEST_NAME) === firstOf(request.fields, REQUEST_NAME),
        );
        const same = like.find(reading => reading.whole && isSame(reading, request));
        if (same !== undefined) left.splice(left.indexOf(same), 1);
        else if (like.some(({ whole }) => whole))
          note(
            `another request through ${name}: ${JSON.stringify([like, request])}: ${bytes.toString('hex')}`,
          );
        if (same === undefined) lenient++;
        else accepted++;
      }
      stricter += left.filter(({ whole }) => whole).length;
    },
    4,
  );
  await proxy.stop();
  return { ...result, accepted, stricter, lenient };
}

/** The bytes, whose last frame has zeros for what it lacks, so that another one can stand behind it. */
function filledUp(bytes: Buffer): Buffer {
  let end = PREFACE.length;
  while (end < bytes.length) end += HEAD_BYTES + (end + 3 <= bytes.length ? bytes.readUIntBE(end, 3) : 0);
  return Buffer.concat([bytes, Buffer.alloc(end - bytes.length)]);
}

/**
 * The streams whose requests ours reads whole, and which the client does not take back. A GOAWAY of the client names streams that servers
 * open (RFC 9113, 6.8), but HAProxy 2.6 answers none of the client's own above that number.
 */
function answerable(bytes: Buffer, readings: ReadonlyMap<number, Http2Reading>): number[] {
  const frames = wholeFrames(bytes.subarray(PREFACE.length));
  const isReset = (id: number) => frames.some(({ type, stream }) => type === TYPE.rstStream && stream === id);
  const goaways = frames.filter(({ type, payload }) => type === TYPE.goaway && payload.length >= 8);
  const last = Math.min(...goaways.map(({ payload }) => payload.readUInt32BE() & 0x7fffffff));
  return [...readings].filter(([id, { whole }]) => whole && !isReset(id) && id <= last).map(([id]) => id);
}

/** Sends the bytes and a PING, and waits until that and these streams are answered, or the connection ends. Returns the client's port. */
function converse(
  bytes: Buffer,
  port: number,
  streams: readonly number[],
): Promise<{ readonly port: number; readonly isHeard: boolean }> {
  return new Promise(resolve => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const client = new FrameClient(socket);
    let [own, isHeard] = [0, true];
    socket.setTimeout(SILENCE_MS, () => {
      isHeard = false;
      socket.destroy();
    });
    socket.on('connect', () => {
      own = socket.localPort ?? 0;
    });
    socket.on('data', () => {
      const answers = client.frames.filter(isAnswer);
      const isAnswered = (id: number) => answers.some(({ stream }) => stream === id);
      if (isAnswered(0) && streams.every(isAnswered)) socket.destroy();
    });
    socket.on('end', () => socket.destroy());
    socket.on('close', () => resolve({ port: own, isHeard }));
    socket.write(Buffer.concat([bytes, frame(TYPE.ping, 0, 0, 'the last')]));
  });
}

function isAnswer({ type, flags }: Frame): boolean {
  return type === TYPE.headers || type === TYPE.rstStream || (type === TYPE.ping && flags === FLAG.ack);
}

function isSame({ fields, body, trailers }: Http2Reading, forwarded: ForwardedRequest): boolean {
  const host = firstOf(fields, ':authority') ?? firstOf(fields, 'host');
  // HAProxy opens a WebSocket, or whatever else a :protocol names, by HTTP/1.1, and its data are no body (RFC 8441, 5).
  const isSwitch = firstOf(fields, ':protocol') !== undefined && forwarded.method === 'GET';
  return (
    (isSwitch || firstOf(fields, ':method') === forwarded.method) &&
    firstOf(fields, ':path') === forwarded.target &&
    // HAProxy leaves out the port that the scheme has by itself.
    [host, host?.replace(/:80$|:443$/, '')].includes(firstOf(forwarded.fields, 'host')) &&
    textOf(fields) === textOf(forwarded.fields) &&
    (isSwitch || body === forwarded.body) &&
    // nginx drops them.
    (forwarded.trailers.length === 0 || textOf(trailers) === textOf(forwarded.trailers))
  );
}

/** The first value; undefined: there is none. */
function firstOf(fields: readonly string[], name: string): string | undefined {
  return fields.find((_, i) => i % 2 === 1 && fields[i - 1]?.toLowerCase() === name);
}

/** Without fields of the connection, and those whose name nginx drops: it knows letters, digits and hyphens. */
function textOf(fields: readonly string[]): string {
  const isKept = (name: string) => !OF_CONNECTION.test(name) && /^[a-z\d-]+$/.test(name);
  return JSON.stringify(byName(fields.filter((_, i) => isKept((fields[i - (i % 2)] ?? '').toLowerCase()))));
}
