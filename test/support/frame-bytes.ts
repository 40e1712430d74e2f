/** Frame types (RFC 9113, 6). */
export const TYPE = {
  ...{ data: 0, headers: 1, priority: 2, rstStream: 3, settings: 4, pushPromise: 5 },
  ...{ ping: 6, goaway: 7, windowUpdate: 8, continuation: 9 },
} as const;
export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8 } as const;

export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
export const HEAD_BYTES = 9;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** A frame as it is written; nothing about it need be right. */
export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const body = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload;
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

/** The whole frames in these bytes, without the preface. */
export function wholeFrames(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + HEAD_BYTES <= bytes.length; ) {
    const end = at + HEAD_BYTES + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    const [type, flags, stream] = [
      bytes.readUInt8(at + 3),
      bytes.readUInt8(at + 4),
      bytes.readUInt32BE(at + 5),
    ];
    frames.push({ type, flags, stream: stream & 0x7fffffff, payload: bytes.subarray(at + HEAD_BYTES, end) });
    at = end;
  }
  return frames;
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A SETTINGS frame of identifiers and values. */
export function settings(...pairs: (readonly [id: number, value: number])[]): Buffer {
  const parts = pairs.map(([id, value]) => Buffer.concat([Buffer.from([id >> 8, id & 0xff]), uint32(value)]));
  return frame(TYPE.settings, 0, 0, Buffer.concat(parts));
}

/** A header block of literals without indexing and without Huffman codes (RFC 7541, 6.2.2): each name and value as it is given. */
export function block(fields: readonly (readonly [string, string])[]): Buffer {
  const parts = fields.map(([name, value]) =>
    Buffer.concat([Buffer.from([0]), literal(name), literal(value)]),
  );
  return Buffer.concat(parts);
}

function literal(text: string): Buffer {
  return Buffer.concat([integer(text.length), Buffer.from(text, 'latin1')]);
}

/** With a prefix of 7 bits (RFC 7541, 5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

/** The pseudo-fields of a request, in the usual order. */
export function request(path = '/', method = 'GET', authority = 'a.test'): [string, string][] {
  return [
    [':method', method],
    [':scheme', 'http'],
    [':path', path],
    [':authority', authority],
  ];
}

/** A HEADERS frame that holds its whole block, and ends the stream unless it says otherwise. */
export function headers(
  stream: number,
  fields: readonly (readonly [string, string])[],
  flags = FLAG.endStream | FLAG.endHeaders,
): Buffer {
  return frame(TYPE.headers, flags, stream, block(fields));
}
