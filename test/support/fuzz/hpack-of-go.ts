import { uint32 } from '../http2-frames.ts';
import { GoProcess } from './go-process.ts';

const LENGTH_BYTES = 4;

/** A field, and whether it is never indexed. */
export type Field = readonly [name: string, value: string, sensitive: boolean];

/** HPACK of Go, golang.org/x/net/http2/hpack, as a process. */
export class HpackOfGo {
  readonly #process = new GoProcess();

  /** Begins a connection: new tables. What is asked before the next one begins must be asked in one go. */
  begin(): void {
    this.#process.send('N', Buffer.alloc(0));
  }

  limitTable(bytes: number): void {
    this.#process.send('T', uint32(bytes));
  }

  encode(fields: readonly Field[]): Promise<Buffer> {
    const parts = fields.flatMap(([name, value, sensitive]) => [
      ...[text(name), text(value), Buffer.from([sensitive ? 1 : 0])],
    ]);
    return this.#process.ask('E', Buffer.concat(parts));
  }

  /** Resolves with the fields, or with the reason why the block is refused. */
  async decode(block: Buffer): Promise<Field[] | string> {
    const answer = await this.#process.ask('D', block);
    return answer[0] === 1 ? fieldsIn(answer.subarray(1)) : answer.toString('utf8', 1);
  }

  end(): void {
    this.#process.end();
  }
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
