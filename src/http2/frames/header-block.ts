import { ErrorCode } from '../error-code.ts';
import { Http2Fault } from '../http2-fault.ts';
import { frameSizeFault, protocolFault } from './frame-fault.ts';
import { Flag } from './frame-type.ts';

/** As many as nghttp2 takes: more only make work (CVE-2024-27316). */
const MAX_CONTINUATIONS = 8;

/** Joins the parts of a header block (RFC 9113, 4.3). */
export class HeaderBlock {
  #stream = 0;
  #parts: Buffer[] = [];
  /** The HEADERS frame of the present block had END_STREAM. */
  ends = false;

  /** The rest of a block is yet to come, and nothing else may. */
  get isOpen(): boolean {
    return this.#stream !== 0;
  }

  /** The payload of HEADERS; returns the block, or null if that goes on. */
  begin(stream: number, payload: Buffer, flags: number): Buffer | null {
    const part = fragmentOf(payload, flags);
    this.ends = (flags & Flag.END_STREAM) !== 0;
    if ((flags & Flag.END_HEADERS) !== 0) return part;
    this.#stream = stream;
    this.#parts = [Buffer.from(part)];
    return null;
  }

  /** The payload of CONTINUATION. */
  continue(stream: number, payload: Buffer, flags: number): Buffer | null {
    if (!this.isOpen || stream !== this.#stream) throw protocolFault('CONTINUATION of no header block');
    if (this.#parts.length > MAX_CONTINUATIONS)
      throw new Http2Fault(ErrorCode.ENHANCE_YOUR_CALM, 'a header block in too many frames');
    this.#parts.push(Buffer.from(payload));
    if ((flags & Flag.END_HEADERS) === 0) return null;
    const block = Buffer.concat(this.#parts);
    this.#stream = 0;
    this.#parts = [];
    return block;
  }
}

/** A HEADERS payload without padding and priority (RFC 9113, 6.2). */
function fragmentOf(payload: Buffer, flags: number): Buffer {
  const isPadded = (flags & Flag.PADDED) !== 0;
  const from = (isPadded ? 1 : 0) + ((flags & Flag.PRIORITY) !== 0 ? 5 : 0);
  if (from === 0) return payload;
  if (from > payload.length) throw frameSizeFault('HEADERS without what its flags say');
  const to = payload.length - (isPadded ? (payload[0] as number) : 0);
  if (to < from) throw protocolFault('HEADERS with more padding than payload');
  return payload.subarray(from, to);
}
