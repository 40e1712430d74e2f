import { Readable } from 'node:stream';
import type { BodySource } from '../../../src/core/index.ts';

/** A body source as the stream that undici reads. Destroying it leaves the client's connection alone. */
export class BodyStream extends Readable {
  readonly #source: BodySource;
  #started = false;

  constructor(source: BodySource) {
    super();
    this.#source = source;
    // undici may have lost interest by the time that the body breaks off, and an error nobody hears ends the process.
    this.on('error', () => {});
  }

  override _read(): void {
    if (this.#started) {
      this.#source.resume();
      return;
    }
    this.#started = true;
    this.#source.start({
      chunk: bytes => this.push(bytes),
      end: () => this.push(null),
      fail: () => this.destroy(new Error('the body broke off')),
    });
  }
}
