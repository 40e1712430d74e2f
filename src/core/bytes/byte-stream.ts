/** One end of a connection whose protocol was switched: bytes both ways, without meaning. */
export interface ByteStream {
  /** Passes incoming bytes to this sink, first those already read. Call it once. */
  start(sink: ByteSink): void;
  pause(): void;
  resume(): void;
  /**
   * True: the system has taken everything, and the bytes may change. False: write no more, and change none of them, until the
   * sink is told by `drained`.
   */
  write(bytes: Uint8Array): boolean;
  /** Ends our direction behind what was written. */
  end(): void;
  /** Closes as soon as the system has taken what was written, at the latest after some seconds. */
  endSoon(): void;
  /** Closes at once. */
  destroy(): void;
}

/** Hears what happens at one end. */
export interface ByteSink {
  /** They stay unchanged until the call returns, and for good where the stream is paused in it. */
  bytes(piece: Buffer): void;
  /** All that was written has been taken. */
  drained(): void;
  /** The other side has closed its direction. */
  ended(): void;
  /** The connection is gone. The last call. */
  closed(): void;
}
