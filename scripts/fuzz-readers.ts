// Compares the gateway's readers with others on a million messages each, mutated or not: requests with Node's server, responses
// with Node's client and undici. Shows its progress.
// node scripts/fuzz-readers.ts [requests|responses|both] [CASES] [SEED]
import { fuzzReader } from '../test/support/fuzz/reader-fuzz.ts';
import { fuzzRequests } from '../test/support/fuzz/request-fuzz.ts';

const which = process.argv[2] ?? 'both';
const cases = Number(process.argv[3] ?? 1_000_000);
const seed = Number(process.argv[4] ?? Math.floor(Math.random() * 2 ** 31));
if (!['requests', 'responses', 'both'].includes(which))
  throw new Error(`not "${which}": requests, responses or both`);

if (which !== 'responses') report(await fuzzRequests({ seed, cases, onCase: progressOf('requests') }));
if (which !== 'requests')
  report(await fuzzReader({ seed, cases, everySplitOfOneIn: 4, onCase: progressOf('responses') }));

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
