import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { buildGo } from '../go.ts';
import { uint32 } from '../http2-frames.ts';

const LENGTH_BYTES = 4;

interface Waiting {
  readonly resolve: (answer: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** Parsers of Go as a process that is asked by messages: see readers-of-go/main.go. */
export class GoProcess {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting: Waiting[] = [];
  #unsent: Buffer[] = [];
  #rest: Buffer = Buffer.alloc(0);

  /** Builds it, which takes some seconds the first time. Call `end` when done. */
  constructor() {
    const program = buildGo(join(import.meta.dirname, 'readers-of-go'));
    // RFC 8441 is off in Go unless asked for.
    const env = { ...process.env, GODEBUG: 'http2xconnect=1' };
    this.#process = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'], env });
    this.#process.stdout.on('data', bytes => this.#take(bytes));
    this.#process.on('close', code => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error(`${program} ended with ${code}`));
    });
  }

  /** Resolves with the answer. Messages are answered in their order. */
  ask(operation: string, payload: Buffer): Promise<Buffer> {
    this.send(operation, payload);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** For a message that has no answer. */
  send(operation: string, payload: Buffer): void {
    if (this.#unsent.length === 0) queueMicrotask(() => this.#flush());
    this.#unsent.push(uint32(payload.length + 1), Buffer.from(operation), payload);
  }

  end(): void {
    this.#process.stdin.end();
  }

  #flush(): void {
    this.#process.stdin.write(Buffer.concat(this.#unsent));
    this.#unsent = [];
  }

  #take(bytes: Buffer): void {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    while (all.length - at >= LENGTH_BYTES) {
      const end = at + LENGTH_BYTES + all.readUInt32BE(at);
      if (end > all.length) break;
      this.#waiting.shift()?.resolve(all.subarray(at + LENGTH_BYTES, end));
      at = end;
    }
    this.#rest = all.subarray(at);
  }
}
