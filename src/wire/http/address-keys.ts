import { isIPv6 } from 'node:net';
import type { Owner } from '../../core/index.ts';
import { hexGroups, ipv4Text, ipv6Groups, ipv6Text, withinPrefix } from './ipv6.ts';

/** The default prefix of an IPv6 network that counts as one address: one host may own all of it. */
export const IPV6_PREFIX = 64;

/** Which addresses count as one. Stays the same while a process runs, because counters are named by the keys. */
export interface AddressKeying {
  /** The prefix of the IPv6 networks that count as one address each, 48 to 64. */
  readonly ipv6Prefix: number;
  /** The prefixes in which translators embed IPv4 addresses, in addition to the well-known ones. */
  readonly translators: readonly TranslatorPrefix[];
}

/** The default unless a configuration says otherwise. */
export const DEFAULT_KEYING: AddressKeying = { ipv6Prefix: IPV6_PREFIX, translators: [] };

/**
 * Returns the key under which a normalized address is counted: IPv4 as it is, IPv6 as its network. An IPv6 address that a
 * translator or a tunnel derived from an IPv4 address counts as that IPv4 address: otherwise all of IPv4 behind a translator would
 * be one address.
 */
export function addressKey(address: string, keying = DEFAULT_KEYING): string {
  if (!address.includes(':')) return address;
  return embeddedIpv4(address, keying.translators) ?? networkKey(address, keying.ipv6Prefix);
}

/** Returns the key of an address, ignoring embedded ones. */
export function networkKey(address: string, prefix: number): string {
  if (!address.includes(':')) return address;
  if (prefix < IPV6_PREFIX)
    return `${hexGroups(withinPrefix(ipv6Groups(address).slice(0, 4), prefix))}::/${prefix}`;
  const network = FIRST_FOUR_GROUPS.exec(address)?.[0] ?? `${hexGroups(ipv6Groups(address).slice(0, 4))}:`;
  return `${network}:/${IPV6_PREFIX}`;
}

const FIRST_FOUR_GROUPS = /^(?:[0-9a-f]+:){4}/;

/** Turns a key back into an address that an `AddressSet` can look up: the IPv4 address itself, or the IPv6 network's first. */
export function addressOfKey(key: string): string {
  const at = key.indexOf('/');
  return at < 0 ? key : key.slice(0, at);
}

/** Whether this is the key of an IPv4 address that the IPv6 address embeds. */
export function isEmbedded(address: string, key: string): boolean {
  return address.includes(':') && !key.includes(':');
}

/** Returns the network of a key that one owner may hold as a whole: the /24 of an IPv4 address, the /48 of an IPv6 network. */
export function networkOfKey(key: string): string {
  if (!key.includes(':')) return key.slice(0, key.lastIndexOf('.'));
  let end = -1;
  for (let groups = 0; groups < 3; groups++) end = key.indexOf(':', end + 1);
  return key.slice(0, end);
}

/**
 * The networks of a key that one owner may hold as a whole, the smallest first. Each gets the shares of a fixed number of
 * addresses, so that an owner of whole networks does not get thousands of shares. For IPv4 the /24, for IPv6 the /48 and the /44
 * around it.
 */
export function ownersOf(key: string): readonly Owner[] {
  const network = networkOfKey(key);
  if (!key.includes(':')) return [{ key: `${network}.0/24`, shares: SHARES_OF_24 }];
  const at = network.lastIndexOf(':');
  const third = Number.parseInt(network.slice(at + 1), 16) & 0xfff0;
  return [
    { key: `${network}::/48`, shares: SHARES_OF_48 },
    { key: `${network.slice(0, at)}:${third.toString(16)}::/44`, shares: SHARES_OF_44 },
  ];
}

const SHARES_OF_24 = 64;
const SHARES_OF_48 = 4;
const SHARES_OF_44 = 8;

/** An IPv6 network in which a translator embeds IPv4 addresses (RFC 6052, 2.2). */
export interface TranslatorPrefix {
  readonly text: string;
  readonly groups: readonly number[];
  readonly length: number;
}

const LENGTHS: readonly number[] = [32, 40, 48, 56, 64, 96];
/** Bits 64 to 71 of an address are 0, and not part of the IPv4 address. */
const U_OCTET = 8;

