import { HeaderDecoder } from '../../src/http2/hpack/index.ts';
import {
  ClientSession,
  type ClientSessionOptions,
  type HeaderSection,
  type StreamEnd,
  type StreamHandler,
} from '../../src/http2/index.ts';
import { type Frame, settings } from './http2-frames.ts';

const PREFACE_BYTES = 24;
const HEAD_BYTES = 9;
const OPTIONS = { maxBytes: 4_096, maxFields: 100, streamWindow: 100_000, connectionWindow: 1_000_000 };

/** Records what comes on a stream in words. */
class RecordingHandler implements StreamHandler {
  readonly events: string[] = [];
  /** What `data` returns. */
  wantsMore = true;

  section({ fields, flaw }: HeaderSection, ends: boolean): void {
    this.events.push(`${flaw ?? fields.join(',')}${ends ? ' end' : ''}`);
  }

  data(bytes: Buffer): boolean {
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

/** A client's session whose server is a test, which sends frames and looks at those that came. */
export class ScriptedSession {
  readonly session: ClientSession;
  /** What the owner was told, in words. */
  readonly told: string[] = [];
  #prefaceRead = false;
  readonly #decoder = new HeaderDecoder({ maxBytes: 1_000_000, maxFields: 1_000 }, () => 'field');

  /** The server has sent these SETTINGS, and the client's first frames have been read. */
  static begun(
    pairs: readonly (readonly [number, number])[] = [],
    options: Partial<ClientSessionOptions> = {},
  ): ScriptedSession {
    const scripted = new ScriptedSession(options);
    scripted.send(settings(...pairs));
    scripted.frames();
    return scripted;
  }

  constructor(options: Partial<ClientSessionOptions> = {}) {
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
    return this.session.read(bytes, bytes.length);
  }

  /** What the client has sent since the last time: `headers 1 end`, `data 1 5 end`, and for others the payload in hex. */
  frames(): string[] {
    return this.rawFrames().map(frame => this.#text(frame));
  }

  rawFrames(): Frame[] {
    let rest = Buffer.from(this.session.take());
    if (!this.#prefaceRead) rest = rest.subarray(PREFACE_BYTES);
    this.#prefaceRead = true;
    const frames: Frame[] = [];
    while (rest.length > 0) {
      const end = HEAD_BYTES + rest.readUIntBE(0, 3);
      const [type = 0, flags = 0] = rest.subarray(3, 5);
      frames.push({ type, flags, stream: rest.readUInt32BE(5), payload: rest.subarray(HEAD_BYTES, end) });
      rest = rest.subarray(end);
    }
    return frames;
  }

  #text({ type, flags, stream, payload }: Frame): string {
    const end = (flags & 1) === 1 ? ' end' : '';
    if (type === 0) return `data ${stream} ${payload.length}${end}`;
    if (type === 1) return `headers ${stream} ${this.#decoder.decode(payload).fields.join(',')}${end}`;
    const ack = (flags & 1) === 1 ? ' ack' : '';
    const names = ['', '', 'priority', 'reset', 'settings', '', 'ping', 'goaway', 'window'];
    return `${names[type]} ${stream} ${payload.toString('hex')}${ack}`.replace('  ', ' ');
  }
}
