import { hash } from 'node:crypto';
import { allValues, type BodyLength, type Fields, listMembers } from '../../core/index.ts';

/** The text that a server appends to the key to prove that it speaks WebSocket (RFC 6455, 1.3). */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Matches a key: 16 bytes in base64 (RFC 6455, 4.1). */
const KEY = /^[A-Za-z0-9+/]{22}==$/;
const VERSION = '13';

/** Why a handshake cannot be served. `version` means that it requests another version of the protocol. */
export type HandshakeFault = { readonly refused: string } | 'version';

/** Checks a request for a WebSocket (RFC 6455, 4.2.1) by the fields for the upstream. Returns `null` if it is valid. */
export function judgeHandshake(
  method: string,
  bodyLength: BodyLength,
  fields: Fields,
): HandshakeFault | null {
  if (method !== 'GET') return { refused: 'a WebSocket begins with a GET' };
  if (bodyLength !== 0) return { refused: 'a request for a WebSocket has no body' };
  const versions = allValues(fields, 'sec-websocket-version');
  if (versions.length !== 1 || versions[0] !== VERSION) return 'version';
  const keys = allValues(fields, 'sec-websocket-key');
  if (keys.length !== 1 || !KEY.test(keys[0] ?? ''))
    return { refused: 'Sec-WebSocket-Key is missing or not a key' };
  return null;
}

/** Returns why a 101 does not accept this handshake (RFC 6455, 4.1); `null` if it does. */
export function judgeSwitch(asked: Fields, answered: Fields): string | null {
  if (allValues(answered, 'upgrade').join().toLowerCase() !== 'websocket')
    return 'the 101 names another protocol';
  if (!listMembers(answered, 'connection').some(option => option.toLowerCase() === 'upgrade'))
    return 'the 101 has no Connection: Upgrade';
  const [key] = allValues(asked, 'sec-websocket-key');
  const accepts = allValues(answered, 'sec-websocket-accept');
  if (accepts.length !== 1 || accepts[0] !== hash('sha1', (key ?? '') + ACCEPT_SUFFIX, 'base64'))
    return 'the Sec-WebSocket-Accept of the 101 does not fit the key';
  const chosen = allValues(answered, 'sec-websocket-protocol');
  if (chosen.length > 1) return 'the 101 chooses more than one subprotocol';
  if (chosen[0] !== undefined && !listMembers(asked, 'sec-websocket-protocol').includes(chosen[0]))
    return 'the 101 chooses a subprotocol that was not offered';
  const offered = new Set(listMembers(asked, 'sec-websocket-extensions').map(nameOf));
  if (!listMembers(answered, 'sec-websocket-extensions').every(extension => offered.has(nameOf(extension))))
    return 'the 101 chooses an extension that was not offered';
  return null;
}

export function hasExtensions(answered: Fields): boolean {
  return listMembers(answered, 'sec-websocket-extensions').length > 0;
}

/** Returns an extension without its parameters (RFC 6455, 9.1). */
function nameOf(extension: string): string {
  return (extension.split(';', 1)[0] as string).trim().toLowerCase();
}

/** The codes with which the gateway closes a WebSocket (RFC 6455, 7.4.1). */
export const CloseCode = {
  /** The gateway shuts down, or has waited long enough. */
  goingAway: 1001,
  /** The received bytes are not a frame. */
  protocolError: 1002,
  /** The client must not continue. */
  policyViolation: 1008,
  /** The gateway failed. */
  internalError: 1011,
} as const;

export type CloseCode = (typeof CloseCode)[keyof typeof CloseCode];

const FINAL_CLOSE = 0x88;
const MASK_BIT = 0x80;

/**
 * Makes a Close frame (RFC 6455, 5.5.1).
 *
 * @param reason ASCII, at most 123 characters
 * @param mask four bytes for a frame to a server, which rejects unmasked frames (RFC 6455, 5.1); `null` for a frame to a client
 */
export function closeFrame(code: CloseCode, reason: string, mask: Uint8Array | null): Buffer {
  const payload = Buffer.from(`\0\0${reason}`, 'latin1');
  payload.writeUInt16BE(code);
  if (mask === null) return Buffer.concat([Buffer.of(FINAL_CLOSE, payload.length), payload]);
  for (let i = 0; i < payload.length; i++) payload[i] = (payload[i] as number) ^ (mask[i % 4] as number);
  return Buffer.concat([Buffer.of(FINAL_CLOSE, MASK_BIT | payload.length), mask, payload]);
}
