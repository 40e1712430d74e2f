/** Takes the frames of a connection. Bytes are views that change after the call. */
export interface FrameSink {
  /** A part of a DATA frame. `flowBytes` counts padding as well. */
  data(stream: number, bytes: Buffer, flowBytes: number, ends: boolean): void;
  /** A whole header block. */
  headers(stream: number, block: Buffer, ends: boolean): void;
  reset(stream: number, code: number): void;
  /** The payload of SETTINGS: entries of 6 bytes. */
  settings(payload: Buffer): void;
  settingsAcknowledged(): void;
  ping(payload: Buffer): void;
  pingAcknowledged(): void;
  goaway(lastStream: number, code: number): void;
  windowUpdate(stream: number, increment: number): void;
}
