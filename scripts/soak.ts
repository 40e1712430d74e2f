// npm run soak: see CONTRIBUTING.md.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { curveOf } from './soak/curve.ts';
import { judge, tableOf } from './soak/judge.ts';
import { HELP, readOptions, type SoakOptions } from './soak/options.ts';
import type { Outcomes } from './soak/run.ts';
import { readSamples, type Sample } from './soak/samples.ts';
import { runScript } from './usage.ts';

await runScript('soak', () => main(process.argv.slice(2)));
// What a client of a library keeps open must not keep a finished run.
process.exit();

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options !== null) return options.runs ? await runAndJudge(options) : draw(options);
  process.stdout.write(HELP);
  return 0;
}

async function runAndJudge(options: SoakOptions): Promise<number> {
  const { folder, seed } = options;
  // What a run needs takes long to load: those who draw, or err, need not wait for it.
  const { soak } = await import('./soak/run.ts');
  const { CLIENTS } = await import('./soak/clients.ts');
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  process.stdout.write(`seed ${seed}, commit ${commit}, ${folder}\n`);
  writeFileSync(join(folder, 'options.json'), JSON.stringify({ ...options, commit }));
  const outcomes = await soak(options, showProgress(options));
  const unserved = Object.keys(CLIENTS).filter(kind => !wasServed(outcomes[kind] ?? {}));
  for (const kind of unserved) process.stdout.write(`never served: ${kind}\n`);
  return Math.max(draw(options), unserved.length > 0 ? 1 : 0);
}

function wasServed(outcomes: Outcomes[string]): boolean {
  return Object.keys(outcomes).some(outcome => /^(2..|OK|closed)$/.test(outcome));
}

function draw({ folder, svg }: SoakOptions): number {
  const samples = readSamples(folder);
  const { workers, commit } = JSON.parse(readFileSync(join(folder, 'options.json'), 'utf8'));
  const seconds = samples.at(-1)?.at ?? 0;
  const time = seconds < 600 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} minutes`;
  const threads = workers === 1 ? '' : `, ${workers} workers`;
  writeFileSync(svg, curveOf(samples, `A gateway under clients, abuse and faults for ${time}${threads}`));
  const verdicts = judge(samples, workers === 1 ? 1 : workers + 1);
  writeFileSync(join(folder, 'result.json'), JSON.stringify({ seconds, workers, commit, verdicts }, null, 2));
  process.stdout.write(`${tableOf(verdicts)}\n`);
  const grew = verdicts.filter(({ returned }) => !returned).map(({ name }) => name);
  process.stdout.write(
    grew.length === 0 ? 'Everything returned.\n' : `Did not return: ${grew.join(', ')}.\n`,
  );
  return grew.length === 0 ? 0 : 1;
}

function showProgress({ seconds }: SoakOptions) {
  return ({ at, cycle, resident, descriptors, rest }: Sample, doing: string): void => {
    const memory = `${Math.round(resident / 2 ** 20)} MiB`;
    const heap = rest === null ? '' : `, heap ${Math.round(rest.heapUsed / 2 ** 20)} MiB`;
    const line = `${Math.round(at)} of ${seconds} s, cycle ${cycle}, ${doing}: ${memory}${heap}, ${descriptors} descriptors`;
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${line}`);
    else if (rest !== null) process.stderr.write(`${line}\n`);
  };
}
