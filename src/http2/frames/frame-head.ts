import { MAX_31_BITS } from './frame-type.ts';

/** The nine bytes in front of a payload (RFC 9113, 4.1). */
export interface FrameHead {
  /** Bytes of the payload. */
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
}

export function readFrameHead(bytes: Buffer, at: number): FrameHead {
  return {
    length: ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number),
    type: bytes[at + 3] as number,
    flags: bytes[at + 4] as number,
    stream: bytes.readUInt32BE(at + 5) & MAX_31_BITS,
  };
}
