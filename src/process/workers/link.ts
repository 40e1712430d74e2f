import type { Messages, Questions } from './messages.ts';

/** The methods of a link that both threads use. */
export type Link = Pick<PacketLink, 'post' | 'ask' | 'on' | 'answer' | 'close'>;

/** The messages exchanged over a link. */
export type Packet =
  | { readonly kind: 'message'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'question'; readonly name: string; readonly value: unknown; readonly id: number }
  | { readonly kind: 'answer'; readonly value: unknown; readonly id: number }
  | { readonly kind: 'fault'; readonly fault: PlainError; readonly id: number };

/** An error as data: a copy of an error only keeps its message. */
type PlainError = Readonly<Record<string, unknown>> & { readonly message: string };

/**
 * One side of a link between two threads. Messages arrive in order, copied as by `structuredClone`. The code that makes a link
 * passes it the peer's packets.
 */
export class PacketLink {
  readonly #carry: (packet: Packet) => void;
  readonly #heard = new Map<string, (value: unknown) => void>();
  readonly #answered = new Map<string, (asked: unknown) => Promise<unknown>>();
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  /** Why the peer has ended; `null` if it has not. */
  #closed: string | null = null;

  constructor(carry: (packet: Packet) => void) {
    this.#carry = carry;
  }

  post<Name extends keyof Messages>(name: Name, value: Messages[Name]): void {
    if (this.#closed === null) this.#carry({ kind: 'message', name, value });
  }

  /** Resolves to the peer's answer; rejects with the peer's error, or when that thread has ended. */
  ask<Name extends keyof Questions>(
    name: Name,
    value: Questions[Name]['asked'],
  ): Promise<Questions[Name]['answer']> {
    const waiting = Promise.withResolvers<unknown>();
    const id = ++this.#lastId;
    this.#waiting.set(id, waiting);
    if (this.#closed !== null) this.close(this.#closed);
    else this.#carry({ kind: 'question', name, value, id });
    return waiting.promise as Promise<Questions[Name]['answer']>;
  }

  on<Name extends keyof Messages>(name: Name, hear: (value: Messages[Name]) => void): void {
    this.#heard.set(name, hear as (value: unknown) => void);
  }

  answer<Name extends keyof Questions>(
    name: Name,
    answer: (asked: Questions[Name]['asked']) => Promise<Questions[Name]['answer']>,
  ): void {
    this.#answered.set(name, answer as (asked: unknown) => Promise<unknown>);
  }

  /** Called when the peer has ended: unanswered questions are rejected with this reason, and further messages are dropped. */
  close(why: string): void {
    this.#closed = why;
    for (const { reject } of this.#waiting.values()) reject(goneFor(why));
    this.#waiting.clear();
  }

  take(packet: Packet): void {
    if (packet.kind === 'message') this.#heard.get(packet.name)?.(packet.value);
    else if (packet.kind === 'question') void this.#answer(packet);
    else this.#settle(packet);
  }

  async #answer({ name, value, id }: Extract<Packet, { kind: 'question' }>): Promise<void> {
    let answer: Packet;
    try {
      const known = this.#answered.get(name);
      if (known === undefined) throw new Error(`nobody answers "${name}"`);
      answer = { kind: 'answer', value: await known(value), id };
    } catch (error) {
      answer = { kind: 'fault', fault: plain(error), id };
    }
    if (this.#closed === null) this.#carry(answer);
  }

  #settle(packet: Extract<Packet, { kind: 'answer' | 'fault' }>): void {
    const waiting = this.#waiting.get(packet.id);
    this.#waiting.delete(packet.id);
    if (packet.kind === 'answer') waiting?.resolve(packet.value);
    else waiting?.reject(Object.assign(new Error(packet.fault.message), packet.fault));
  }
}

/** The stack of this side would not help to find the fault of the other. */
function goneFor(why: string): Error {
  return Object.assign(new Error(why), { stack: why });
}

function plain(error: unknown): PlainError {
  if (!(error instanceof Error)) return { message: String(error) };
  const told = Object.entries(error).filter(([, value]) => typeof value !== 'object');
  return { ...Object.fromEntries(told), message: error.message, stack: error.stack };
}
