/** So many handshakes begin before other connections have their turn: the key operation of one may take a millisecond. */
const BEGUN_AT_A_TIME = 8;

/** A handshake as the others see it. */
interface Handshake {
  /** Begins: it holds memory from here on, and answers the client. */
  begin(): void;
  /** Ends: too many others are under way. */
  giveWay(): void;
}

/**
 * The TLS handshakes of all listeners: how many are under way at once, and how many begin in one turn of the event loop.
 *
 * Where there are too many, the oldest gives way. A client that means to finish needs a few round trips, so under a flood of
 * handshakes that are never finished the oldest is most probably one of those.
 */
export class Handshakes {
  #max: number;
  /** Oldest first. */
  readonly #underWay = new Set<Handshake>();
  readonly #waiting = new Set<Handshake>();
  #begun = 0;
  #turn: NodeJS.Immediate | null = null;

  constructor(max: number) {
    this.#max = max;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** Sets another maximum for further handshakes. */
  use(max: number): void {
    this.#max = max;
  }

  /** Begins a handshake, in this turn of the event loop or a later one. Call `leave` when it ends. */
  enter(handshake: Handshake): void {
    this.#waiting.add(handshake);
    if (this.#begun < BEGUN_AT_A_TIME) this.#beginNext();
    this.#turn ??= setImmediate(() => this.#nextTurn());
  }

  /** A handshake has ended, whether or not it had begun. */
  leave(handshake: Handshake): void {
    this.#waiting.delete(handshake);
    this.#underWay.delete(handshake);
  }

  #nextTurn(): void {
    this.#turn = null;
    this.#begun = 0;
    while (this.#waiting.size > 0 && this.#begun < BEGUN_AT_A_TIME) this.#beginNext();
    if (this.#begun > 0) this.#turn = setImmediate(() => this.#nextTurn());
  }

  #beginNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    this.#begun++;
    const [oldest] = this.#underWay;
    if (oldest !== undefined && this.#underWay.size >= this.#max) oldest.giveWay();
    this.#underWay.add(next);
    next.begin();
  }
}
