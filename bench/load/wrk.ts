import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type LoadGenerator, type LoadPlan, unexpected, urlOf } from './plan.ts';

const run = promisify(execFile);
const BODY_SCRIPT = join(import.meta.dirname, 'wrk-body.lua');

const PIPELINE_SCRIPT = join(import.meta.dirname, 'wrk-pipeline.lua');

export const WRK_INSTALL = 'apt-get install wrk';

export function isWrkInstalled(): boolean {
  return spawnSync('wrk', ['--version']).error === undefined;
}

export const wrk: LoadGenerator = {
  name: 'wrk',
  async run(plan, port, seconds) {
    const headers = headersOf(plan);
    const { stdout } = await run('wrk', [
      ...['-t', '1', '-c', `${plan.connections}`, '-d', `${seconds}s`, '--timeout', '30s', ...headers],
      ...(plan.bodyBytes === 0 ? [] : ['-s', BODY_SCRIPT]),
      urlOf(plan, port),
      ...(plan.bodyBytes === 0 ? [] : ['--', plan.method, `${plan.bodyBytes}`]),
    ]);
    const numbers = (pattern: RegExp): number[] => (pattern.exec(stdout) ?? []).slice(1).map(Number);
    const [requests = 0] = numbers(/(\d+) requests in/);
    const errors = numbers(/Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/);
    const [other = 0] = numbers(/Non-2xx or 3xx responses: (\d+)/);
    const failures = errors.reduce((sum, count) => sum + count, unexpected(plan, requests, other));
    return { requests, failures };
  },
};

/** Keeps so many requests in flight on one connection, for so many seconds. */
export async function pipelined(
  plan: LoadPlan,
  port: number,
  seconds: number,
  requests: number,
): Promise<void> {
  await run('wrk', [
    ...['-t', '1', '-c', '1', '-d', `${seconds}s`, ...headersOf(plan), '-s', PIPELINE_SCRIPT],
    ...[urlOf(plan, port), '--', `${requests}`],
  ]);
}

function headersOf({ headers }: LoadPlan): string[] {
  return Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
}
