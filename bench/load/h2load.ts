import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { grpcMessage } from './grpc.ts';
import { type LoadGenerator, type LoadPlan, type LoadResult, unexpected, urlOf } from './plan.ts';

const run = promisify(execFile);

/** nghttp2's generator: HTTP/2, over cleartext without a word before. So many streams are open at a time on each connection. */
export function h2load(streams: number): LoadGenerator {
  return {
    name: `h2load, ${streams} ${streams === 1 ? 'stream' : 'streams'} on each of`,
    run: (plan, port, seconds) => send(plan, port, ['-m', `${streams}`, '-D', `${seconds}`]),
  };
}

/** Sends so many requests and returns, with one in flight on each connection of HTTP/1.1, or some streams of HTTP/2. */
export function sendCount(plan: LoadPlan, port: number, count: number, streams: number | null) {
  return send(plan, port, ['-n', `${count}`, ...(streams === null ? ['--h1'] : ['-m', `${streams}`])]);
}

async function send(plan: LoadPlan, port: number, parameters: readonly string[]): Promise<LoadResult> {
  const headers = Object.entries(plan.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const body = plan.bodyBytes === 0 ? [] : ['-d', await messageFile(plan.bodyBytes)];
  const { stdout } = await run('h2load', [
    ...body,
    ...['-t', '1', '-c', `${plan.connections}`, ...parameters, ...headers],
    urlOf(plan, port),
  ]);
  const numbers = (pattern: RegExp): number[] => (pattern.exec(stdout) ?? []).slice(1).map(Number);
  const [requests = 0] = numbers(/, (\d+) done/);
  const failures = numbers(/(\d+) failed, (\d+) errored, (\d+) timeout/);
  const [good = 0] = numbers(/status codes: (\d+) 2xx/);
  const others = unexpected(plan, requests, requests - good);
  // A refused call of gRPC is a 200 without a message.
  const [bytes = 0] = numbers(/\((\d+)\) data/);
  const missing = Math.ceil(requests - bytes / Math.max(1, plan.bodyBytes));
  return { requests, failures: Math.max(others, missing, ...failures) };
}

/** A message of gRPC in a file, which is how h2load takes a body. */
async function messageFile(bytes: number): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'weir-bench-')), 'message');
  await writeFile(file, grpcMessage(bytes));
  return file;
}
