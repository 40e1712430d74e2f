/** Where a message is written; a socket is one. */
export interface Wire {
  /** False: enough for now. */
  write(text: string, encoding: 'latin1'): boolean;
  write(bytes: Uint8Array): boolean;
  /** What is written from here to `uncork` leaves together. */
  cork(): void;
  uncork(): void;
}
