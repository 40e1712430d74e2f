import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LimitsModel, readPart } from '../src/config/index.ts';
import { LimitEngine } from '../src/offline/simulation/index.ts';

// Replays an access log of a gigabyte, and says how long that takes and how much memory: `npm run test:big-log [LINES] [SVG]`.

const [, , lines = '1800000', svg] = process.argv;
const START_MS = Date.UTC(2026, 0, 1);
const MAX_RESIDENT_MB = 700;
const limitsOf = (quotas: string) => `
buckets: { messages: { main: channel_id, ${quotas}, algorithm: smooth } }
routes: { "GET /v1/channels/{channel_id}/messages": messages }
`;
/** Those that decided when the log was written, and those that are tried. */
const RAN = limitsOf('user: 5/5s, resource: 75/10s');
const TRIED = limitsOf('user: 3/5s, resource: 50/10s');

/** Always the same numbers. */
let seed = 1;
function random(below: number): number {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed % below;
}

/** As long as a pseudonym. */
function name(kind: string, number: number): string {
  return `${kind}${String(number).padStart(21, '0')}`;
}

function lineOf(engine: LimitEngine, sequence: number, decidedAt: number): string {
  const time = new Date(decidedAt + random(50)).toISOString();
  // Some channels and callers are much busier than others.
  const channel = name('c', Math.min(random(500), random(500)));
  const caller = name('u', Math.min(random(20_000), random(20_000), random(20_000)));
  const path = `/v1/channels/${channel}/messages`;
  const verdict = engine.decide(decidedAt, {
    method: 'GET',
    host: '',
    path,
    callerClass: 'user',
    caller,
    claimed: null,
    consumes: 'all',
  });
  const refused = verdict === null || verdict.decision.admitted ? null : verdict.decision.role;
  const start = `{"level":"info","time":"${time}","type":"access","instance":"a1b2c3d4","keyId":"k1k2k3k4"`;
  const request = `"requestId":"Ab3dEf6hIj-${sequence}","arrivedAt":${decidedAt},"sequence":${sequence},"protocol":"http1","method":"GET","route":"/v1/**","path":"/v1/channels/{${channel}}/messages","upstream":"api"`;
  const decision = `"client":"192.0.2.1","class":"user","caller":"${caller}","bucket":"messages","decision":"${refused ?? 'admitted'}","decidedAt":${decidedAt},"main":"${channel}"`;
  const end = `"status":${refused === null ? 200 : 429},"outcome":"${refused === null ? 'forwarded' : 'answered'}","bytesReceived":0,"bytesSent":1234,"durationMs":12.346,"upstreamMs":11.5`;
  // A refusal by the resource has scope `shared`, and does not count as invalid.
  const offence = refused === 'caller' ? `,"offenceAt":${decidedAt}` : '';
  return `${start},${request},${decision},${end}${offence}}\n`;
}

/** Writes a log of 1,200 to 2,800 requests a second. */
async function writeLog(file: string, limits: LimitsModel): Promise<void> {
  const engine = new LimitEngine(limits, START_MS);
  const out = createWriteStream(file, { highWaterMark: 1 << 20 });
  let atMs = START_MS;
  for (let i = 1; i <= Number(lines); i++) {
    atMs += 1_000 / (2_000 + 800 * Math.sin((atMs - START_MS) / 60_000));
    if (!out.write(lineOf(engine, i, Math.floor(atMs)))) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
}

/** The most memory that a process had, in MB. */
async function peakOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
}

const folder = await mkdtemp(join(tmpdir(), 'weir-big-log-'));
try {
  const [log, limits] = [join(folder, 'weir.log'), join(folder, 'limits.yaml')];
  await writeFile(limits, RAN);
  const ran = await readPart('limits', limits, {});
  if (!ran.ok) throw new Error('the limits of the log have errors');
  await writeLog(log, ran.limits);
  await writeFile(limits, TRIED);
  const startedAtMs = performance.now();
  const args = [
    'src/main.ts',
    'simulate',
    '--limits',
    limits,
    log,
    ...(svg === undefined ? [] : ['--svg', svg]),
  ];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  let peak = 0;
  const watch = setInterval(() => {
    if (child.pid !== undefined) void peakOf(child.pid).then(now => (peak = Math.max(peak, now)));
  }, 100);
  const [code] = await once(child, 'exit');
  clearInterval(watch);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const { size } = await stat(log);
  console.log(
    `${(size / 2 ** 30).toFixed(2)} GiB, ${lines} lines: ${seconds.toFixed(1)} s, ${peak.toFixed(0)} MB at most`,
  );
  process.exitCode = code === 0 && peak < MAX_RESIDENT_MB ? 0 : 1;
} finally {
  await rm(folder, { recursive: true });
}
