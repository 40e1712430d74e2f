import { addressKey, restrictionKey } from '../../wire/http/index.ts';
import type { LimitsModel } from './limits-model.ts';

/** The parts of limits.yaml that determine the keys of addresses. */
export type AddressLimits = Pick<LimitsModel, 'keying' | 'neverRestrict'>;

/** The key under which a client at this address is restricted. */
export function restrictedKey(address: string, { keying, neverRestrict }: AddressLimits): string {
  return restrictionKey(address, addressKey(address, keying), neverRestrict.addresses);
}
