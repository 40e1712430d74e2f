import { connect } from 'node:net';
import { Random } from '../random.ts';
import type { FuzzRun } from './fuzz-run.ts';
import { type ForwardedRequest, type ProxyName, startProxy } from './other-proxies.ts';
import { readRequestsWithOurs } from './read-requests-with-ours.ts';
import type { RequestsReading, SeenRequest } from './request-reading.ts';
import { wireRequests } from './wire-requests.ts';

const MAX_FINDINGS = 10;
/** Longer than a proxy is silent on a busy machine. */
const SILENCE_MS = 10_000;

export interface ProxyFuzzResult {
  readonly cases: number;
  /** Cases in which the proxy forwarded just the requests that ours reads, of which there is one at least. */
  readonly accepted: number;
  /** Cases in which it forwarded fewer. */
  readonly stricter: number;
  /** Cases in which it forwarded what ours refuses, or comes behind the last request that it takes from a connection. */
  readonly lenient: number;
  readonly findings: readonly string[];
}

/**
 * Gives the same bytes to our connections and to another proxy. Of what both accept, a service behind the proxy must get the same
 * requests, with the same bodies.
 */
export async function fuzzThroughProxy(name: ProxyName, { seed, cases }: FuzzRun): Promise<ProxyFuzzResult> {
  const proxy = await startProxy(name);
  const findings: string[] = [];
  let [done, accepted, stricter, lenient] = [0, 0, 0, 0];
  for (; done < cases && findings.length < MAX_FINDINGS; done++) {
    const random = new Random(seed + done);
    const { bytes: written } = wireRequests(random);
    const bytes = name === 'nginx' && !random.chance(0.1) ? withoutTabs(written) : written;
    const ours = await readRequestsWithOurs([bytes]);
    const isHeard = await converse(bytes, proxy.port);
    const forwarded = proxy.take();
    const read = acceptedOf(ours);
    const wrong = isHeard ? difference(ours, forwarded) : 'silence';
    if (wrong !== null)
      findings.push(
        `case ${done} of seed ${seed}: ${wrong} through ${name}: ${JSON.stringify(bytes.toString('latin1').slice(0, 2_000))} ${JSON.stringify([ours, forwarded]).slice(0, 4_000)}`,
      );
    if (forwarded.length < read.length) stricter++;
    else if (forwarded.length > read.length) lenient++;
    else if (read.length > 0) accepted++;
  }
  await proxy.stop();
  return { cases: done, accepted, stricter, lenient, findings };
}

/** With a space for each tab beside a host or a length: nginx 1.22 refuses those tabs, and so would refuse half of the conversations. */
function withoutTabs(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1');
  const spaced = text.replace(/^(?:host|content-length):[^\r\n]*/gim, line => line.replaceAll('\t', ' '));
  return Buffer.from(spaced, 'latin1');
}

/** Sends the bytes and waits for the proxy to close; false: it did not. */
function converse(bytes: Buffer, port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.setTimeout(SILENCE_MS, () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', () => {});
    socket.on('end', () => socket.destroy());
    socket.on('close', () => resolve(true));
    socket.resume().end(bytes);
  });
}

function acceptedOf({ requests }: RequestsReading): SeenRequest[] {
  return requests.filter(({ complete, turnedAway }) => complete && turnedAway === null);
}

/** What the proxy forwarded and ours read otherwise, or not at all though it accepted the bytes; null: nothing. */
function difference(ours: RequestsReading, forwarded: readonly ForwardedRequest[]): string | null {
  const left = acceptedOf(ours);
  for (const request of forwarded) {
    const like = left.filter(each => isSame(each, request));
    const at = left.findIndex(each => isSame(each, request) && (each.body ?? '') === request.body);
    if (at >= 0) left.splice(0, at + 1);
    else if (like.length > 0) return 'another body';
    // Behind what ours refuses, and behind the last request of a connection, it reads nothing.
    else return ours.outcome === 'refused' || ours.outcome === 'closed' ? null : 'another request';
  }
  return null;
}

function isSame(a: ForwardedRequest | SeenRequest, b: ForwardedRequest): boolean {
  return a.method === b.method && pathOf(a.target) === pathOf(b.target);
}

/** A proxy may forward the path of a whole target. */
function pathOf(target: string): string {
  return target.replace(/^http:\/\/[^/?]*/i, '');
}
