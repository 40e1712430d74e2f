import { connect, type Socket } from 'node:net';
import { percentile } from '../measure/figures.ts';

export interface OpenLoopPlan {
  readonly port: number;
  /** The bytes of a request, by its number. */
  readonly requestOf: (number: number) => string;
  readonly perSecond: number;
  /** No request is due once this resolves. */
  readonly over: Promise<unknown>;
  /** Not counted: requests that were due in the first seconds. Default: 0. */
  readonly warmUpSeconds?: number;
  /** The most connections that the clients have together; they open them as they need them. */
  readonly connections: number;
  /** A client waits so long for a response, from the moment its request was due; then it closes its connection. */
  readonly patienceMs: number;
}

/** What became of the requests, as a number per second. */
export interface OpenLoopResult {
  readonly due: number;
  /** Answered 2xx in time. */
  readonly good: number;
  /** Answered in time, but otherwise. */
  readonly refused: number;
  /** Not answered in time. */
  readonly late: number;
  /** Connections broken by the server, or refused. */
  readonly broken: number;
  /** Not sent, since all connections were taken. */
  readonly unsent: number;
  /** Refused, late and broken, as a number and not per second. */
  readonly lost: number;
  /** Milliseconds, of the good ones. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  /** The most milliseconds by which the generator itself was late. */
  readonly slip: number;
}

interface Tally {
  due: number;
  good: number;
  refused: number;
  late: number;
  broken: number;
  unsent: number;
  slip: number;
  readonly waits: number[];
}

/**
 * Sends requests at a constant rate, whether or not earlier ones were answered: users do not wait for each other. Connections are
 * opened as they are needed and used in turns, each for another user. `slip` tells whether the generator kept up: where it was late for long, the figures are its own.
 */
export async function openLoop(plan: OpenLoopPlan): Promise<OpenLoopResult> {
  const clients = new Clients(plan);
  const { warmUpSeconds = 0 } = plan;
  const startMs = performance.now();
  let endMs = Number.POSITIVE_INFINITY;
  let sent = 0;
  let lastMs = startMs;
  const over = plan.over.finally(() => {
    endMs = performance.now();
  });
  // Whoever awaits it learns of a fault.
  over.catch(() => {});
  await new Promise<void>(done => {
    const timer = setInterval(() => {
      const nowMs = performance.now();
      const counts = nowMs - startMs > warmUpSeconds * 1_000;
      if (counts) clients.tally.slip = Math.max(clients.tally.slip, nowMs - lastMs);
      lastMs = nowMs;
      const target = ((Math.min(nowMs, endMs) - startMs) / 1_000) * plan.perSecond;
      for (; sent < target; sent++) clients.send(startMs + (sent / plan.perSecond) * 1_000, counts);
      clients.giveUp(nowMs);
      if (nowMs < endMs || (clients.waiting > 0 && nowMs < endMs + plan.patienceMs)) return;
      clearInterval(timer);
      done();
    }, 1);
  });
  clients.close();
  await over;
  return resultOf(clients.tally, (endMs - startMs) / 1_000 - warmUpSeconds);
}

function resultOf({ waits, slip, ...counts }: Tally, seconds: number): OpenLoopResult {
  const { refused, late, broken } = counts;
  const sorted = Float64Array.from(waits).sort();
  const each = Object.entries(counts).map(([name, count]) => [name, count / seconds]);
  return {
    ...(Object.fromEntries(each) as Record<Exclude<keyof Tally, 'slip' | 'waits'>, number>),
    lost: refused + late + broken,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    p999: percentile(sorted, 0.999),
    slip,
  };
}

/** A connection and the request under way on it. */
interface Client {
  socket: Socket;
  /** 0: idle. */
  dueAtMs: number;
  counts: boolean;
  number: number;
}

/** The clients' connections, and the requests under way in their order. */
class Clients {
  readonly tally: Tally = { due: 0, good: 0, refused: 0, late: 0, broken: 0, unsent: 0, slip: 0, waits: [] };
  readonly #plan: OpenLoopPlan;
  readonly #idle: Client[] = [];
  #waiting: { client: Client; number: number }[] = [];
  #nextWaiting = 0;
  #numbers = 0;
  #open = 0;
  /** Requests under way. */
  waiting = 0;

  constructor(plan: OpenLoopPlan) {
    this.#plan = plan;
  }

  send(dueAtMs: number, counts: boolean): void {
    if (counts) this.tally.due++;
    const client = this.#takeIdle() ?? this.#connect();
    if (client === null) {
      if (counts) this.tally.unsent++;
      return;
    }
    client.dueAtMs = dueAtMs;
    client.counts = counts;
    client.number = ++this.#numbers;
    this.waiting++;
    this.#waiting.push({ client, number: client.number });
    client.socket.write(this.#plan.requestOf(client.number), 'latin1');
  }

  /** Ends the requests that have waited too long, with their connections. */
  giveUp(nowMs: number): void {
    for (; this.#nextWaiting < this.#waiting.length; this.#nextWaiting++) {
      const { client, number } = this.#waiting[this.#nextWaiting] as { client: Client; number: number };
      if (client.dueAtMs === 0 || client.number !== number) continue;
      if (nowMs - client.dueAtMs < this.#plan.patienceMs) break;
      this.#end(client, 'late');
      client.socket.destroy();
    }
    if (this.#nextWaiting < 10_000) return;
    this.#waiting = this.#waiting.slice(this.#nextWaiting);
    this.#nextWaiting = 0;
  }

  /** What is still waiting is late. */
  close(): void {
    this.giveUp(Number.POSITIVE_INFINITY);
    for (const client of this.#idle) client.socket.destroy();
  }

  #takeIdle(): Client | null {
    let client = this.#idle.shift();
    while (client?.socket.destroyed) client = this.#idle.shift();
    return client ?? null;
  }

  /** Null: there are enough. What is written before it is connected waits. */
  #connect(): Client | null {
    if (this.#open === this.#plan.connections) return null;
    this.#open++;
    const socket = connect({ port: this.#plan.port, host: '127.0.0.1', noDelay: true });
    const client: Client = { socket, dueAtMs: 0, counts: false, number: 0 };
    let unread = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      unread = unread === '' ? text : unread + text;
      if (!isWhole(unread)) return;
      const isGood = unread.charCodeAt(9) === 0x32;
      const stays = !/\nconnection: *close/i.test(unread);
      unread = '';
      this.#end(client, isGood ? 'good' : 'refused');
      if (stays) this.#idle.push(client);
      else socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      this.#open--;
      this.#end(client, 'broken');
    });
    return client;
  }

  #end(client: Client, how: 'good' | 'refused' | 'late' | 'broken'): void {
    if (client.dueAtMs === 0) return;
    const waitMs = performance.now() - client.dueAtMs;
    client.dueAtMs = 0;
    this.waiting--;
    if (!client.counts) return;
    const kind = waitMs > this.#plan.patienceMs ? 'late' : how;
    this.tally[kind]++;
    if (kind === 'good') this.tally.waits.push(waitMs);
  }
}

/** Whether a response with Content-Length is there to its end. */
function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  const at = text.toLowerCase().indexOf('content-length:');
  const bodyBytes = at < 0 ? 0 : Number.parseInt(text.slice(at + 15, at + 30), 10);
  return text.length >= headEnd + 4 + bodyBytes;
}
