// A thread of its own with clients who read: each sends a request every 50 ms over one connection, and says what came of it when it is
// asked. So neither its lateness nor its answers depend on what else this process does.
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Connection, requestText } from '../../bench/load/connection.ts';

/** What honest clients met since they were last asked. */
export interface HonestReport {
  /** How often each status came; 0: no answer. */
  readonly statuses: Readonly<Record<number, number>>;
  /** From a request to the end of its answer, milliseconds. */
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly worstMs: number;
}

const EVERY_MS = 50;
const CLIENTS = 4;

let statuses: Record<number, number> = {};
let tookMs: number[] = [];

parentPort?.on('message', () => {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
  const report: HonestReport = { statuses, medianMs: at(0.5), p99Ms: at(0.99), worstMs: at(1) };
  statuses = {};
  tookMs = [];
  parentPort?.postMessage(report);
});
for (let client = 0; client < CLIENTS; client++) void serveItself(client);

async function serveItself(client: number): Promise<void> {
  const request = requestText('/honest/small', { 'X-Forwarded-For': `203.0.113.${client + 1}` });
  let connection = await Connection.open(workerData.port);
  for (;;) {
    const beganMs = performance.now();
    const status = await connection.ask(request).catch(() => 0);
    tookMs.push(performance.now() - beganMs);
    statuses[status] = (statuses[status] ?? 0) + 1;
    await sleep(EVERY_MS);
    if (status !== 0) continue;
    connection.close();
    connection = await reopened();
  }
}

async function reopened(): Promise<Connection> {
  for (;;) {
    const opened = await Connection.open(workerData.port).catch(() => null);
    if (opened !== null) return opened;
    statuses[0] = (statuses[0] ?? 0) + 1;
    await sleep(EVERY_MS);
  }
}
