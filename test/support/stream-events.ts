import type { Release } from '../../src/core/index.ts';
import type { StreamEnd } from '../../src/wire/http2/index.ts';

/** Records in words what comes on a stream behind its head. */
export class StreamEvents {
  readonly events: string[] = [];
  /** What `data` returns. */
  wantsMore = true;
  /** Whether each piece of data has to be given back. */
  readonly areLent: boolean[] = [];

  data(bytes: Buffer, release: Release | null = null): boolean {
    this.areLent.push(release !== null);
    this.events.push(`data ${bytes.length > 20 ? bytes.length : bytes}`);
    return this.wantsMore;
  }

  ended(): void {
    this.events.push('ended');
  }

  drained(): void {
    this.events.push('drained');
  }

  closed(end: StreamEnd): void {
    this.events.push(`closed: ${Object.values(end).join(' ')}`);
  }
}
