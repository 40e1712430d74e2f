// Processor time of the gateway for a request, beside bare http-proxy-3 in the same run, and what tokens add to it: see
// README.md.
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cpuMicroseconds } from './cpu.ts';
import { figureOf } from './figures.ts';
import { startIssuer } from './issuer.ts';
import { findLoadGenerator } from './load.ts';
import type { Part } from './part.ts';
import { startHttpProxy3, startUpstream, startWeir, startWeirWithTokens } from './parts.ts';
import { measureTokens, tableOfTokens } from './tokens.ts';

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 3;

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const load = findLoadGenerator();
if (!(flags.only === undefined || flags.only === 'forwarding' || flags.only === 'tokens'))
  throw new Error(`--only takes forwarding or tokens, not "${flags.only}"`);

const HOW = [
  `GET, 100 bytes, ${CONNECTIONS} keep-alive connections, access log off`,
  `${load.name}, ${rounds} rounds of ${seconds} s in turns, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
].join('\n');

const directory = await mkdtemp(join(tmpdir(), 'weir-bench-'));
const parts: Part[] = [];
try {
  const upstream = await started(startUpstream());
  const forwarding = flags.only === 'tokens' ? null : await forwardingReport(upstream);
  const tokens = flags.only === 'forwarding' ? null : await tokenReport(upstream);
  if (flags.json) console.log(JSON.stringify({ how: HOW, forwarding, tokens }, null, 2));
  else {
    console.log(HOW);
    if (forwarding !== null) console.log(`\n${tableOf(forwarding)}`);
    if (tokens !== null) console.log(`\n${tableOfTokens(tokens)}`);
  }
} finally {
  await Promise.all(parts.map(part => part.stop()));
  await rm(directory, { recursive: true });
}

async function started(starting: Promise<Part>): Promise<Part> {
  const part = await starting;
  parts.push(part);
  return part;
}

async function forwardingReport(upstream: Part): Promise<Report> {
  const weir = await started(startWeir(upstream.port, directory));
  return compare(weir, await started(startHttpProxy3(upstream.port)));
}

async function tokenReport(upstream: Part) {
  const issuer = await startIssuer();
  try {
    const weir = await started(startWeirWithTokens(upstream.port, directory, issuer.url));
    return await measureTokens(weir, issuer, { rounds, seconds, load, progress });
  } finally {
    issuer.close();
  }
}

/** Measures both in turns, so that what the machine does beside this strikes both alike. */
async function compare(weir: Part, httpProxy3: Part) {
  const samples: { weir: Sample; httpProxy3: Sample }[] = [];
  for (const [name, part] of [['weir', weir] as const, ['http-proxy-3', httpProxy3] as const]) {
    progress(`warming up ${name}`);
    await sample(part, WARM_UP_SECONDS);
  }
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    samples.push({ weir: await sample(weir, seconds), httpProxy3: await sample(httpProxy3, seconds) });
  }
  const figures = (peer: 'weir' | 'httpProxy3') => ({
    microsecondsPerRequest: figureOf(samples.map(round => round[peer].microsecondsPerRequest)),
    requestsPerSecond: figureOf(samples.map(round => round[peer].requestsPerSecond)),
  });
  return {
    weir: figures('weir'),
    httpProxy3: figures('httpProxy3'),
    ratio: figureOf(
      samples.map(round => round.weir.microsecondsPerRequest / round.httpProxy3.microsecondsPerRequest),
    ),
  };
}

type Report = Awaited<ReturnType<typeof compare>>;

interface Sample {
  readonly microsecondsPerRequest: number;
  readonly requestsPerSecond: number;
}

async function sample(part: Part, forSeconds: number): Promise<Sample> {
  const before = cpuMicroseconds(part.pid);
  const { requests, failures } = await load.run({
    url: `http://127.0.0.1:${part.port}/`,
    connections: CONNECTIONS,
    seconds: forSeconds,
  });
  if (failures > 0 || requests === 0) throw new Error(`${failures} of ${requests} requests failed`);
  return {
    microsecondsPerRequest: (cpuMicroseconds(part.pid) - before) / requests,
    requestsPerSecond: requests / forSeconds,
  };
}

function tableOf({ weir, httpProxy3, ratio }: Report): string {
  const row = (name: string, { microsecondsPerRequest: cpu, requestsPerSecond }: Report['weir']): string =>
    [
      name.padEnd(14),
      cpu.median.toFixed(1).padStart(10),
      `${cpu.lowest.toFixed(1)} to ${cpu.highest.toFixed(1)}`.padStart(18),
      Math.round(requestsPerSecond.median).toString().padStart(12),
    ].join('');
  return [
    `${'CPU us/request'.padEnd(14)}${'median'.padStart(10)}${'range'.padStart(18)}${'requests/s'.padStart(12)}`,
    row('weir', weir),
    row('http-proxy-3', httpProxy3),
    `${'ratio'.padEnd(14)}${ratio.median.toFixed(2).padStart(10)}${`${ratio.lowest.toFixed(2)} to ${ratio.highest.toFixed(2)}`.padStart(18)}`,
  ].join('\n');
}

/** To standard error, so that the report can be piped. */
function progress(text: string): void {
  console.error(`# ${text}`);
}
