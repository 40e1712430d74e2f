/** Type and length. */
const TLV_HEAD_BYTES = 3;
const TYPE_CRC32C = 0x03;
const CRC_BYTES = 4;

/** Castagnoli's polynomial, bits reversed (RFC 9260, appendix A). Node's `zlib.crc32` has another one. */
const POLYNOMIAL = 0x82f63b78;
const TABLE = new Uint32Array(256).map((_, byte) => afterEightBits(byte));

/**
 * Whether the TLVs of a header of version 2 are whole, and agree with its checksum where one of them is a checksum
 * (proxy-protocol.txt, 2.2.3). The others mean nothing here.
 *
 * @param restAt where the TLVs begin
 */
export function hasValidChecksum(header: Buffer, restAt: number): boolean {
  let at = restAt;
  let checksumAt: number | null = null;
  while (at + TLV_HEAD_BYTES <= header.length) {
    const valueAt = at + TLV_HEAD_BYTES;
    const length = header.readUInt16BE(at + 1);
    if (header[at] === TYPE_CRC32C) {
      // A second one would have to be zero for the first, and the first for the second.
      if (checksumAt !== null || length !== CRC_BYTES) return false;
      checksumAt = valueAt;
    }
    at = valueAt + length;
  }
  if (at !== header.length) return false;
  return checksumAt === null || header.readUInt32BE(checksumAt) === checksumWithout(header, checksumAt);
}

/** CRC32C of the header with zeros where the checksum stands. */
function checksumWithout(header: Buffer, checksumAt: number): number {
  let crc = ~0;
  for (let i = 0; i < header.length; i++) {
    const isChecksum = i >= checksumAt && i < checksumAt + CRC_BYTES;
    const byte = isChecksum ? 0 : (header[i] ?? 0);
    crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] ?? 0);
  }
  return ~crc >>> 0;
}

function afterEightBits(byte: number): number {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
  return crc;
}
