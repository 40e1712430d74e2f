import type { OnReadOpts } from 'node:net';

/** Takes what a socket reads. */
export interface Reader {
  /** Where the next read goes. */
  buffer(): Buffer;
  /** A read has filled the first `count` bytes. False: pause reading. */
  take(count: number): boolean;
}

/** Passes the reads of one socket to its current reader: Node takes read callbacks only when it creates a socket. */
export class Reads implements OnReadOpts {
  reader: Reader;

  constructor(reader: Reader) {
    this.reader = reader;
  }

  readonly buffer = (): Buffer => this.reader.buffer();
  readonly callback = (count: number): boolean => this.reader.take(count);
}
