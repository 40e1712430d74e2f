import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/**
 * Writes an IP address in its one canonical form: IPv4 with dots, even if it came mapped into IPv6, and IPv6 as in RFC 5952.
 * Accepts what sockets report and what proxies write into `X-Forwarded-For`; drops brackets, port and zone. Returns `null` for
 * anything else.
 */
export function normalizeAddress(text: string): string | null {
  if (isIPv4(text) || USUAL_IPV6.test(text)) return text;
  return isIPv6(text) ? normalizeIpv6(text) : withoutPort(text);
}

/** The prefix of an IPv6 network that counts as one address, unless a configuration says otherwise: one host may own it whole. */
export const IPV6_PREFIX = 64;

/**
 * Returns the key under which a normalized address is counted: IPv4 as it is, IPv6 as its network.
 *
 * @param prefix of an IPv6 network, 48 to 64
 */
export function addressKey(address: string, prefix = IPV6_PREFIX): string {
  if (!address.includes(':')) return address;
  if (prefix < IPV6_PREFIX) return `${hexGroups(networkGroups(address, prefix))}::/${prefix}`;
  const network = FIRST_FOUR_GROUPS.exec(address)?.[0] ?? `${hexGroups(ipv6Groups(address).slice(0, 4))}:`;
  return `${network}:/${IPV6_PREFIX}`;
}

/** The first four groups of an address, without the bits behind the prefix. */
function networkGroups(address: string, prefix: number): number[] {
  return ipv6Groups(address)
    .slice(0, 4)
    .map((group, at) => group & ~(0xffff >> Math.max(0, Math.min(16, prefix - 16 * at))));
}

/** Turns a key back into an address that an `AddressSet` can look up: the IPv4 address itself, or the IPv6 network's first. */
export function addressOfKey(key: string): string {
  const at = key.indexOf('/');
  return at < 0 ? key : key.slice(0, at);
}

/** Returns the network of a key that one owner may hold whole: the /24 of an IPv4 address, the /48 of an IPv6 network. */
export function networkOfKey(key: string): string {
  if (!key.includes(':')) return key.slice(0, key.lastIndexOf('.'));
  let end = -1;
  for (let groups = 0; groups < 3; groups++) end = key.indexOf(':', end + 1);
  return key.slice(0, end);
}

/**
 * Addresses and networks such as `192.0.2.7`, `10.1.0.0/16` and `2001:db8::/32`. The two families stay apart: no IPv4 address
 * is in an IPv6 network, not even in `::/0`.
 */
export class AddressSet {
  readonly #ipv4 = new BlockList();
  readonly #ipv6 = new BlockList();
  readonly #empty: boolean;
  readonly #keys = new Set<string>();
  /** The keys (`addressKey`) that entries name one by one. A key within a larger network is not among them. */
  readonly keys: ReadonlySet<string> = this.#keys;
  readonly #prefix: number;

  /**
   * Throws an Error for an entry that is neither an address nor a network; the message says what to write instead.
   *
   * @param prefix that `addressKey` is called with
   */
  constructor(entries: readonly string[], prefix = IPV6_PREFIX) {
    this.#empty = entries.length === 0;
    this.#prefix = prefix;
    for (const entry of entries) this.#add(entry);
  }

  /** Whether the set contains an address, which is as `normalizeAddress` returns it. */
  has(address: string): boolean {
    if (this.#empty) return false;
    return address.includes(':') ? this.#ipv6.check(address, 'ipv6') : this.#ipv4.check(address, 'ipv4');
  }

  #add(entry: string): void {
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
   * Adds the key of an entry that names one address, if the entry covers the first address of the network of that key: the key
   * stands for it.
   */
  #addKey(address: string): void {
    const key = addressKey(normalizeAddress(address) ?? address, this.#prefix);
    if (this.has(addressOfKey(key))) this.#keys.add(key);
  }
}

/** The client as trusted proxies report it, and what it claims about itself. */
interface ForwardedClient {
  readonly address: string;
  /** The entry to the left of it in `X-Forwarded-For`, for which only this address vouches; `null` if absent. */
  readonly claim: string | null;
}

/**
 * Finds the client behind a trusted proxy: the right-most address in `X-Forwarded-For` that is not itself a trusted proxy
 * (each proxy appends the address it saw). If all are trusted, that is the left-most one. An entry that is not an address ends
 * the search at the entry to its right, or at the peer.
 *
 * @param forwardedFor the values of all lines, in order. Read from the right and only as far as needed, so entries that a
 *   client adds on the left cost nothing.
 */
export function forwardedClient(
  peer: string,
  forwardedFor: readonly string[],
  trusted: AddressSet,
): ForwardedClient {
  let [address, isTrusted] = [peer, true];
  const list = forwardedFor.join(',');
  for (let end = list.length; end > 0; ) {
    const comma = list.lastIndexOf(',', end - 1);
    const entry = list.slice(comma + 1, end).trim();
    end = comma;
    // RFC 9110, 5.6.1.2: empty elements of a list mean nothing.
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

const FIRST_FOUR_GROUPS = /^(?:[0-9a-f]+:){4}/;

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

/** Returns the eight 16-bit groups of an IPv6 address. `text` must satisfy `net.isIPv6` and have no zone. */
function ipv6Groups(text: string): number[] {
  const [head = '', tail] = withoutDots(text).split('::');
  const first = groupsOf(head);
  if (tail === undefined) return first;
  const last = groupsOf(tail);
  return [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
}

/** Writes the canonical text (RFC 5952): lower case, no leading zeros, the first longest run of zero groups as `::`. */
function ipv6Text(groups: readonly number[]): string {
  let start = 8;
  let length = 1;
  for (let i = 0; i < 8; i++) {
    let run = 0;
    while (groups[i + run] === 0) run++;
    if (run > length) [start, length] = [i, run];
  }
  if (start === 8) return hexGroups(groups);
  return `${hexGroups(groups.slice(0, start))}::${hexGroups(groups.slice(start + length))}`;
}

/** Returns the IPv4 address that `::ffff:192.0.2.7` stands for (RFC 4291, 2.5.5.2), or `null`. */
function mappedIpv4(groups: readonly number[]): string | null {
  const [high = 0, low = 0] = groups.slice(6);
  if (groups[5] !== 0xffff || groups.slice(0, 5).some(group => group !== 0)) return null;
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map(group => Number.parseInt(group, 16));
}

/** Writes groups as `2001:db8:0:1`. */
function hexGroups(groups: readonly number[]): string {
  return groups.map(group => group.toString(16)).join(':');
}

/** Rewrites the dotted last 32 bits of `::192.0.2.7` as two groups. */
function withoutDots(text: string): string {
  if (!text.includes('.')) return text;
  const start = text.lastIndexOf(':') + 1;
  const [a = 0, b = 0, c = 0, d = 0] = text.slice(start).split('.').map(Number);
  return `${text.slice(0, start)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}
