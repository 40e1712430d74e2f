// Compares the gateway's readers with others on a million messages each, mutated or not: requests with Node's server, responses
// with Node's client and undici, frames of HTTP/2 with Node's client and server, and header blocks with Go's HPACK; and lets Node's client
// talk to our HTTP/2 server. Shows its progress.
// node scripts/fuzz-readers.ts [requests|responses|h2-requests|h2-responses|h2-exchanges|hpack|all] [CASES] [SEED]
import { fuzzHpack } from '../test/support/fuzz/hpack-fuzz.ts';
import { fuzzHttp2Exchanges } from '../test/support/fuzz/http2-exchange-fuzz.ts';
import { fuzzHttp2Requests, fuzzHttp2Responses } from '../test/support/fuzz/http2-fuzz.ts';
import { fuzzReader } from '../test/support/fuzz/reader-fuzz.ts';
import { fuzzRequests } from '../test/support/fuzz/request-fuzz.ts';

const which = process.argv[2] ?? 'all';
const cases = Number(process.argv[3] ?? 1_000_000);
const seed = Number(process.argv[4] ?? Math.floor(Math.random() * 2 ** 31));
if (!['requests', 'responses', 'h2-requests', 'h2-responses', 'h2-exchanges', 'hpack', 'all'].includes(which))
  throw new Error(
    `not "${which}": requests, responses, h2-requests, h2-responses, h2-exchanges, hpack or all`,
  );

if (which === 'requests' || which === 'all')
  report(await fuzzRequests({ seed, cases, onCase: progressOf('requests') }));
if (which === 'responses' || which === 'all')
  report(await fuzzReader({ seed, cases, everySplitOfOneIn: 4, onCase: progressOf('responses') }));
if (which === 'h2-responses' || which === 'all')
  report(await fuzzHttp2Responses({ seed, cases, onCase: progressOf('responses over HTTP/2') }));
if (which === 'h2-requests' || which === 'all')
  report(await fuzzHttp2Requests({ seed, cases, onCase: progressOf('requests over HTTP/2') }));
if (which === 'h2-exchanges' || which === 'all')
  report(await fuzzHttp2Exchanges({ seed, cases, onCase: progressOf('exchanges over HTTP/2') }));
if (which === 'hpack' || which === 'all')
  report(await fuzzHpack({ seed, cases, onCase: progressOf('hpack') }));

function progressOf(what: string): (done: number) => void {
  const startedAt = performance.now();
  console.log(`${cases} cases of ${what} from seed ${seed}`);
  return done => {
    if (done === 0 || done % 10_000 !== 0) return;
    const perSecond = Math.round((1_000 * done) / (performance.now() - startedAt));
    console.log(`${done} of ${cases}, ${perSecond} a second`);
  };
}

function report(result: { readonly findings: readonly string[] }): void {
  console.log(result);
  if (result.findings.length > 0) process.exitCode = 1;
}
