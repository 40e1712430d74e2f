/** How long a body is, as the framing headers say: so many bytes, or unknown until it ends (chunked). */
export type BodyLength = number | 'chunked';

/** A body that waits to be read. */
export interface BodySource {
  /** Whether `start` was called: from then on the body cannot be sent a second time. */
  readonly started: boolean;
  /** Lets the bytes flow into `sink`. Called at most once, when an upstream connection is held. */
  start(sink: BodySink): void;
  pause(): void;
  resume(): void;
}

export interface BodySink {
  /** One piece, owned by the sink from now on. False: pause, until the sink calls `resume` on the source. */
  chunk(bytes: Buffer): boolean;
  end(): void;
  /** The body broke off: the upstream must not take what it got for the whole. */
  fail(): void;
}

/** Says that lent bytes are needed no more; a write's callback fits. With an error they are not lent out again at all. */
export type Release = (error?: Error | null) => void;

/** Memory that was read into and whose pieces can be lent out without a copy. */
export interface LendingBytes {
  readonly bytes: Buffer;
  /** The bytes from `from` to `to`, which stay as they are until `release` is called once for them. */
  lend(from: number, to: number): Buffer;
  readonly release: Release;
}
