import type { Bench, Settings } from '../bench.ts';
import { autocannon } from '../load/autocannon.ts';
import { requestText } from '../load/connection.ts';
import { type Latency, pacedLatency } from '../load/paced.ts';
import type { LoadGenerator, LoadPlan } from '../load/plan.ts';
import { isWrkInstalled, WRK_INSTALL, wrk } from '../load/wrk.ts';
import type { Job } from '../peers/job.ts';
import type { Peer } from '../peers/peer.ts';
import { COLD, type Column, CPU, MEMORY, RATE, type Row } from '../report/result.ts';
import type { Part } from '../world/part.ts';
import { type Figure, figureOf, figuresOf } from './figures.ts';
import { cpuMicroseconds, peakMebibytes } from './processes.ts';
import { warmUp } from './warm-up.ts';

/** A gateway with a job, measured next to others. */
export interface Entrant {
  readonly name: string;
  readonly peer: Peer;
  readonly job: Job;
  /** In place of the plan's. */
  readonly path?: string;
  readonly expect?: LoadPlan['expect'];
}

export interface Comparison {
  readonly how: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly notes: readonly string[];
  /** Processor time of one entrant divided by that of another, round by round; null where one was not there. */
  ratio(one: string, other: string): Figure | null;
  /** The same with the other's subtracted, microseconds. */
  difference(one: string, other: string): Figure | null;
  /** What an entrant cost in its first second, divided by what it cost in each round; null where it was not there. */
  coldRatio(name: string): Figure | null;
  /** The highest memory of an entrant, MiB. */
  peak(name: string): Figure | null;
}

export interface CompareOptions {
  /** Whether latencies at a fixed rate are measured, too. */
  readonly latency?: boolean;
  /**
   * Whether full runs have three times as many rounds, each of half the length: for differences of a few microseconds, which
   * are lost when the machine changes its mind between the two that are compared.
   */
  readonly manyRounds?: boolean;
  /** In place of autocannon and wrk, which speak HTTP/1.1. */
  readonly generator?: LoadGenerator;
}

type Times = Pick<Settings, 'rounds' | 'seconds'>;

interface Running extends Entrant {
  readonly part: Part;
  /** What a request cost in the first second, microseconds. */
  cold: number;
  readonly samples: Sample[];
  readonly latencies: { readonly p50: number; readonly p99: number }[];
}

/** What a gateway did under load. */
export interface Sample {
  /** Processor time a request, microseconds, of all its threads and processes. */
  readonly cpu: number;
  /** Requests a second. */
  readonly rate: number;
}

/** Requests a second for latencies: well below what the slowest of the peers can do. */
const PACE_PER_SECOND = 2_000;
const MAX_ADMITTED = 0.01;
const ADDED_P50: Column = { id: 'p50', label: 'added p50 µs', digits: 0 };
const ADDED_P99: Column = { id: 'p99', label: 'added p99 µs', digits: 0 };

/**
 * Measures entrants in turns, in a different order each round, so that other load on the machine affects all of them. Lists
 * entrants that are not installed in the notes.
 */
export async function compare(
  bench: Bench,
  entrants: readonly Entrant[],
  plan: LoadPlan,
  options: CompareOptions = {},
): Promise<Comparison> {
  const times = options.manyRounds === true ? manyRounds(bench.settings) : bench.settings;
  const installed = entrants.filter(({ peer }) => peer.version() !== null);
  const notes = entrants
    .filter(entrant => !installed.includes(entrant))
    .map(({ peer }) => `${peer.name} is not installed: ${peer.install}`);
  const running: Running[] = [];
  for (const entrant of installed)
    running.push({
      ...entrant,
      part: await bench.start(entrant.peer, entrant.job),
      cold: Number.NaN,
      samples: [],
      latencies: [],
    });
  const generator = options.generator ?? (isWrkInstalled() ? wrk : autocannon);
  if (generator === autocannon)
    notes.push(
      `autocannon costs more than some gateways and limits the rates: ${WRK_INSTALL} for better ones.`,
    );
  for (const entrant of running) {
    bench.progress(`warming up ${entrant.name}`);
    entrant.cold = await warmUp(
      async () => (await sample(entrant, plan, generator, 1)).cpu,
      bench.settings.mode,
    );
  }
  await measureRounds(bench, running, plan, generator, times);
  if (options.latency === true) await measureLatencies(bench, running, plan);
  const rows = running.map(rowOf);
  await bench.stopAll();
  const { rounds, seconds } = times;
  return {
    how: `${generator.name}, ${plan.connections} connections, ${rounds} rounds of ${seconds} s in turns`,
    columns: [CPU, COLD, RATE, MEMORY, ...(options.latency === true ? [ADDED_P50, ADDED_P99] : [])],
    rows,
    notes,
    ratio: (one, other) => roundByRound(running, one, other, (a, b) => a / b),
    difference: (one, other) => roundByRound(running, one, other, (a, b) => a - b),
    coldRatio: name => coldRatio(running.find(entrant => entrant.name === name)),
    peak: name => rows.find(row => row.name === name)?.figures[MEMORY.id] ?? null,
  };
}

