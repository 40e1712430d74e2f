import type { SectionBounds } from '../hpack/index.ts';

/** Windows in bytes; the bounds are those of a response's header section. */
export interface ClientSessionOptions extends SectionBounds {
  readonly streamWindow: number;
  readonly connectionWindow: number;
}

/** What holds the connection. */
export interface ClientSessionOwner {
  /** There is something to take and write, by the end of this turn of the event loop. */
  wake(): void;
  /** The server's SETTINGS have come, or changed. */
  settled(): void;
  /** A GOAWAY has come: open no more streams. Those above its last one are about to be closed. */
  goaway(lastStream: number, code: number): void;
}
