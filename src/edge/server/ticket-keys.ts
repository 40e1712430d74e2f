import type { RandomBytes, TableMemory, Words } from '../../core/index.ts';
import { TICKET_KEY_BYTES } from '../../wire/tls/index.ts';

/** How long keys are used: leaked ones reveal the TLS 1.2 sessions that were resumed with them, so they change daily. */
const LIFE_MS = 24 * 60 * 60 * 1_000;

// Offsets into the memory, in floats, words and bytes.
const MADE_AT = 0;
const VERSION = 2;
const KEYS = 16;
const WORDS = (KEYS + TICKET_KEY_BYTES) / 4;

/**
 * The keys that seal session tickets. Node keeps one set per listener, so a client with a ticket of the previous set needs a full
 * handshake. Threads that share memory share the keys, so that a client can resume at any of them. The first thread that finds them
 * too old makes new ones.
 */
export class TicketKeys {
  /** 48 secret bytes. */
  current = Buffer.alloc(0);
  readonly #memory: TableMemory;
  readonly #randomBytes: RandomBytes;
  readonly #words: Words;
  #version = 0;

  constructor(memory: TableMemory, randomBytes: RandomBytes, nowMs: number) {
    this.#memory = memory;
    this.#randomBytes = randomBytes;
    this.#words = memory.words('ticket keys', WORDS);
    this.renew(nowMs);
  }

  /** Makes new keys if these are too old. Returns whether the keys have changed. */
  renew(nowMs: number): boolean {
    const { ints } = this.#words;
    if (ints[VERSION] === this.#version && !this.#areOld(nowMs)) return false;
    this.#memory.whole(() => {
      if (this.#areOld(nowMs)) this.#make(nowMs);
      this.#version = ints[VERSION] ?? 0;
      this.current = Buffer.from(new Uint8Array(ints.buffer, KEYS, TICKET_KEY_BYTES));
    });
    return true;
  }

  #areOld(nowMs: number): boolean {
    const { ints, floats } = this.#words;
    return ints[VERSION] === 0 || nowMs - (floats[MADE_AT] ?? 0) >= LIFE_MS;
  }

  #make(nowMs: number): void {
    const keys = new Int32Array(new Uint8Array(this.#randomBytes(TICKET_KEY_BYTES)).buffer);
    for (const [index, word] of keys.entries()) this.#words.set(KEYS / 4 + index, word);
    this.#words.setFloat(MADE_AT, nowMs);
    this.#words.add(VERSION, 1);
  }
}
