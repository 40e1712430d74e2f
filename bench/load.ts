import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface LoadOptions {
  readonly url: string;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly seconds: number;
}

export interface LoadResult {
  /** Requests that were answered. */
  readonly requests: number;
  /** Requests that failed or were answered with something else than 2xx. */
  readonly failures: number;
}

/** A program that sends requests as fast as they are answered. */
export interface LoadGenerator {
  readonly name: string;
  run(options: LoadOptions): Promise<LoadResult>;
}

/** wrk where it is installed, since it leaves more of the processor to those who are measured; else autocannon. */
export function findLoadGenerator(): LoadGenerator {
  return spawnSync('wrk', ['--version']).error === undefined ? wrk : autocannon;
}

const wrk: LoadGenerator = {
  name: 'wrk',
  async run({ url, headers, connections, seconds }) {
    const how = ['-t', '1', '-c', `${connections}`, '-d', `${seconds}s`, ...headerFlags(headers)];
    const { stdout } = await run('wrk', [...how, url]);
    const numbers = (pattern: RegExp): number[] => (pattern.exec(stdout) ?? []).slice(1).map(Number);
    const [requests = 0] = numbers(/(\d+) requests in/);
    const socketErrors = numbers(/Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/);
    const [otherStatus = 0] = numbers(/Non-2xx or 3xx responses: (\d+)/);
    return { requests, failures: socketErrors.reduce((sum, count) => sum + count, otherStatus) };
  },
};

const autocannon: LoadGenerator = {
  name: 'autocannon',
  async run({ url, headers, connections, seconds }) {
    const program = join(import.meta.dirname, '../node_modules/.bin/autocannon');
    const { stdout } = await run(program, [
      ...['--json', '-c', `${connections}`, '-d', `${seconds}`],
      ...headerFlags(headers),
      url,
    ]);
    const report: AutocannonReport = JSON.parse(stdout);
    return { requests: report.requests.total, failures: report.errors + report.timeouts + report.non2xx };
  },
};

/** Both programs take them in the same way. */
function headerFlags(headers: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
}

interface AutocannonReport {
  readonly requests: { readonly total: number };
  readonly errors: number;
  readonly timeouts: number;
  readonly non2xx: number;
}
