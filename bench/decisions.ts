// Processor time and delay of one decision about three limits, in memory and in a Redis on this machine, without a gateway: see README.md.
import { spawn } from 'node:child_process';
import { systemClock, systemRandom } from '../src/core/index.ts';
import { defineLimit, type LimitStore, MemoryStore } from '../src/limits/index.ts';
import { RedisConnection, RedisStore } from '../src/redis/index.ts';
import { freePort } from './part.ts';

const DECISIONS = 200_000;
const quota = { units: 65_535, periodMs: 60_000 };
const make = (role: 'global' | 'caller' | 'resource') =>
  defineLimit({ role, bucket: 'b', main: 'm', algorithm: 'window', quota });
const set = { global: make('global'), caller: make('caller'), resource: make('resource') };

const port = await freePort();
const server = spawn('redis-server', ['--port', `${port}`, '--save', ''], { stdio: 'ignore' });
const connection = new RedisConnection(
  {
    servers: { kind: 'standalone', address: { host: '127.0.0.1', port }, database: 0 },
    credentials: { user: null, password: null },
    tls: null,
    prefix: 'bench:',
    budgetMs: 5_000,
  },
  { clock: systemClock },
);
const ready = new Promise<void>(resolve => connection.onState(up => up && resolve()));
connection.start();
await ready;
const memory = new MemoryStore({ clock: systemClock, random: systemRandom });
const redis = new RedisStore({
  connection,
  health: {
    isShared: true,
    failed(error) {
      throw error;
    },
  },
  local: memory,
  replicas: () => 1,
  policy: 'local',
  keysPerCaller: 4_096,
  clock: systemClock,
  listener: { decidedBy() {}, failed() {}, lost() {}, found() {}, beat() {} },
});
for (const [name, store] of [['memory', memory] as const, ['redis', redis] as const])
  for (const width of [1, 16, 64, 256]) await measure(name, store, width);
connection.stop();
server.kill();

/** So many decisions are always under way. */
async function measure(name: string, store: LimitStore, width: number): Promise<void> {
  const delays: number[] = [];
  let left = DECISIONS / 10;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const at = performance.now();
      const caller = `user:${left % 5_000}`;
      const decision = store.decide(set, caller, `c${left % 1_000}`);
      if (decision instanceof Promise) await decision;
      delays.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  left = name === 'redis' && width === 1 ? DECISIONS / 10 : DECISIONS;
  delays.length = 0;
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: width }, worker));
  const { user, system } = process.cpuUsage(before);
  delays.sort((a, b) => a - b);
  const part = (share: number) => ((delays[Math.floor(delays.length * share)] ?? 0) * 1_000).toFixed(0);
  const cpu = ((user + system) / delays.length).toFixed(1);
  console.log(
    `${name}, ${width} at a time: ${cpu} us of processor time; p50 ${part(0.5)} us, p99 ${part(0.99)} us`,
  );
}
