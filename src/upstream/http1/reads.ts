import type { OnReadOpts } from 'node:net';

/** Takes what a socket reads. */
export interface Reader {
  /** Where the next read goes. */
  buffer(): Buffer;
  /** A read has filled the first `count` bytes. False: no more for now. */
  take(count: number): boolean;
}

/** Hands the reads of one socket to whoever serves it: Node takes functions for reading only when a socket is made. */
export class Reads implements OnReadOpts {
  reader: Reader;

  constructor(reader: Reader) {
    this.reader = reader;
  }

  readonly buffer = (): Buffer => this.reader.buffer();
  readonly callback = (count: number): boolean => this.reader.take(count);
}
