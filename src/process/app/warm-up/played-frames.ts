import { HeaderEncoder, PREFACE } from '../../../wire/http2/index.ts';

// Just enough of HTTP/2 (RFC 9113) for requests and responses: the only reader of these frames is the gateway, which is strict.

const HEADER_BYTES = 9;
const TYPE = { data: 0, headers: 1, settings: 4, ping: 6, windowUpdate: 8 } as const;
const FLAG = { ack: 1, endStream: 1, endHeaders: 4 } as const;

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, HEADER_BYTES);
  return bytes;
}

/** The window of a connection, so large that it needs no other update. */
const WINDOW = Buffer.alloc(4);
WINDOW.writeUInt32BE(2 ** 31 - 1 - 65_535);

export const SERVER_BEGINS: Buffer = Buffer.concat([
  frame(TYPE.settings, 0, 0),
  frame(TYPE.windowUpdate, 0, 0, WINDOW),
]);
export const CLIENT_BEGINS: Buffer = Buffer.concat([PREFACE, SERVER_BEGINS]);

export function isHttp2(bytes: Buffer): boolean {
  return bytes.subarray(0, 3).equals(PREFACE.subarray(0, 3));
}

/** Parses the frames of a peer: reports which streams it ended, and replies where HTTP/2 requires it. */
export class FrameScan {
  readonly take: (bytes: Buffer) => void;
  #rest: Buffer;
  #skip: number;

  /** @param isServer whether a client's preface comes first */
  constructor(
    isServer: boolean,
    onEnds: (streams: readonly number[]) => void,
    reply: (frames: Buffer) => void,
  ) {
    this.#rest = Buffer.alloc(0);
    this.#skip = isServer ? PREFACE.length : 0;
    this.take = bytes => {
      const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
      const ended: number[] = [];
      let at = this.#skip;
      while (at + HEADER_BYTES <= all.length) {
        const end = at + HEADER_BYTES + all.readUIntBE(at, 3);
        if (end > all.length) break;
        const type = all[at + 3];
        const flags = all[at + 4] ?? 0;
        const isMessage = type === TYPE.data || type === TYPE.headers;
        if (isMessage && (flags & FLAG.endStream) > 0) ended.push(all.readUInt32BE(at + 5));
        if ((type === TYPE.settings || type === TYPE.ping) && (flags & FLAG.ack) === 0)
          reply(
            frame(type, FLAG.ack, 0, type === TYPE.ping ? all.subarray(at + HEADER_BYTES, end) : undefined),
          );
        at = end;
      }
      this.#skip = Math.max(0, at - all.length);
      this.#rest = Buffer.from(all.subarray(at));
      onEnds(ended);
    };
  }
}

/** A message of gRPC: not compressed, 32 bytes. */
const MESSAGE = Buffer.concat([Buffer.from([0, 0, 0, 0, 32]), Buffer.alloc(32, 'm')]);

/** The frames of one side of a connection. */
export class CallFrames {
  readonly #encoder = new HeaderEncoder();

  /** A request without a body, or with a message of gRPC. */
  request(stream: number, fields: readonly string[], isCall: boolean): Buffer {
    const flags = FLAG.endHeaders | (isCall ? 0 : FLAG.endStream);
    const head = frame(TYPE.headers, flags, stream, this.#encoder.encode(fields));
    return isCall ? Buffer.concat([head, frame(TYPE.data, FLAG.endStream, stream, MESSAGE)]) : head;
  }

  /** The answer to a call of gRPC. */
  response(stream: number): Buffer {
    const head = this.#encoder.encode(['content-type', 'application/grpc'], undefined, 200);
    const first = frame(TYPE.headers, FLAG.endHeaders, stream, head);
    const trailers = this.#encoder.encode(['grpc-status', '0']);
    return Buffer.concat([
      first,
      frame(TYPE.data, 0, stream, MESSAGE),
      frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, stream, trailers),
    ]);
  }
}
