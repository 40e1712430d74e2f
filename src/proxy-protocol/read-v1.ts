import { isIPv4, isIPv6 } from 'node:net';
import { normalizeAddress } from '../http/index.ts';
import type { ProxyHeader, UnreadableHeader } from './proxy-header.ts';

export const V1_SIGNATURE = Buffer.from('PROXY ', 'latin1');

/** With its CRLF (proxy-protocol.txt, 2.1). */
export const MAX_V1_BYTES = 107;

const CR = 0x0d;
const LF = 0x0a;

/** No leading zero: some would read the number as octal. */
const PORT = /^(?:0|[1-9]\d{0,4})$/;

/** Reads a header of version 1, one line of text. `bytes` begin with the signature, or are a part of it. */
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
  // Whatever follows UNKNOWN is to be ignored.
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

/** Without a zone, which Node accepts behind an address. */
function isPlainIpv6(text: string): boolean {
  return isIPv6(text) && !text.includes('%');
}

function isPort(text: string): boolean {
  return PORT.test(text) && Number(text) <= 0xffff;
}
