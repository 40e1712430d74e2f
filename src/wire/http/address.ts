import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { UNIX_PEER } from '../../core/index.ts';
import { addressOfKey, IPV6_PREFIX, isEmbedded, networkKey } from './address-keys.ts';
import { ipv4Text, ipv6Groups, ipv6Text } from './ipv6.ts';

/**
 * Writes an IP address in its one canonical form: IPv4 with dots, even if it was mapped into IPv6, and IPv6 as in RFC 5952.
 * Accepts what sockets report and what proxies write into `X-Forwarded-For`; drops brackets, port and zone. Returns `null` for
 * anything else.
 */
export function normalizeAddress(text: string): string | null {
  if (isIPv4(text) || USUAL_IPV6.test(text)) return text;
  return isIPv6(text) ? normalizeIpv6(text) : withoutPort(text);
}

/**
 * Addresses and networks such as `192.0.2.7`, `10.1.0.0/16` and `2001:db8::/32`, and `unix` for peers of Unix sockets. The two families stay apart: no IPv4 address
 * is in an IPv6 network, not even in `::/0`.
 */
export class AddressSet {
  readonly #ipv4 = new BlockList();
  readonly #ipv6 = new BlockList();
  readonly #empty: boolean;
  readonly #keys = new Set<string>();
  /** The keys (`networkKey`) that entries list individually, not those within a larger network. */
  readonly keys: ReadonlySet<string> = this.#keys;
  readonly #prefix: number;
  #unix = false;

  /**
   * Throws an Error for an entry that is neither an address nor a network; the message says what to write instead.
   *
   * @param prefix the prefix of the networks that count as one address each
   */
  constructor(entries: readonly string[], prefix = IPV6_PREFIX) {
    this.#empty = entries.length === 0;
    this.#prefix = prefix;
    for (const entry of entries) this.#add(entry);
  }

