import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { buildGo } from '../go.ts';

const LENGTH_BYTES = 4;

/** A field, and whether it is never indexed. */
export type Field = readonly [name: string, value: string, sensitive: boolean];

/** HPACK of Go, golang.org/x/net/http2/hpack, as a process: see hpack-of-go/main.go. */
export class HpackOfGo {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting: ((answer: Buffer) => void)[] = [];
  #unsent: Buffer[] = [];
  #rest: Buffer = Buffer.alloc(0);

  /** Builds it, which takes some seconds the first time. Call `end` when done. */
  constructor() {
    const program = buildGo(join(import.meta.dirname, 'hpack-of-go'));
    this.#process = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#process.stdout.on('data', bytes => this.#take(bytes));
  }

  /** Begins a connection: new tables. What is asked before the next one begins must be asked in one go. */
  begin(): void {
    this.#send('N', Buffer.alloc(0));
  }

  limitTable(bytes: number): void {
    this.#send('T', uint32(bytes));
  }

  encode(fields: readonly Field[]): Promise<Buffer> {
    const parts = fields.flatMap(([name, value, sensitive]) => [
      ...[text(name), text(value), Buffer.from([sensitive ? 1 : 0])],
    ]);
    return this.#ask('E', Buffer.concat(parts));
  }

  /** Resolves with the fields, or with the reason why the block is refused. */
  async decode(block: Buffer): Promise<Field[] | string> {
    const answer = await this.#ask('D', block);
    return answer[0] === 1 ? fieldsIn(answer.subarray(1)) : answer.toString('utf8', 1);
  }

  end(): void {
    this.#process.stdin.end();
  }

  #ask(operation: string, payload: Buffer): Promise<Buffer> {
    this.#send(operation, payload);
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  #send(operation: string, payload: Buffer): void {
    if (this.#unsent.length === 0) queueMicrotask(() => this.#flush());
    this.#unsent.push(uint32(payload.length + 1), Buffer.from(operation), payload);
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
      this.#waiting.shift()?.(all.subarray(at + LENGTH_BYTES, end));
      at = end;
    }
    this.#rest = all.subarray(at);
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(LENGTH_BYTES);
  bytes.writeUInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([uint32(value.length), Buffer.from(value, 'latin1')]);
}

function fieldsIn(bytes: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const read = () => {
    const from = at + LENGTH_BYTES;
    at = from + bytes.readUInt32BE(at);
    return bytes.toString('latin1', from, at);
  };
  while (at < bytes.length) fields.push([read(), read(), bytes[at++] === 1]);
  return fields;
}
