import type { ProxyHeader, UnreadableHeader } from './proxy-header.ts';
import { MAX_V1_BYTES, readV1, V1_SIGNATURE } from './read-v1.ts';
import { MAX_V2_BYTES, readV2, V2_SIGNATURE } from './read-v2.ts';

/** No header is longer: from this many bytes on, the response is never `incomplete`. */
export const MAX_HEADER_BYTES = Math.max(MAX_V1_BYTES, MAX_V2_BYTES);

/**
 * Reads the header of the PROXY protocol, version 1 or 2, at the beginning of a connection
 * (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt, section 2). Accepts no byte that the specification does not allow.
 *
 * @param bytes everything that has come so far. An incomplete header costs the same few steps however much of it is there
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader | UnreadableHeader {
  if (beginsLike(bytes, V2_SIGNATURE)) return readV2(bytes);
  return beginsLike(bytes, V1_SIGNATURE) ? readV1(bytes) : 'missing';
}

/** Whether the bytes are the signature, begin with it, or are its beginning. */
function beginsLike(bytes: Buffer, signature: Buffer): boolean {
  const length = Math.min(bytes.length, signature.length);
  return bytes.compare(signature, 0, length, 0, length) === 0;
}
