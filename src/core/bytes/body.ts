/** How long a body is by its framing headers: a number of bytes, or unknown until it ends (chunked). */
export type BodyLength = number | 'chunked';

/** A body not read yet. */
export interface BodySource {
  /** Whether `start` was called: from then on the body cannot be sent a second time. */
  readonly started: boolean;
  /** Lets the bytes flow into `sink`. Called at most once, when an upstream connection is held. */
  start(sink: BodySink): void;
  pause(): void;
  resume(): void;
}

export interface BodySink {
  /** Takes one piece, which the sink owns from now on. Returns false to pause, until the sink calls `resume` on the source. */
  chunk(bytes: Buffer): boolean;
  end(): void;
  /** The body broke off: the receiver must not take what it got for the whole. */
  fail(): void;
}

/** Gives lent bytes back; fits as the callback of a write. After an error they are never lent out again. */
export type Release = (error?: Error | null) => void;

/** A read buffer whose pieces can be lent out without a copy. */
export interface LendingBytes {
  readonly bytes: Buffer;
  /** Lends the bytes from `from` to `to`; they stay unchanged until `release` is called once for them. */
  lend(from: number, to: number): Buffer;
  readonly release: Release;
}
