// Processor time of the gateway for requests and answers of several sizes: see README.md. Needs wrk.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { cpuMicroseconds } from './cpu.ts';
import { figureOf } from './figures.ts';
import { freePort, type Part, startPart } from './part.ts';
import { startWeir } from './parts.ts';

const run = promisify(execFile);

const { values: flags } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '3' } },
});

const POST = `wrk.method = 'POST'\nwrk.body = string.rep('x', 1024)\n`;
const LOADS = [
  { what: 'GET 100 B', target: '/100' },
  { what: 'GET 4 KiB', target: '/4096' },
  { what: 'GET 4 KiB chunked', target: '/chunked/4096' },
  { what: 'GET 64 KiB', target: '/65536' },
  { what: 'GET 1 MiB', target: '/1048576' },
  { what: 'GET 1 MiB chunked', target: '/chunked/1048576' },
  { what: 'POST 1 KiB', target: '/100', script: POST },
] as const;

const directory = await mkdtemp(join(tmpdir(), 'weir-bench-'));
const parts: Part[] = [];
try {
  const port = await freePort();
  const upstream = await startPart([join(import.meta.dirname, 'peers/bodies.ts')], port, { PORT: `${port}` });
  parts.push(upstream);
  const weir = await startWeir(upstream.port, directory);
  parts.push(weir);
  await writeFile(join(directory, 'post.lua'), POST);
  console.log(`CPU us/request of weir, median of ${flags.rounds} rounds of ${flags.seconds} s`);
  for (const load of LOADS) {
    const samples: number[] = [];
    await measure(weir, load, 1);
    for (let round = 0; round < Number(flags.rounds); round++) {
      samples.push(await measure(weir, load, Number(flags.seconds)));
    }
    const { median, lowest, highest } = figureOf(samples);
    console.log(
      `${load.what.padEnd(20)}${median.toFixed(1).padStart(8)}  ${lowest.toFixed(1)} to ${highest.toFixed(1)}`,
    );
  }
} finally {
  await Promise.all(parts.map(part => part.stop()));
  await rm(directory, { recursive: true });
}

async function measure(weir: Part, load: (typeof LOADS)[number], seconds: number): Promise<number> {
  const before = cpuMicroseconds(weir.pid);
  const script = 'script' in load ? ['-s', join(directory, 'post.lua')] : [];
  const url = `http://127.0.0.1:${weir.port}${load.target}`;
  const { stdout } = await run('wrk', ['-t', '1', '-c', '64', '-d', `${seconds}s`, ...script, url]);
  if (/Socket errors|Non-2xx/.test(stdout)) throw new Error(stdout);
  return (cpuMicroseconds(weir.pid) - before) / Number(/(\d+) requests in/.exec(stdout)?.[1]);
}
