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

/** What came of requests at a fixed rate. */
export interface PacedAnswers {
  /** Milliseconds from the moment a request was due to the last byte of its response, which only one in a thousand exceeds. */
  readonly p999Ms: number;
  /** Requests without a 200: another status, or a connection that broke. */
  readonly lost: number;
}

/** The same until something is over, with requests by their number. Opens a connection again that breaks. */
export async function pacedUntil(
  port: number,
  requestOf: (number: number) => string,
  { perSecond, connections }: { readonly perSecond: number; readonly connections: number },
  over: Promise<unknown>,
): Promise<PacedAnswers> {
  const waits: number[] = [];
  const due: number[] = [];
  let [sent, lost, isOver] = [0, 0, false];
  let wake: (() => void)[] = [];
  const ask = async () => {
    let connection: Connection | null = null;
    while (!isOver || due.length > 0) {
      const since = due.shift();
      if (since === undefined) await new Promise<void>(done => wake.push(done));
      else {
        try {
          // A client opens another one in place of one that was closed while it rested.
          if (connection?.isOpen !== true) connection = await Connection.open(port);
          if ((await connection.ask(requestOf(sent++))) !== 200) lost++;
        } catch {
          lost++;
          connection = null;
        }
        waits.push(performance.now() - since);
      }
    }
    connection?.close();
  };
  const asking = Array.from({ length: connections }, ask);
  const start = performance.now();
  let emitted = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    const target = isOver ? emitted : ((now - start) / 1000) * perSecond;
    for (; emitted < target; emitted++) due.push(now);
    const waiting = wake;
    wake = [];
    for (const done of waiting) done();
  }, 1);
  try {
    await over;
  } finally {
    isOver = true;
    await Promise.all(asking);
    clearInterval(timer);
  }
  return { p999Ms: percentile(Float64Array.from(waits).sort(), 0.999), lost };
}
