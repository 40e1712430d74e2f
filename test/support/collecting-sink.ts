import type { Release } from '../../src/core/index.ts';
import type { CallSink, UpstreamFailure } from '../../src/upstream/index.ts';

/** A response sink that records its calls in words, and bodies as latin-1 text. */
export class CollectingSink implements CallSink {
  /** `info 103`, `head 200 5` (the length, or null), `whole 200`, `end`, `fail reset`, in their order. */
  readonly events: string[] = [];
  fields: readonly string[] = [];
  trailers: readonly string[] = [];
  reason = '';
  failure: UpstreamFailure | null = null;
  /** What `data` returns. */
  wantsMore = true;
  /** Whether lent pieces are given back at once. */
  takesAtOnce = true;
  /** Pieces that are lent and not given back. */
  readonly lent: { readonly piece: Buffer; readonly taken: Release }[] = [];
  readonly #pieces: (Buffer | string)[] = [];
  readonly #over = Promise.withResolvers<void>();

  get body(): string {
    return this.pieces.join('');
  }

  /** The body as it came. */
  get pieces(): string[] {
    return this.#pieces.map(piece => (typeof piece === 'string' ? piece : piece.toString('latin1')));
  }

  /** Resolves when the last call has come: `whole`, `end` or `fail`. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  neverIndex(names: ReadonlySet<string>): void {
    this.events.push(`never indexed: ${[...names]}`);
  }

  info(status: number, fields: readonly string[]): void {
    this.events.push(`info ${status}`);
    this.fields = fields;
  }

  whole(status: number, reason: string, fields: readonly string[], body: string): void {
    this.events.push(`whole ${status}`);
    this.reason = reason;
    this.fields = fields;
    this.#pieces.push(body);
    this.#over.resolve();
  }

  head(status: number, reason: string, fields: readonly string[], bodyLength: number | null): void {
    this.events.push(`head ${status} ${bodyLength}`);
    this.reason = reason;
    this.fields = fields;
  }

  data(chunk: Buffer, taken: Release | null): boolean {
    if (taken === null) this.#pieces.push(chunk);
    else if (this.takesAtOnce) {
      this.#pieces.push(Buffer.from(chunk));
      taken();
    } else {
      this.#pieces.push(chunk);
      this.lent.push({ piece: chunk, taken });
    }
    return this.wantsMore;
  }

  end(trailers: readonly string[]): void {
    this.events.push('end');
    this.trailers = trailers;
    this.#over.resolve();
  }

  switched(fields: readonly string[]): void {
    this.events.push('switched');
    this.fields = fields;
    this.#over.resolve();
  }

  fail(failure: UpstreamFailure): void {
    this.events.push(`fail ${failure.kind}`);
    this.failure = failure;
    this.#over.resolve();
  }
}
