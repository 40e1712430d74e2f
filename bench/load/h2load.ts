import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type LoadGenerator, unexpected, urlOf } from './plan.ts';

const run = promisify(execFile);

/** nghttp2's generator: HTTP/2, over cleartext without a word before. So many streams are open at a time on each connection. */
export function h2load(streams: number): LoadGenerator {
  return {
    name: `h2load, ${streams} ${streams === 1 ? 'stream' : 'streams'} on each of`,
    async run(plan, port, seconds) {
      const headers = Object.entries(plan.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
      const { stdout } = await run('h2load', [
        ...['-t', '1', '-c', `${plan.connections}`, '-m', `${streams}`, '-D', `${seconds}`, ...headers],
        urlOf(plan, port),
      ]);
      const numbers = (pattern: RegExp): number[] => (pattern.exec(stdout) ?? []).slice(1).map(Number);
      const [requests = 0] = numbers(/, (\d+) done/);
      const failures = numbers(/(\d+) failed, (\d+) errored, (\d+) timeout/);
      const [good = 0] = numbers(/status codes: (\d+) 2xx/);
      const others = unexpected(plan, requests, requests - good);
      return { requests, failures: Math.max(others, ...failures), ownMicroseconds: null };
    },
  };
}
