/** Why the gateway ends a WebSocket. RFC 6455, 7.4.1. */
export const CloseCode = {
  /** The gateway goes, or has waited for long enough. */
  goingAway: 1001,
  /** What came is not a frame. */
  protocolError: 1002,
  /** The client may not go on. */
  policyViolation: 1008,
  /** The gateway failed. */
  internalError: 1011,
} as const;

export type CloseCode = (typeof CloseCode)[keyof typeof CloseCode];

const FINAL_CLOSE = 0x88;
const MASK_BIT = 0x80;

/**
 * A Close frame (RFC 6455, 5.5.1).
 *
 * @param reason ASCII, at most 123 characters
 * @param mask four bytes for a frame that goes to a server, who refuses one without (RFC 6455, 5.1); null: not masked
 */
export function closeFrame(code: CloseCode, reason: string, mask: Uint8Array | null): Buffer {
  const payload = Buffer.from(`\0\0${reason}`, 'latin1');
  payload.writeUInt16BE(code);
  if (mask === null) return Buffer.concat([Buffer.of(FINAL_CLOSE, payload.length), payload]);
  for (let i = 0; i < payload.length; i++) payload[i] = (payload[i] as number) ^ (mask[i % 4] as number);
  return Buffer.concat([Buffer.of(FINAL_CLOSE, MASK_BIT | payload.length), mask, payload]);
}
