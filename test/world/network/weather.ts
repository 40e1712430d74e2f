import type { Draws } from '../kernel/draws.ts';

/** How a link between two hosts is for a while. Hosts are named; `any` stands for all. */
export interface Spell {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly between: readonly [string, string];
  readonly kind: SpellKind;
}

type SpellKind =
  /** Each piece takes longer, by up to so many milliseconds. */
  | { readonly name: 'slow'; readonly ms: number }
  /** Writes are cut into pieces of at most so many bytes, which arrive one by one. */
  | { readonly name: 'cut'; readonly bytes: number }
  /** What is written within so many milliseconds arrives together. */
  | { readonly name: 'joined'; readonly ms: number }
  /** Nothing passes; the systems send it again afterwards. */
  | { readonly name: 'parted' }
  /** New connections are refused. */
  | { readonly name: 'refused' }
  /** Connections that were there when it began lead nowhere. */
  | { readonly name: 'lost' };

/** The least that anything takes from one host to another. */
const MIN_MS = 0.05;
/** How much longer it takes on a good day, at most. */
const USUAL_MS = 0.4;
/** Most pieces that one write is cut into: further bytes arrive together. */
const MAX_PIECES = 300;

/** A piece of a write, and when it arrives. */
export interface Piece {
  readonly bytes: Buffer;
  readonly atMs: number;
}

/** Knows how all links are at each moment. */
export class Weather {
  readonly #spells: Spell[] = [];

  add(spell: Spell): void {
    this.#spells.push(spell);
  }

  /** When something arrives that is sent now and behind what arrives at `afterMs`. */
  arrival(nowMs: number, from: string, to: string, draws: Draws, afterMs = 0): number {
    let takesMs = MIN_MS + draws.random() * USUAL_MS;
    let atMs = nowMs;
    for (const { kind, untilMs } of this.#over(nowMs, from, to)) {
      if (kind.name === 'slow') takesMs += draws.random() * kind.ms;
      if (kind.name === 'joined') atMs = Math.max(atMs, Math.ceil(nowMs / kind.ms) * kind.ms);
      // The sender tries again at moments of its own.
      if (kind.name === 'parted') atMs = Math.max(atMs, untilMs + draws.random() * 200);
    }
    return Math.max(afterMs, atMs + takesMs);
  }

  /** Cuts a write into the pieces that arrive. */
  pieces(bytes: Buffer, nowMs: number, from: string, to: string, draws: Draws, afterMs: number): Piece[] {
    let most = bytes.length;
    for (const { kind } of this.#over(nowMs, from, to)) {
      if (kind.name === 'cut') most = Math.min(most, draws.whole(1, kind.bytes));
    }
    const pieces: Piece[] = [];
    let lastMs = this.arrival(nowMs, from, to, draws, afterMs);
    for (let at = 0; at < bytes.length; ) {
      const end = pieces.length < MAX_PIECES ? Math.min(bytes.length, at + most) : bytes.length;
      pieces.push({ bytes: bytes.subarray(at, end), atMs: lastMs });
      lastMs += 0.01 + draws.random() * USUAL_MS;
      at = end;
    }
    return pieces;
  }

  refuses(nowMs: number, from: string, to: string): boolean {
    return this.#over(nowMs, from, to).some(({ kind }) => kind.name === 'refused');
  }

  /** Whether all was well around a host between these moments. */
  wasCalm(host: string, sinceMs: number, nowMs: number): boolean {
    const isElse = ({ fromMs, untilMs, between: [one, other] }: Spell) =>
      fromMs > nowMs || untilMs < sinceMs || !(meets(one, host) || meets(other, host));
    return this.#spells.every(isElse);
  }

  #over(nowMs: number, from: string, to: string): Spell[] {
    return this.#spells.filter(
      ({ fromMs, untilMs, between: [one, other] }) =>
        fromMs <= nowMs &&
        nowMs < untilMs &&
        ((meets(one, from) && meets(other, to)) || (meets(one, to) && meets(other, from))),
    );
  }
}

function meets(name: string, host: string): boolean {
  return name === 'any' || name === host;
}
