/** A header of the PROXY protocol, version 1: `v1('TCP4 192.0.2.7 198.51.100.1 56324 443')`. */
export function v1(line: string): Buffer {
  return Buffer.from(`PROXY ${line}\r\n`, 'latin1');
}

/** Family with transport, and the addresses. */
export interface Relayed {
  readonly family: number;
  readonly address: Buffer;
}

export interface V2Settings {
  /** Version and command. Default: version 2, PROXY. */
  readonly command?: number;
  readonly tlvs?: readonly Buffer[];
}

/** A header of version 2. */
export function v2({ family, address }: Relayed, { command = 0x21, tlvs = [] }: V2Settings = {}): Buffer {
  const rest = Buffer.concat([address, ...tlvs]);
  const fixed = Buffer.from(`\r\n\r\n\0\r\nQUIT\n${String.fromCharCode(command, family)}..`, 'latin1');
  fixed.writeUInt16BE(rest.length, 14);
  return Buffer.concat([fixed, rest]);
}

/** From this client to 198.51.100.1. */
export function TCP4(client: string): Relayed {
  const addresses = [...client.split('.').map(Number), 198, 51, 100, 1];
  return { family: 0x11, address: Buffer.from([...addresses, 0xdc, 0x04, 0x01, 0xbb]) };
}

/** From this client to ::1. */
export function TCP6(client: string): Relayed {
  // The URL parser writes all of IPv6 as groups.
  const [head = '', tail = ''] = new URL(`http://[${client}]`).hostname.slice(1, -1).split('::');
  const [first, last] = [groupsOf(head), groupsOf(tail)];
  const source = [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
  const address = Buffer.alloc(36);
  for (const [i, group] of source.entries()) address.writeUInt16BE(group, 2 * i);
  address[31] = 1;
  address.writeUInt16BE(56324, 32);
  address.writeUInt16BE(443, 34);
  return { family: 0x21, address };
}

export const UNIX: Relayed = { family: 0x31, address: Buffer.alloc(216, 'x') };

/** What a proxy says before a connection of its own, such as a health check. */
export const LOCAL_V2 = v2({ family: 0x00, address: Buffer.alloc(0) }, { command: 0x20 });

export function tlv(type: number, value: Buffer): Buffer {
  const head = Buffer.from([type, 0, 0]);
  head.writeUInt16BE(value.length, 1);
  return Buffer.concat([head, value]);
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map(group => Number.parseInt(group, 16));
}
