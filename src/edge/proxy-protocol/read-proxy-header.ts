import { isIPv4, isIPv6 } from 'node:net';
import { normalizeAddress } from '../../wire/http/index.ts';

const V2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

/** Size of the fixed part: signature, version and command, family and transport, length of what follows. */
const FIXED_BYTES = 16;
/** Largest header of version 2: two addresses of up to 216 bytes, and TLVs such as a host name. Other readers accept as much. */
export const MAX_V2_BYTES = 4_096;

const VERSION_2 = 0x20;
const LOCAL = 0;
const PROXY = 1;

const TCP_OVER_IPV4 = 0x11;
const TCP_OVER_IPV6 = 0x21;
/** Size of the addresses by family: two addresses and two ports; for AF_UNIX, two paths (proxy-protocol.txt, 2.2). */
const ADDRESS_BYTES = [0, 12, 36, 216] as const;
const MAX_TRANSPORT = 2;

/**
 * Reads a version 2 header, which is binary. `bytes` begin with the signature, or are a part of it. Skips what follows the
 * addresses (TLVs), its checksum included: TCP has one of its own.
 */
export function readV2(bytes: Buffer): ProxyHeader | UnreadableHeader {
  if (bytes.length < FIXED_BYTES) return 'incomplete';
  const length = FIXED_BYTES + bytes.readUInt16BE(14);
  const command = bytes.readUInt8(12) - VERSION_2;
  if ((command !== LOCAL && command !== PROXY) || length > MAX_V2_BYTES) return 'broken';
  if (bytes.length < length) return 'incomplete';
  // For LOCAL, skip the rest, including the family.
  if (command === LOCAL) return { from: 'proxy', bytes: length };
  return readRelayed(bytes.subarray(0, length));
}

function readRelayed(header: Buffer): ProxyHeader | 'broken' {
  const family = header.readUInt8(13);
  const addressBytes = ADDRESS_BYTES[family >> 4];
  if (addressBytes === undefined || (family & 0x0f) > MAX_TRANSPORT) return 'broken';
  const bytes = header.length;
  // Only the sender knows how long an address of an unspecified family is.
  if (addressBytes === 0) return { from: 'unknown', bytes };
  const restAt = FIXED_BYTES + addressBytes;
  if (bytes < restAt) return 'broken';
  const address = sourceOf(header, family);
  return address === null ? { from: 'unknown', bytes } : { from: 'client', address, bytes };
}

/** Returns the first of the two addresses; `null` if they are not TCP addresses. */
function sourceOf(header: Buffer, family: number): string | null {
  if (family === TCP_OVER_IPV4) return header.subarray(FIXED_BYTES, FIXED_BYTES + 4).join('.');
  if (family !== TCP_OVER_IPV6) return null;
  const groups = [0, 2, 4, 6, 8, 10, 12, 14].map(at => header.readUInt16BE(FIXED_BYTES + at).toString(16));
  return normalizeAddress(groups.join(':'));
}

const V1_SIGNATURE = Buffer.from('PROXY ', 'latin1');

/** Maximum size of a version 1 header, including its CRLF (proxy-protocol.txt, 2.1). */
export const MAX_V1_BYTES = 107;

const CR = 0x0d;
const LF = 0x0a;

/** Matches a port without a leading zero, which some would read as octal. */
const PORT = /^(?:0|[1-9]\d{0,4})$/;

/** Reads a version 1 header, one line of text. `bytes` begin with the signature, or are a part of it. */
export function readV1(bytes: Buffer): ProxyHeader | UnreadableHeader {
  const head = bytes.subarray(0, MAX_V1_BYTES);
  const end = head.indexOf(CR);
  // A line ends with CRLF: neither character means anything alone.
  if (head.subarray(0, end === -1 ? head.length : end).includes(LF)) return 'broken';
  if (end === -1 || end + 1 === head.length) return head.length < MAX_V1_BYTES ? 'incomplete' : 'broken';
  if (head[end + 1] !== LF) return 'broken';
  return readLine(head.toString('latin1', 0, end), end + 2);
}

function readLine(line: string, bytes: number): ProxyHeader | 'broken' {
  const [, family, ...parts] = line.split(' ');
  // Ignore what follows UNKNOWN, as the specification says.
  if (family === 'UNKNOWN') return { from: 'unknown', bytes };
  const isOfFamily = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isPlainIpv6 : () => false;
  const [source = '', destination = '', sourcePort = '', destinationPort = '', ...rest] = parts;
  const isValid =
    isOfFamily(source) &&
    isOfFamily(destination) &&
    isPort(sourcePort) &&
    isPort(destinationPort) &&
    rest.length === 0;
  const address = isValid ? normalizeAddress(source) : null;
  return address === null ? 'broken' : { from: 'client', address, bytes };
}

/** Whether a text is an IPv6 address without a zone, which Node would accept. */
function isPlainIpv6(text: string): boolean {
  return isIPv6(text) && !text.includes('%');
}

function isPort(text: string): boolean {
  return PORT.test(text) && Number(text) <= 0xffff;
}

/** The content of a PROXY header, which precedes a connection's first byte. `bytes` is the length of the header. */
export type ProxyHeader =
  /** The proxy relays the connection of the client at this address, spelled as by `normalizeAddress`. */
  | { readonly from: 'client'; readonly address: string; readonly bytes: number }
  /** The proxy itself is the client, as in a health check (version 2, LOCAL). */
  | { readonly from: 'proxy'; readonly bytes: number }
  /** The proxy relays a connection without naming the client (version 1: UNKNOWN; version 2: neither TCP over IPv4 nor over IPv6). */
  | { readonly from: 'unknown'; readonly bytes: number };

/**
 * Why no header could be read:
 * - `incomplete`: the bytes so far may become a header
 * - `missing`: the bytes are something else
 * - `broken`: it begins like a header, but is invalid
 */
type UnreadableHeader = 'incomplete' | 'missing' | 'broken';

/**
 * Reads the header of the PROXY protocol, version 1 or 2, at the beginning of a connection
 * (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt, section 2).
 *
 * @param bytes everything that has arrived so far. An incomplete header costs the same few steps, however long it is
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
