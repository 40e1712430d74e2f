import type { Draws } from '../kernel/draws.ts';
import type { World } from '../world.ts';
import { LAST, wordOf } from './http-service.ts';

/** Writes the messages that one end sends for a call or a WebSocket. Each says whose it is and its number; the last says that it is. */
export class MessageWriter {
  readonly #id: string;
  #written = 0;

  constructor(id: string) {
    this.#id = id;
  }

  next(draws: Draws, isLast: boolean): string {
    const word = wordOf(`${this.#id} ${++this.#written}`);
    return word.repeat(draws.one([1, 1, 10, 1_000, 4_000])) + (isLast ? LAST : '');
  }
}

/** Looks whether the messages that come to one end are those of the other: all, once, and in order. */
export class MessageReader {
  readonly #id: string;
  #read = 0;
  /** Whether the last one has come. */
  isWhole = false;

  constructor(id: string) {
    this.#id = id;
  }

  get count(): number {
    return this.#read;
  }

  /** Returns what is wrong with a message; `null`: nothing is. */
  take(text: string): string | null {
    const word = wordOf(`${this.#id} ${++this.#read}`);
    const words = text.endsWith(LAST) ? text.slice(0, -LAST.length) : text;
    if (this.isWhole) return `${text.slice(0, 60)} behind the last message`;
    this.isWhole = words !== text;
    const isOwn = words !== '' && words === word.repeat(words.length / word.length);
    return isOwn ? null : `${text.slice(0, 60)} in place of ${word}`;
  }
}

/** Notes when a message of a WebSocket is sent. */
export function noteSaid({ requests, nowMs }: World, id: string, end: 'request' | 'response'): void {
  requests.find(id)?.said[end].push(nowMs);
}

/** Notes that the next message of an end has come to the other: the `count`th. */
export function noteHeard({ requests }: World, id: string, end: 'request' | 'response', count: number): void {
  const asked = requests.find(id);
  const saidMs = asked?.said[end][count - 1];
  if (asked !== undefined && saidMs !== undefined) asked.heardMs = Math.max(asked.heardMs ?? 0, saidMs);
}

/** A message as gRPC frames it: a byte that says it is not compressed, its length, itself. */
export function framed(message: string): Buffer {
  const bytes = Buffer.from(`.....${message}`, 'latin1');
  bytes.writeUInt8(0);
  bytes.writeUInt32BE(message.length, 1);
  return bytes;
}

/** Takes the whole messages off the beginning of what has come. Returns them, and what is left. */
export function unframed(text: string): { readonly messages: readonly string[]; readonly rest: string } {
  const messages: string[] = [];
  for (let at = 0; ; ) {
    const length = Buffer.from(text.slice(at, at + 5), 'latin1');
    const end = length.length < 5 ? Number.POSITIVE_INFINITY : at + 5 + length.readUInt32BE(1);
    if (end > text.length) return { messages, rest: text.slice(at) };
    messages.push(text.slice(at + 5, end));
    at = end;
  }
}
