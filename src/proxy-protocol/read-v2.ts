import { normalizeAddress } from '../http/index.ts';
import { hasValidChecksum } from './checksum.ts';
import type { ProxyHeader, UnreadableHeader } from './proxy-header.ts';

export const V2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

/** Signature, version and command, family and transport, length of the rest. */
const FIXED_BYTES = 16;
/** Two addresses of 216 bytes at most, and some TLVs: a host name, a certificate's subject. Others accept as much. */
export const MAX_V2_BYTES = 4_096;

const VERSION_2 = 0x20;
const LOCAL = 0;
const PROXY = 1;

const TCP_OVER_IPV4 = 0x11;
const TCP_OVER_IPV6 = 0x21;
/** Two addresses and two ports; for AF_UNIX, two paths (proxy-protocol.txt, 2.2). */
const ADDRESS_BYTES = [0, 12, 36, 216] as const;
const MAX_TRANSPORT = 2;

/** Reads a header of version 2, which is binary. `bytes` begin with the signature, or are a part of it. */
export function readV2(bytes: Buffer): ProxyHeader | UnreadableHeader {
  if (bytes.length < FIXED_BYTES) return 'incomplete';
  const length = FIXED_BYTES + bytes.readUInt16BE(14);
  const command = bytes.readUInt8(12) - VERSION_2;
  if ((command !== LOCAL && command !== PROXY) || length > MAX_V2_BYTES) return 'broken';
  if (bytes.length < length) return 'incomplete';
  // The rest is skipped, the family as well.
  if (command === LOCAL) return { from: 'proxy', bytes: length };
  return readRelayed(bytes.subarray(0, length));
}

function readRelayed(header: Buffer): ProxyHeader | 'broken' {
  const family = header.readUInt8(13);
  const addressBytes = ADDRESS_BYTES[family >> 4];
  if (addressBytes === undefined || (family & 0x0f) > MAX_TRANSPORT) return 'broken';
  const bytes = header.length;
  // How long an unspecified address is, only its sender knows.
  if (addressBytes === 0) return { from: 'unknown', bytes };
  const restAt = FIXED_BYTES + addressBytes;
  if (bytes < restAt || !hasValidChecksum(header, restAt)) return 'broken';
  const address = sourceOf(header, family);
  return address === null ? { from: 'unknown', bytes } : { from: 'client', address, bytes };
}

/** The first of the two addresses; null where they are not of TCP. */
function sourceOf(header: Buffer, family: number): string | null {
  if (family === TCP_OVER_IPV4) return header.subarray(FIXED_BYTES, FIXED_BYTES + 4).join('.');
  if (family !== TCP_OVER_IPV6) return null;
  const groups = [0, 2, 4, 6, 8, 10, 12, 14].map(at => header.readUInt16BE(FIXED_BYTES + at).toString(16));
  return normalizeAddress(groups.join(':'));
}
