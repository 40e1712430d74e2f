import { FieldGrade, HeaderDecoder } from '../../src/wire/http2/hpack/index.ts';
import type { Frame } from './http2-frames.ts';

const HEAD_BYTES = 9;

/** Reads what a session has sent. */
export class SentFrames {
  readonly #decoder = new HeaderDecoder({ maxBytes: 1_000_000, maxFields: 1_000 }, () => FieldGrade.FIELD);

  /** The frames in words: `headers 1 end`, `data 1 5 end`, and for others the payload in hex. */
  texts(bytes: Buffer): string[] {
    return rawFrames(bytes).map(frame => this.#text(frame));
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

export function rawFrames(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  let rest = Buffer.from(bytes);
  while (rest.length > 0) {
    const end = HEAD_BYTES + rest.readUIntBE(0, 3);
    const [type = 0, flags = 0] = rest.subarray(3, 5);
    frames.push({ type, flags, stream: rest.readUInt32BE(5), payload: rest.subarray(HEAD_BYTES, end) });
    rest = rest.subarray(end);
  }
  return frames;
}
