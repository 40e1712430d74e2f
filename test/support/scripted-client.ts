import {
  ErrorCode,
  type HeaderSection,
  type RequestHandler,
  ServerSession,
  type ServerSessionOptions,
  type ServerStream,
} from '../../src/wire/http2/index.ts';
import { type Frame, PREFACE, settings } from './http2-frames.ts';
import { rawFrames, SentFrames } from './sent-frames.ts';
import { StreamEvents } from './stream-events.ts';

const OPTIONS: ServerSessionOptions = {
  ...{ maxBytes: 4_096, maxFields: 100, streamWindow: 100_000, connectionWindow: 1_000_000 },
  ...{ maxStreams: 100, offersConnect: false, maxUnsent: 1_000_000 },
};

/** A request that came, with what came behind its head in words. */
export class ServedRequest extends StreamEvents implements RequestHandler {
  readonly stream: ServerStream;
  readonly head: HeaderSection;

  constructor(stream: ServerStream, head: HeaderSection, ends: boolean) {
    super();
    this.stream = stream;
    this.head = head;
    this.events.push(`${head.flaw ?? head.fields.join(',')}${ends ? ' end' : ''}`);
  }

  section({ fields }: HeaderSection): void {
    this.events.push(fields.join(','));
  }

  malformed(why: string): void {
    this.events.push(`malformed: ${why}`);
    this.stream.respond(400, [], true);
  }
}

/** A server's session whose client is a test, which sends frames and looks at those that came. */
export class ScriptedClient {
  readonly session: ServerSession;
  /** What the owner was told, in words. */
  readonly told: string[] = [];
  readonly requests: ServedRequest[] = [];
  /** How often the owner was woken. */
  wakes = 0;
  /** Called for each request. */
  onRequest = (_request: ServedRequest): void => {};
  readonly #sent = new SentFrames();

  /** The client has sent its preface, and the server's first frames have been read. Bodies flow. */
  static begun(
    pairs: readonly (readonly [number, number])[] = [],
    options: Partial<ServerSessionOptions> = {},
  ): ScriptedClient {
    const scripted = new ScriptedClient(options);
    scripted.onRequest = ({ stream }) => stream.resume();
    scripted.send(Buffer.from(PREFACE), settings(...pairs));
    scripted.frames();
    return scripted;
  }

  constructor(options: Partial<ServerSessionOptions> = {}) {
    this.session = new ServerSession(
      { ...OPTIONS, ...options },
      {
        wake: () => void this.wakes++,
        settingsRead: () => this.told.push('settled'),
        isOverShare: false,
        shutDownSeen: () => this.session.goAway(ErrorCode.NO_ERROR),
        goaway: code => this.told.push(`goaway ${code}`),
        request: (stream, section, ends) => {
          const request = new ServedRequest(stream, section, ends);
          this.requests.push(request);
          this.onRequest(request);
          return request;
        },
      },
    );
  }

  /** The request on this stream. */
  request(id: number): ServedRequest {
    const request = this.requests.find(({ stream }) => stream.id === id);
    if (request === undefined) throw new Error(`no request on stream ${id}`);
    return request;
  }

  /** Returns whether the bytes may be written over. */
  send(...frames: Buffer[]): boolean {
    const bytes = Buffer.concat(frames);
    return this.session.read(bytes, bytes.length);
  }

  /** What the server has sent since the last time, in words. */
  frames(): string[] {
    return this.#sent.texts(this.session.take());
  }

  rawFrames(): Frame[] {
    return rawFrames(this.session.take());
  }
}
