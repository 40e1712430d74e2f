// Compares the gateway's readers with those of others on random messages, mutated or not: npm run fuzz -- --help
import { parseArgs } from 'node:util';
import type { FuzzRun } from '../test/support/fuzz/fuzz-run.ts';
import { fuzzHpack } from '../test/support/fuzz/hpack-fuzz.ts';
import { fuzzHttp2Exchanges } from '../test/support/fuzz/http2-exchange-fuzz.ts';
import { fuzzHttp2Requests, fuzzHttp2Responses } from '../test/support/fuzz/http2-fuzz.ts';
import { fuzzHttp2ThroughProxy } from '../test/support/fuzz/http2-proxy-fuzz.ts';
import { fuzzProofs } from '../test/support/fuzz/proof-fuzz.ts';
import { fuzzThroughProxy } from '../test/support/fuzz/proxy-fuzz.ts';
import { fuzzReader } from '../test/support/fuzz/reader-fuzz.ts';
import { fuzzRequests } from '../test/support/fuzz/request-fuzz.ts';
import { UsageError } from './load/options.ts';
import { positive, runScript, whole } from './usage.ts';

const HELP = `npm run fuzz -- [KIND...] [--minutes N | --cases N] [--seed N]

Gives the same bytes to the gateway's readers and to others, and tells what they understand differently. The kinds take turns:

  requests      HTTP/1.1, with the servers of Node and Go
  nginx         HTTP/1.1, with what a service behind nginx gets
  haproxy       the same behind HAProxy
  responses     HTTP/1.1, with the clients of Node, Go and undici
  h2-requests   frames of HTTP/2, with the servers of Node (nghttp2) and Go (x/net/http2)
  h2-nginx      frames of HTTP/2, with what a service behind nginx gets
  h2-haproxy    the same behind HAProxy
  h2-responses  frames of HTTP/2, with the clients of Node and Go
  h2-exchanges  Node's client talks to our HTTP/2 server
  hpack         header blocks, with HPACK of Go
  proofs        proofs of possession (DPoP), with a check made with jose

  KIND       which, several perhaps; all if none is named
  --minutes  how long, in all
  --cases    how many of each kind; 1000000 if neither is said
  --seed     of the first case; random if it is not said

Ends with 1 if anything was found. A finding names the seed of its turn and the case: --seed with their sum and --cases 1 repeat it.`;

type Result = { readonly cases: number; readonly findings: readonly string[] };

const KINDS: Readonly<Record<string, (run: FuzzRun) => Promise<Result>>> = {
  requests: fuzzRequests,
  nginx: run => fuzzThroughProxy('nginx', run),
  haproxy: run => fuzzThroughProxy('haproxy', run),
  responses: run => fuzzReader({ ...run, everySplitOfOneIn: 4 }),
  'h2-requests': fuzzHttp2Requests,
  'h2-nginx': run => fuzzHttp2ThroughProxy('nginx', run),
  'h2-haproxy': run => fuzzHttp2ThroughProxy('haproxy', run),
  'h2-responses': fuzzHttp2Responses,
  'h2-exchanges': fuzzHttp2Exchanges,
  hpack: fuzzHpack,
  proofs: fuzzProofs,
};
/** Cases of a turn: some seconds. */
const TURN = 4_000;

await runScript('fuzz', async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean' },
      minutes: { type: 'string' },
      cases: { type: 'string' },
      seed: { type: 'string' },
    },
  });
  const unknown = positionals.find(kind => !(kind in KINDS));
  if (unknown !== undefined)
    throw new UsageError(`there is no kind "${unknown}", but ${Object.keys(KINDS).join(', ')}`);
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const minutes = positive('--minutes', values.minutes, Number.POSITIVE_INFINITY);
  const most = values.minutes === undefined ? 1_000_000 : Number.POSITIVE_INFINITY;
  return await takeTurns(positionals.length === 0 ? Object.keys(KINDS) : positionals, {
    minutes,
    most: positive('--cases', values.cases, most),
    seed: whole('--seed', values.seed, Math.ceil(Math.random() * 2 ** 31)),
  });
});

interface Extent {
  readonly minutes: number;
  /** How many cases of each kind. */
  readonly most: number;
  readonly seed: number;
}

/** Returns the exit code. */
async function takeTurns(kinds: readonly string[], { minutes, most, seed }: Extent): Promise<number> {
  const startedAt = performance.now();
  const totals = new Map<string, Result>();
  for (let turn = 0; turn * TURN < most; turn++)
    for (const kind of kinds) {
      if ((totals.get(kind)?.findings.length ?? 0) > 0) continue;
      const passed = performance.now() - startedAt;
      if (passed > minutes * 60_000) return report(kinds, totals);
      await takeTurn(kind, { seed: seed + turn * TURN, cases: Math.min(TURN, most - turn * TURN) }, totals);
    }
  return report(kinds, totals);
}

async function takeTurn(kind: string, run: FuzzRun, totals: Map<string, Result>): Promise<void> {
  const beganAt = performance.now();
  const result = await (KINDS[kind] as (run: FuzzRun) => Promise<Result>)(run);
  const total = sum(totals.get(kind) ?? {}, result) as Result;
  totals.set(kind, total);
  const perSecond = Math.round((1_000 * result.cases) / (performance.now() - beganAt));
  const findings = [...totals.values()].reduce((count, each) => count + each.findings.length, 0);
  console.log(`${kind}: ${total.cases} cases, ${perSecond} a second; findings of all kinds: ${findings}`);
  for (const finding of result.findings) console.log(finding);
}

/** Adds counts up, also those within, and puts lists behind each other. */
function sum(before: object, now: object): object {
  const result: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(now)) {
    const old = result[key];
    if (old === undefined) result[key] = value;
    else if (Array.isArray(value)) result[key] = [...(old as unknown[]), ...value];
    else if (typeof value === 'number') result[key] = (old as number) + value;
    else result[key] = sum(old as object, value);
  }
  return result;
}

function report(kinds: readonly string[], totals: ReadonlyMap<string, Result>): number {
  for (const [kind, { findings, ...counts }] of totals)
    console.log(kind, { ...counts, findings: findings.length });
  const without = kinds.filter(kind => !totals.has(kind));
  if (without.length > 0) console.log(`no time was left for ${without.join(', ')}`);
  return [...totals.values()].some(({ findings }) => findings.length > 0) ? 1 : 0;
}
