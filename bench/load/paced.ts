import { percentile } from '../measure/figures.ts';
import { Connection } from './connection.ts';

export interface Latency {
  /** Microseconds from the moment a request was due to the last byte of its response. */
  readonly p50: number;
  readonly p99: number;
}

/**
 * Sends so many requests a second, whether or not the ones before were answered: a request that finds no idle connection
 * waits, and its wait counts. (autocannon's own rate sends the requests of a whole second at once, which measures a burst.)
 */
export async function pacedLatency(
  port: number,
  request: string,
  options: { readonly perSecond: number; readonly seconds: number; readonly connections: number },
): Promise<Latency> {
  const idle = await Promise.all(Array.from({ length: options.connections }, () => Connection.open(port)));
  const everyone = [...idle];
  const due: number[] = [];
  const waits: number[] = [];
  const send = async (connection: Connection, since: number): Promise<void> => {
    for (let next: number | undefined = since; next !== undefined; next = due.shift()) {
      const status = await connection.ask(request);
      if (status !== 200) throw new Error(`answered ${status} at a fixed rate`);
      waits.push((performance.now() - next) * 1000);
    }
    idle.push(connection);
  };
  const sending: Promise<void>[] = [];
  await everyTick(options, now => {
    const connection = idle.pop();
    if (connection === undefined) due.push(now);
    else sending.push(send(connection, now));
  });
  await Promise.all(sending);
  for (const connection of everyone) connection.close();
  const sorted = Float64Array.from(waits).sort();
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
}

/** Calls `emit` at the given rate, as evenly as timers of a millisecond allow. */
function everyTick(
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
  emit: (now: number) => void,
): Promise<void> {
  const start = performance.now();
  let sent = 0;
  return new Promise(done => {
    const timer = setInterval(() => {
      const now = performance.now();
      const target = Math.min(((now - start) / 1000) * perSecond, seconds * perSecond);
      for (; sent < target; sent++) emit(now);
      if (sent >= seconds * perSecond) {
        clearInterval(timer);
        done();
      }
    }, 1);
  });
}
