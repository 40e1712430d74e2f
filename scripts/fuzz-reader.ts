// Compares the gateway's reader of answers with Node's client and undici on a million answers, mutated and not, and
// shows how far it is: node scripts/fuzz-reader.ts [CASES] [SEED]
import { fuzzReader } from '../test/support/fuzz/reader-fuzz.ts';

const cases = Number(process.argv[2] ?? 1_000_000);
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 2 ** 31));
const startedAt = performance.now();

console.log(`${cases} cases from seed ${seed}`);
const result = await fuzzReader({
  seed,
  cases,
  everySplitOfOneIn: 4,
  onCase(done) {
    if (done === 0 || done % 10_000 !== 0) return;
    const perSecond = Math.round((1_000 * done) / (performance.now() - startedAt));
    console.log(`${done} of ${cases}, ${perSecond} a second`);
  },
});
console.log(result);
if (result.findings.length > 0) process.exitCode = 1;