/** Reads `2001:db8:64::/96`. Throws an Error that says what to write instead. */
export function parseTranslator(text: string): TranslatorPrefix {
  const [, address = '', digits = ''] = /^([0-9A-Fa-f:.]+)\/(\d{1,3})$/.exec(text) ?? [];
  const length = Number(digits);
  if (!isIPv6(address)) throw new Error(`"${text}" is not an IPv6 network: write 2001:db8:64::/96`);
  if (!LENGTHS.includes(length))
    throw new Error(`a translator's prefix has 32, 40, 48, 56, 64 or 96 bits (RFC 6052, 2.2), not ${length}`);
  const groups = ipv6Groups(address);
  const network = withinPrefix(groups, length);
  if (groups.some((group, at) => group !== network[at]))
    throw new Error(`"${text}" has bits after its prefix: write ${ipv6Text(network)}/${length}`);
  if (groups[0] === 0)
    throw new Error(
      `"${text}" is in a special range of addresses: write the prefix that your translator has`,
    );
  if (octetAt(groups, U_OCTET) !== 0)
    throw new Error(`"${text}": bits 64 to 71 of a translator's prefix are 0 (RFC 6052, 2.2)`);
  return { text: `${ipv6Text(network)}/${length}`, groups: network, length };
}

/** Whether an IPv6 network contains only addresses that embed an IPv4 address. */
export function isTranslated(
  address: string,
  prefix: number,
  translators: readonly TranslatorPrefix[],
): boolean {
  const groups = ipv6Groups(address);
  return [...WELL_KNOWN, ...translators].some(each => each.length <= prefix && isWithin(groups, each));
}

/**
 * Returns the IPv4 address of the client embedded in an IPv6 address, or `null`: translated under the well-known prefix (RFC
 * 6052) or one of these, in the IPv4-translated form (RFC 7915, RFC 2765), or tunnelled by 6to4 (RFC 3056) or Teredo (RFC 4380,
 * 4: the client's address with all bits inverted). The compatible form `::192.0.2.7` is deprecated, and not used by translators.
 */
function embeddedIpv4(address: string, translators: readonly TranslatorPrefix[]): string | null {
  if (translators.length === 0 && !MAY_EMBED.test(address)) return null;
  const groups = ipv6Groups(address);
  for (const translator of translators) {
    const found = isWithin(groups, translator) ? behind(groups, translator.length) : null;
    if (found !== null) return found;
  }
  if (isWithin(groups, NAT64) || isWithin(groups, TRANSLATED)) return ipv4Text(groups[6], groups[7]);
  if (isWithin(groups, SIX_TO_FOUR)) return ipv4Text(groups[1], groups[2]);
  if (isWithin(groups, TEREDO)) return ipv4Text(~(groups[6] ?? 0) & 0xffff, ~(groups[7] ?? 0) & 0xffff);
  return null;
}

/** Addresses in other forms are not examined. They are canonical (RFC 5952). */
const MAY_EMBED = /^(?:64:ff9b::|::ffff:0:|2002:|2001:(?:0:|:))/;

const prefix = (address: string, length: number): TranslatorPrefix => ({
  text: `${address}/${length}`,
  groups: ipv6Groups(address),
  length,
});
const NAT64 = prefix('64:ff9b::', 96);
const TRANSLATED = prefix('::ffff:0:0:0', 96);
const SIX_TO_FOUR = prefix('2002::', 16);
const TEREDO = prefix('2001::', 32);
const WELL_KNOWN = [NAT64, TRANSLATED, SIX_TO_FOUR, TEREDO];

function isWithin(groups: readonly number[], network: TranslatorPrefix): boolean {
  for (let at = 0; at * 16 < network.length; at++) {
    const mask = 0xffff & ~(0xffff >> Math.min(16, network.length - at * 16));
    if (((groups[at] ?? 0) & mask) !== network.groups[at]) return false;
  }
  return true;
}

/** The IPv4 address after a translator's prefix, without the octet that must be 0 (RFC 6052, 2.3); `null` if it is not 0. */
function behind(groups: readonly number[], length: number): string | null {
  if (octetAt(groups, U_OCTET) !== 0) return null;
  const octets: number[] = [];
  for (let at = length / 8; octets.length < 4; at++) if (at !== U_OCTET) octets.push(octetAt(groups, at));
  return octets.join('.');
}

function octetAt(groups: readonly number[], at: number): number {
  return ((groups[at >> 1] ?? 0) >> (at % 2 === 0 ? 8 : 0)) & 255;
}
