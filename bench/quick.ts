// Processor time of the gateway for a request, beside bare http-proxy-3 in the same run: see README.md.
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cpuMicroseconds } from './cpu.ts';
import { figureOf } from './figures.ts';
import { findLoadGenerator } from './load.ts';
import type { Part } from './part.ts';
import { startHttpProxy3, startUpstream, startWeir } from './parts.ts';

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 3;

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const load = findLoadGenerator();

const directory = await mkdtemp(join(tmpdir(), 'weir-bench-'));
const parts: Part[] = [];
try {
  const upstream = await started(startUpstream());
  const weir = await started(startWeir(upstream.port, directory));
  const httpProxy3 = await started(startHttpProxy3(upstream.port));
  const report = await compare(weir, httpProxy3);
  console.log(flags.json ? JSON.stringify(report, null, 2) : tableOf(report));
} finally {
  await Promise.all(parts.map(part => part.stop()));
  await rm(directory, { recursive: true });
}

async function started(starting: Promise<Part>): Promise<Part> {
  const part = await starting;
  parts.push(part);
  return part;
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
    what: `GET, 100 bytes, ${CONNECTIONS} keep-alive connections, access log off`,
    how: `${load.name}, ${rounds} rounds of ${seconds} s in turns, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
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

function tableOf({ what, how, weir, httpProxy3, ratio }: Report): string {
  const row = (name: string, { microsecondsPerRequest: cpu, requestsPerSecond }: Report['weir']): string =>
    [
      name.padEnd(14),
      cpu.median.toFixed(1).padStart(10),
      `${cpu.lowest.toFixed(1)} to ${cpu.highest.toFixed(1)}`.padStart(18),
      Math.round(requestsPerSecond.median).toString().padStart(12),
    ].join('');
  return [
    what,
    how,
    '',
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
