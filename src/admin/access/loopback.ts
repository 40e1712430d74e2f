import { BlockList, isIPv4, isIPv6 } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether only this machine reaches an address (RFC 6890, 2.2.2 and 2.2.3). */
export function isLoopback(address: string): boolean {
  if (isIPv4(address)) return LOOPBACK.check(address);
  return isIPv6(address) && LOOPBACK.check(address, 'ipv6');
}
