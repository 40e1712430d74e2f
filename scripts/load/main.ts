// npm run load: see docs/load-testing.md. Imports nothing but autocannon, so that the Job of the chart's examples can run this
// folder by itself.
import { writeFileSync } from 'node:fs';
import { chartOf } from './chart.ts';
import { HELP, type LoadOptions, readOptions, UsageError } from './options.ts';
import { describe, progressLine } from './report.ts';
import { type LoadResult, runLoad } from './run.ts';

/** Where nobody watches, such as in the log of a Job, a line each so many seconds is enough. */
const QUIET_SECONDS = 10;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    const options = readOptions(args);
    if (options === null) {
      process.stdout.write(HELP);
      return 0;
    }
    const result = await runLoad(options, (second, statuses) =>
      showProgress(second, options.seconds, statuses),
    );
    if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
    writeResult(result, options);
    return verdict(result);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`load: ${error.message}\nRun "npm run load -- --help" for usage.\n`);
    return 64;
  }
}

function showProgress(second: number, total: number, statuses: Readonly<Record<string, number>>): void {
  const line = progressLine(second, total, statuses);
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${line}`);
  else if (second % QUIET_SECONDS === 0) process.stderr.write(`${line}\n`);
}

function writeResult(result: LoadResult, { json, svg }: LoadOptions): void {
  const text = `${JSON.stringify(result, null, 2)}\n`;
  process.stdout.write(json === '-' ? text : describe(result));
  if (json !== null && json !== '-') writeFileSync(json, text);
  if (svg !== null) writeFileSync(svg, chartOf(result));
}

function verdict({ ok, held, statuses, errors, timeouts }: LoadResult): number {
  if (ok > 0) return held ? 0 : 1;
  const why =
    statuses['401'] !== undefined
      ? 'The tokens were refused: have they expired?'
      : errors + timeouts > 0
        ? 'The gateway was not reached: is the URL right, and is it running?'
        : 'Every request was refused.';
  process.stderr.write(`load: no response was 2xx. ${why}\n`);
  return 1;
}
