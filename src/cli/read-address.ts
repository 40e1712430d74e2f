import { isIP } from 'node:net';
import { normalizeAddress } from '../http/index.ts';
import { UsageError } from './command.ts';

/** Reads the one IP address that an option takes. */
export function readAddress(text: string, option: string): string {
  const address = isIP(text) === 0 ? null : normalizeAddress(text);
  if (address !== null) return address;
  const [, host = ''] = /^([^/]*)\/\d+$/.exec(text) ?? [];
  const what =
    isIP(host) === 0 ? `an IP address, not "${text}"` : `one IP address, not the network "${text}"`;
  throw new UsageError(`${option} takes ${what}`);
}
