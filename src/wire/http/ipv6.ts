/** Returns the eight 16-bit groups of an IPv6 address. `text` must satisfy `net.isIPv6` and have no zone. */
export function ipv6Groups(text: string): number[] {
  const [head = '', tail] = withoutDots(text).split('::');
  const first = groupsOf(head);
  if (tail === undefined) return first;
  const last = groupsOf(tail);
  return [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
}

/** Writes the canonical text (RFC 5952): lower case, no leading zeros, the first longest run of zero groups as `::`. */
export function ipv6Text(groups: readonly number[]): string {
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

/** Writes groups as `2001:db8:0:1`. */
export function hexGroups(groups: readonly number[]): string {
  return groups.map(group => group.toString(16)).join(':');
}

/** Writes two groups as an IPv4 address. */
export function ipv4Text(high = 0, low = 0): string {
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** Clears all bits after a prefix. */
export function withinPrefix(groups: readonly number[], prefix: number): number[] {
  return groups.map((group, at) => group & ~(0xffff >> Math.max(0, Math.min(16, prefix - 16 * at))));
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map(group => Number.parseInt(group, 16));
}

/** Rewrites the dotted last 32 bits of `::192.0.2.7` as two groups. */
function withoutDots(text: string): string {
  if (!text.includes('.')) return text;
  const start = text.lastIndexOf(':') + 1;
  const [a = 0, b = 0, c = 0, d = 0] = text.slice(start).split('.').map(Number);
  return `${text.slice(0, start)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}
