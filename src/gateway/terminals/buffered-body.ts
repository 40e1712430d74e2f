import { type BodySink, type BodySource, GrowingBytes, NO_BYTES } from '../../core/index.ts';

/** The owner of a buffered body, which takes over when the body is complete, or is not buffered any further. */
interface BufferedBodyOwner {
  /** Counts buffered bytes until the service has taken them. Returns false if there is no room for them. */
  keeps(bytes: number): boolean;
  /** Called once, when the body may be sent by calling `start`. */
  ready(): void;
}

/**
 * Reading: the source has more, and all of it that arrived is kept. Ready: the end has arrived, or what is kept is too long, and
 * the request may be sent. Over: the source has failed, or nobody wants the rest.
 */
type BufferedBodyPhase = 'reading' | 'ready' | 'over';

/**
 * A request's body that is read to its end before the request is sent, so that a slow client does not occupy a service. If it turns
 * out too long, or finds no room, the rest is streamed.
 */
export class BufferedBody implements BodySource, BodySink {
  started = false;
  readonly #source: BodySource;
  readonly #maxBytes: number;
  readonly #owner: BufferedBodyOwner;
  /** A copy: keeping a piece of a few bytes would keep the whole read that contained it. */
  readonly #growing: GrowingBytes;
  #held = NO_BYTES;
  /** The pieces that arrived when there was no more room. Not joined, since joining needs room. */
  #rest: Buffer[] = [];
  #phase: BufferedBodyPhase = 'reading';
  #sink: BodySink | null = null;
  #ended = false;
  #isPaused = false;

  constructor(source: BodySource, maxBytes: number, owner: BufferedBodyOwner) {
    this.#source = source;
    this.#maxBytes = maxBytes;
    this.#growing = new GrowingBytes(maxBytes);
    this.#owner = owner;
  }

  /** The length of the body if all of it is buffered; else `null`. */
  get wholeBytes(): number | null {
    return this.#ended && this.#rest.length === 0 ? this.#held.length : null;
  }

  read(): void {
    this.#source.start(this);
  }

  start(sink: BodySink): void {
    this.started = true;
    this.#sink = sink;
    let more = true;
    for (const piece of [this.#held, ...this.#rest]) if (piece.length > 0) more = sink.chunk(piece);
    this.#rest = [];
    if (more) this.resume();
    else this.pause();
  }

  pause(): void {
    this.#isPaused = true;
    if (!this.#ended) this.#source.pause();
  }

  /** Called when the sink has taken everything so far. */
  resume(): void {
    this.#isPaused = false;
    this.#drop();
    if (this.#ended) this.#sink?.end();
    else this.#source.resume();
  }

  chunk(bytes: Buffer): boolean {
    if (this.#sink !== null) return this.#sink.chunk(bytes);
    if (this.#phase === 'over') return false;
    if (this.#phase === 'reading' && this.#fits(bytes.length)) {
      this.#held = this.#growing.join(this.#held, bytes);
      return true;
    }
    this.#rest.push(bytes);
    this.#beReady();
    // A sink may have started the body meanwhile.
    return this.started && !this.#isPaused;
  }

  end(): void {
    this.#ended = true;
    if (this.#sink === null) this.#beReady();
    else if (!this.#isPaused) this.#sink.end();
  }

  fail(): void {
    this.#sink?.fail();
    this.stop();
  }

  /** Drops what is buffered: the exchange is over. */
  stop(): void {
    this.#phase = 'over';
    this.#drop();
  }

  #fits(bytes: number): boolean {
    if (this.#held.length + bytes > this.#maxBytes) return false;
    if (this.#owner.keeps(this.#growing.roomWith(this.#held, bytes))) return true;
    this.#owner.keeps(this.#growing.roomBytes);
    return false;
  }

  #beReady(): void {
    if (this.#phase !== 'reading') return;
    this.#phase = 'ready';
    this.#owner.ready();
  }

  #drop(): void {
    this.#held = NO_BYTES;
    this.#rest = [];
    this.#growing.forget();
    this.#owner.keeps(0);
  }
}
