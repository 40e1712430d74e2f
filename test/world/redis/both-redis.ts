import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureInstalled } from '../../support/installed.ts';
import { type RedisServer, startRedisWith } from '../../support/redis.ts';
import { RedisModel, type Session } from './redis-model.ts';

/** What both said, or only one of them. */
export interface Answers {
  readonly real: string;
  readonly model: string;
}

/** A connection to each. */
export class BothConnections {
  readonly #socket: Socket;
  readonly #session: Session;
  #real = '';
  #model = '';
  #wake: () => void = () => {};

  constructor(socket: Socket, model: RedisModel) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', text => {
      this.#real += text;
      this.#wake();
    });
    this.#session = model.accept({
      send: bytes => {
        this.#model += bytes.toString('latin1');
      },
      close: () => {},
    });
  }

  /** Sends both the same, and returns what has come when the real one has sent as many replies and messages as the model. */
  async ask(words: readonly (string | number)[]): Promise<Answers> {
    const bytes = bytesOfCommand(words);
    this.#session.receive(bytes);
    this.#socket.write(bytes);
    while (countReplies(this.#real) < countReplies(this.#model)) {
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
    const answers = { real: this.#real, model: this.#model };
    this.#real = '';
    this.#model = '';
    return answers;
  }
}

/** A command as clients send it. Text is Latin-1. */
export function bytesOfCommand(words: readonly (string | number)[]): Buffer {
  const text = words.map(word => `$${`${word}`.length}\r\n${word}\r\n`).join('');
  return Buffer.from(`*${words.length}\r\n${text}`, 'latin1');
}

function countReplies(text: string): number {
  let count = -1;
  for (let at: number | null = 0; at !== null; at = endOf(text, at)) count++;
  return count;
}

/** Where the reply that begins here ends; `null`: it is not whole. */
function endOf(text: string, from: number): number | null {
  const line = text.indexOf('\r\n', from);
  if (line < 0) return null;
  const size = Number(text.slice(from + 1, line));
  const sign = text[from] ?? '';
  let end: number | null = line + 2;
  if (sign === '$' && size >= 0) end += size + 2;
  const items = '*>'.includes(sign) ? size : sign === '%' ? 2 * size : 0;
  for (let i = 0; i < items && end !== null; i++) end = endOf(text, end);
  return end !== null && end <= text.length ? end : null;
}

/** A real Redis and the model, on one clock that a test sets. */
export class BothRedis {
  readonly server: RedisServer;
  readonly model: RedisModel;
  readonly #folder: string;
  readonly #clock: number;
  #nowUs: number;

  constructor(server: RedisServer, folder: string, clock: number, nowUs: number) {
    this.server = server;
    this.#folder = folder;
    this.#clock = clock;
    this.#nowUs = nowUs;
    this.model = new RedisModel(() => this.#nowUs);
  }

  get nowUs(): number {
    return this.#nowUs;
  }

  set nowUs(us: number) {
    this.#nowUs = us;
    writeSync(this.#clock, bytesOf(us), 0, 8, 0);
  }

  async connect(): Promise<BothConnections> {
    const socket = connect(this.server.port, '127.0.0.1').setNoDelay();
    await once(socket, 'connect');
    return new BothConnections(socket, this.model);
  }

  async close(): Promise<void> {
    await this.server.close();
    closeSync(this.#clock);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function bytesOf(us: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(us));
  return bytes;
}

/** Starts both at this moment. The real one looks at a file for the time, by a library that is compiled for it. */
export async function startBoth(nowUs: number): Promise<BothRedis> {
  ensureInstalled({ command: 'cc', versionArgs: ['--version'], packages: ['gcc', 'libc6-dev'] });
  const folder = await mkdtemp(join(tmpdir(), 'weir-clock-'));
  const [library, clock] = [join(folder, 'told-clock.so'), join(folder, 'clock')];
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, join(import.meta.dirname, 'told-clock.c')]);
  writeFileSync(clock, bytesOf(nowUs));
  const env = { ...process.env, LD_PRELOAD: library, TOLD_CLOCK: clock };
  const server = await startRedisWith(env, '--enable-debug-command', 'yes');
  await server.client.call('acl', 'setuser', 'default', '~*', '&*', '+@all');
  // Keys end when they are looked at, and not a little later.
  await server.client.call('debug', 'set-active-expire', '0');
  return new BothRedis(server, folder, openSync(clock, 'r+'), nowUs);
}