function manyRounds({ mode, rounds, seconds }: Settings): Times {
  return mode === 'quick' ? { rounds, seconds } : { rounds: rounds * 3, seconds: Math.ceil(seconds / 2) };
}

async function measureRounds(
  bench: Bench,
  running: readonly Running[],
  plan: LoadPlan,
  generator: LoadGenerator,
  { rounds, seconds }: Times,
): Promise<void> {
  await bench.inRounds(running, rounds, async entrant => {
    const measured = await sample(entrant, plan, generator, seconds);
    if (measured.rate === 0) throw new Error(`${entrant.name}: no request was answered`);
    entrant.samples.push(measured);
  });
}

/** Sends requests to a running entrant for so many seconds. Throws if more fail than its plan expects. */
export async function sample(
  entrant: Entrant & { part: Part },
  plan: LoadPlan,
  generator: LoadGenerator,
  seconds: number,
): Promise<Sample> {
  const before = cpuMicroseconds(entrant.part.pid);
  const { requests } = await send(entrant, plan, generator, seconds);
  return { cpu: (cpuMicroseconds(entrant.part.pid) - before) / requests, rate: requests / seconds };
}

async function send(
  entrant: Entrant & { part: Part },
  plan: LoadPlan,
  generator: LoadGenerator,
  seconds: number,
) {
  const { path = plan.path, expect = plan.expect } = entrant;
  const result = await generator.run({ ...plan, path, expect }, entrant.part.port, seconds);
  // Figures of errors are worthless. A few refusals are missing: the first requests exhaust the limit, and nginx and Fastify
  // admit one more each minute.
  const maxFailures = expect === 'refusal' ? result.requests * MAX_ADMITTED : 0;
  if (result.failures > maxFailures)
    throw new Error(`${entrant.name}: ${result.failures} of ${result.requests} requests failed`);
  return result;
}

/** What each entrant adds to the latency of the bare upstream at the same rate in the same round. */
async function measureLatencies(bench: Bench, running: readonly Running[], plan: LoadPlan): Promise<void> {
  const { rounds, seconds } = bench.settings;
  const pace = { perSecond: PACE_PER_SECOND, seconds, connections: plan.connections };
  const ask = (port: number, path: string): Promise<Latency> =>
    pacedLatency(port, requestText(path, plan.headers), pace);
  const direct: Latency[] = [];
  await bench.inRounds(running, rounds, async ({ part, path, latencies }, round) => {
    direct[round] ??= await ask(bench.world.upstream.port, plan.path);
    const through = await ask(part.port, path ?? plan.path);
    latencies.push({ p50: through.p50 - direct[round].p50, p99: through.p99 - direct[round].p99 });
  });
}

function rowOf({ name, peer, job, part, cold, samples, latencies }: Running): Row {
  return {
    name,
    note: peer.leavesOut(job),
    figures: {
      ...figuresOf(samples),
      ...figuresOf([{ cold, memory: peakMebibytes(part.pid) }]),
      ...figuresOf(latencies),
    },
  };
}

function roundByRound(
  running: readonly Running[],
  one: string,
  other: string,
  join: (one: number, other: number) => number,
): Figure | null {
  const samplesOf = (name: string) => running.find(entrant => entrant.name === name)?.samples;
  const [ones, others] = [samplesOf(one), samplesOf(other)];
  if (ones === undefined || others === undefined) return null;
  return figureOf(ones.map(({ cpu }, round) => join(cpu, others[round]?.cpu ?? Number.NaN)));
}

function coldRatio(entrant: Running | undefined): Figure | null {
  return entrant === undefined ? null : figureOf(entrant.samples.map(({ cpu }) => entrant.cold / cpu));
}
