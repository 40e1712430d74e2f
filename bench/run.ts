// Measures Weir next to what a user would pick instead: see README.md.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { Bench, type World } from './bench.ts';
import { readFlags } from './flags.ts';
import { isWrkInstalled, WRK_INSTALL } from './load/wrk.ts';
import { PEERS } from './peers/index.ts';
import { versionOf } from './peers/peer.ts';
import { amended } from './report/amended.ts';
import { RESULTS, readResults, writeReadme, writeResults } from './report/files.ts';
import type { Machine, Report, Result } from './report/result.ts';
import { textOf } from './report/text.ts';
import { SCENARIOS } from './scenarios/index.ts';
import type { Findings, Scenario } from './scenarios/scenario.ts';
import { makeCertificate } from './world/certificate.ts';
import { startIssuer } from './world/issuer.ts';
import { freePort, type Part, startNode } from './world/part.ts';
import { startRedis } from './world/redis.ts';

const { settings, scenarios, partial, json, publish } = readFlags(process.argv.slice(2));

const report = await runAll();
if (json) console.log(JSON.stringify(report, null, 2));
// A partial or quick run replaces the published results only on request.
if (publish) {
  const whole = partial
    ? amended(
        await readResults(RESULTS),
        report,
        SCENARIOS.map(({ id }) => id),
      )
    : report;
  await writeResults(whole, RESULTS);
  await writeReadme(whole);
  console.error(`# written to ${RESULTS} and bench/README.md`);
}

async function runAll(): Promise<Report> {
  const machine = machineNow();
  const directory = await mkdtemp(join(tmpdir(), 'weir-bench-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const issuer = await startIssuer();
  const certificate = await makeCertificate(directory);
  const redis = await startRedis();
  const upstream = await startUpstream('upstream');
  const grpcUpstream = await startUpstream('grpc-upstream');
  const webSocketUpstream = await startUpstream('websocket-upstream');
  const results: Result[] = [];
  try {
    const world: World = {
      upstream,
      grpcUpstream,
      webSocketUpstream,
      issuer,
      certificate,
      redisUrl: redis?.url ?? null,
      directory,
    };
    const bench = new Bench(settings, world);
    for (const scenario of scenarios) results.push(await runOne(bench, scenario));
  } finally {
    issuer.close();
    await Promise.all([upstream.stop(), grpcUpstream.stop(), webSocketUpstream.stop(), redis?.stop()]);
  }
  const { mode, rounds, seconds } = settings;
  return { date: new Date().toISOString(), mode, rounds, seconds, machine, versions: versionsNow(), results };
}

/** Starts a program of `servers/`. */
async function startUpstream(name: string): Promise<Part> {
  return startNode(join(import.meta.dirname, `servers/${name}.ts`), await freePort(), {});
}

/** Notes a failed scenario in the report and continues with the others. */
async function runOne(bench: Bench, scenario: Scenario): Promise<Result> {
  console.error(`# ${scenarios.indexOf(scenario) + 1} of ${scenarios.length}: ${scenario.title}`);
  const { id, title, meaning } = scenario;
  const date = new Date().toISOString();
  const findings = await scenario.run(bench).catch(async (error: unknown): Promise<Findings> => {
    await bench.stopAll();
    process.exitCode = 1;
    const notes = [`It failed: ${error instanceof Error ? error.message : error}`];
    return { how: 'no figures', columns: [], rows: [], notes };
  });
  const loadAverages = bench.takeLoadAverages();
  const result = { id, date, title, meaning, aims: [], notes: [], ...findings, loadAverages };
  if (!json) console.log(`\n${textOf(result)}\n`);
  return result;
}

function machineNow(): Machine {
  const all = cpus();
  return {
    processor: all[0]?.model ?? 'unknown',
    cores: all.length,
    memoryGib: Math.round(totalmem() / 1024 ** 3),
    system: `${type()} ${release()}`,
    loadAverage: loadavg()[0] ?? Number.NaN,
  };
}

function versionsNow(): Record<string, string | null> {
  return {
    Node: process.versions.node,
    ...Object.fromEntries(PEERS.map(peer => [peer.name, peer.version()])),
    Redis: versionOf('redis-server', '--version'),
    wrk: isWrkInstalled() ? versionOf('wrk', '--version') : `not installed: ${WRK_INSTALL}`,
  };
}
