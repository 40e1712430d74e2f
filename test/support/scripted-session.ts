import { SlabStore } from '../../src/upstream/pool.ts';
import {
  ClientSession,
  type HeaderSection,
  type SessionOptions,
  type StreamHandler,
} from '../../src/wire/http2/index.ts';
import { type Frame, settings } from './http2-frames.ts';
import { rawFrames, SentFrames } from './sent-frames.ts';
import { StreamEvents } from './stream-events.ts';

const PREFACE_BYTES = 24;
const OPTIONS = { maxBytes: 4_096, maxFields: 100, streamWindow: 100_000, connectionWindow: 1_000_000 };

/** Records what comes on a stream in words. */
class RecordingHandler extends StreamEvents implements StreamHandler {
  section({ fields, flaw }: HeaderSection, ends: boolean): void {
    this.events.push(`${flaw ?? fields.join(',')}${ends ? ' end' : ''}`);
  }
}

/** A client's session whose server is a test, which sends frames and looks at those that came. */
export class ScriptedSession {
  readonly session: ClientSession;
  /** What the owner was told, in words. */
  readonly told: string[] = [];
  #prefaceRead = false;
  readonly #sent = new SentFrames();

  /** The server has sent these SETTINGS, and the client's first frames have been read. */
  static begun(
    pairs: readonly (readonly [number, number])[] = [],
    options: Partial<SessionOptions> = {},
  ): ScriptedSession {
    const scripted = new ScriptedSession(options);
    scripted.send(settings(...pairs));
    scripted.frames();
    return scripted;
  }

  constructor(options: Partial<SessionOptions> = {}) {
    this.session = new ClientSession(
      { ...OPTIONS, ...options },
      {
        wake: () => {},
        settingsRead: () => this.told.push('settled'),
        goaway: (last, code) => this.told.push(`goaway ${last} ${code}`),
      },
    );
  }

  /** A request on a stream of its own, with the handler that records its response. */
  open(endsAtOnce = true, fields: readonly string[] = [':method', 'GET']) {
    const handler = new RecordingHandler();
    return { handler, stream: this.session.request(fields, handler, endsAtOnce) };
  }

  /** Returns whether the bytes may be written over. */
  send(...frames: Buffer[]): boolean {
    const bytes = Buffer.concat(frames);
    const slab = new SlabStore().take();
    slab.bytes.set(bytes);
    this.session.read(slab, 0, bytes.length);
    return !slab.lent;
  }

  /** What the client has sent since the last time, in words. */
  frames(): string[] {
    return this.#sent.texts(this.#take());
  }

  rawFrames(): Frame[] {
    return rawFrames(this.#take());
  }

  #take(): Buffer {
    const bytes = this.session.take().subarray(this.#prefaceRead ? 0 : PREFACE_BYTES);
    this.#prefaceRead = true;
    return bytes;
  }
}