  /** Whether the set contains an address, in the form of `normalizeAddress`. */
  has(address: string): boolean {
    if (this.#empty) return false;
    if (address === UNIX_PEER) return this.#unix;
    return address.includes(':') ? this.#ipv6.check(address, 'ipv6') : this.#ipv4.check(address, 'ipv4');
  }

  #add(entry: string): void {
    if (entry === UNIX_PEER) {
      this.#unix = true;
      return;
    }
    const [, address = '', digits] = /^([0-9A-Fa-f.:]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(entry) ?? [];
    const bits = isIPv4(address) ? 32 : 128;
    const prefix = digits === undefined ? bits : Number(digits);
    if (isIP(address) === 0 || prefix > bits) {
      throw new Error(
        `"${entry}" is not an address or network: write 192.0.2.7, 10.1.0.0/16 or 2001:db8::/32`,
      );
    }
    const mapped = bits === 128 ? mappedIpv4(ipv6Groups(address)) : null;
    if (bits === 32) this.#ipv4.addSubnet(address, prefix, 'ipv4');
    else if (mapped === null) this.#ipv6.addSubnet(address, prefix, 'ipv6');
    else if (prefix >= 96) this.#ipv4.addSubnet(mapped, prefix - 96, 'ipv4');
    else throw new Error(`"${entry}" is IPv4 written as IPv6: write it as IPv4, such as ${mapped}/32`);
    if (prefix >= (bits === 32 || mapped !== null ? bits : this.#prefix)) this.#addKey(address);
  }

  /**
   * Adds the key of an entry that is a single address. A key stands for the first address of its network, so another address of that
   * network adds nothing.
   */
  #addKey(address: string): void {
    const key = networkKey(normalizeAddress(address) ?? address, this.#prefix);
    if (this.has(addressOfKey(key))) this.#keys.add(key);
  }
}

/** Whether a host is the machine itself: localhost, or a loopback address (RFC 6890, 2.2.2 and 2.2.3). */
export function isLoopback(host: string): boolean {
  const address = normalizeAddress(host);
  if (address === null) return host.toLowerCase() === 'localhost';
  return address.startsWith('127.') || address === '::1';
}

/**
 * Returns the key under which a client is restricted: that of its address, unless a list of clients that are never restricted
 * contains the IPv4 address that it embeds. Such a list applies to literal addresses only, because an embedded address can be
 * forged. A client that embeds a listed address is not the listed client, and must not cause that one to be restricted either. A
 * listed address has its own key.
 *
 * @param key the key of the address (`addressKey`)
 */
export function restrictionKey(address: string, key: string, spared: AddressSet): string {
  if (!isEmbedded(address, key)) return key;
  if (spared.has(address)) return address;
  return spared.has(key) ? `::ffff:${key}` : key;
}

/** Whether a list of networks contains this address, or its key. */
export function isListed(address: string, key: string, list: AddressSet): boolean {
  return list.has(addressOfKey(key)) || (isEmbedded(address, key) && list.has(address));
}

/** The client as trusted proxies report it, and what it claims about itself. */
interface ForwardedClient {
  readonly address: string;
  /** The entry to its left in `X-Forwarded-For`, which no trusted proxy confirms; `null` if absent. */
  readonly claim: string | null;
}

/**
 * Finds the client behind a trusted proxy: the right-most address in `X-Forwarded-For` that is not itself a trusted proxy (each
 * proxy appends the address it saw). If all are trusted, that is the left-most one. An entry that is not an address ends the
 * search at the entry to its right, or at the peer.
 *
 * @param forwardedFor the values of all lines, in order. Read from the right and only as far as needed, so that entries added by
 *   a client on the left cost nothing
 */
export function forwardedClient(
  peer: string,
  forwardedFor: readonly string[],
  trusted: AddressSet,
): ForwardedClient {
  let address = peer;
  let isTrusted = true;
  const list = forwardedFor.join(',');
  for (let end = list.length; end > 0; ) {
    const comma = list.lastIndexOf(',', end - 1);
    const entry = list.slice(comma + 1, end).trim();
    end = comma;
    // RFC 9110, 5.6.1.2: empty list elements are ignored.
    if (entry === '') continue;
    if (!isTrusted) return { address, claim: entry };
    const before = normalizeAddress(entry);
    if (before === null) break;
    address = before;
    isTrusted = trusted.has(address);
  }
  return { address, claim: null };
}

/**
 * Returns the address in a forwarding field's last element, which is the one that the sender of the field saw; `null` if absent.
 * `value` is the field's last line, of which only the end is read. RFC 7239, 4 and 6: `for="[2001:db8::7]:443";proto=https`.
 */
export function forwardedAddress(field: 'X-Forwarded-For' | 'Forwarded', value: string): string | null {
  const end = value.slice(-MAX_ELEMENT);
  const element = end.slice(end.lastIndexOf(',') + 1).trim();
  if (field === 'X-Forwarded-For') return normalizeAddress(element);
  const [, node = ''] = /(?:^|;)[ \t]*for="?([^";]+)/i.exec(element) ?? [];
  return normalizeAddress(node);
}

const MAX_ELEMENT = 256;

/** Eight groups without zeros, already canonical. Most hosts have such an address, so skip parsing it. */
const USUAL_IPV6 = /^(?:[1-9a-f][0-9a-f]{0,3}:){7}[1-9a-f][0-9a-f]{0,3}$/;

function normalizeIpv6(text: string): string {
  const groups = ipv6Groups(text.replace(/%.*/s, ''));
  return mappedIpv4(groups) ?? ipv6Text(groups);
}

/** Reads `192.0.2.7:443`, `[2001:db8::7]` or `[2001:db8::7]:443`; returns `null` for anything else. */
function withoutPort(text: string): string | null {
  const match = /^(?:([0-9.]+):\d{1,5}|\[([^\]]+)\](?::\d{1,5})?)$/.exec(text);
  const [, ipv4 = '', ipv6 = ''] = match ?? [];
  if (isIPv4(ipv4)) return ipv4;
  return isIPv6(ipv6) ? normalizeIpv6(ipv6) : null;
}

/** Returns the IPv4 address mapped in `::ffff:192.0.2.7` (RFC 4291, 2.5.5.2), or `null`. */
function mappedIpv4(groups: readonly number[]): string | null {
  if (groups[5] !== 0xffff || groups.slice(0, 5).some(group => group !== 0)) return null;
  return ipv4Text(groups[6], groups[7]);
}
