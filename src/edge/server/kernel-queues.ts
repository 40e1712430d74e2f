import type { Socket } from 'node:net';
import type { Files } from '../../core/index.ts';
import { ipv6Groups } from '../../wire/http/index.ts';

/** Where Linux lists its connections, by family (man 5 proc_net). */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** How much of a table is read at a time, so that other work gets its turn: a line has 150 bytes. */
const READ_BYTES = 65_536;
const EMPTY = '00000000';

/** The peer of a connection as the tables write it: an address in 32-bit words in memory order, and a port. */
export function kernelName({ remoteAddress = '', remotePort = 0 }: Socket): string {
  const [address = ''] = remoteAddress.split('%');
  const bytes = address.includes(':')
    ? ipv6Groups(address).flatMap(group => [group >> 8, group & 0xff])
    : address.split('.').map(Number);
  let name = '';
  for (let at = 0; at < bytes.length; at += 4)
    for (let i = 3; i >= 0; i--) name += hex(bytes[at + i] ?? 0, 2);
  return `${name}:${hex(remotePort, 4)}`;
}

/**
 * Reads how many bytes wait in the kernel for the peer of each connection: written, and not acknowledged. Node.js does not know: a
 * socket accepts bytes again only when a third of its buffer of up to 4 MiB is free, which may take minutes with a slow reader.
 *
 * Calls `found` with the name of each connection that has such bytes. Returns false where the system has no such tables.
 */
export async function readKernelQueues(
  files: Files,
  found: (name: string, bytes: number) => void,
): Promise<boolean> {
  let isThere = false;
  for (const path of TABLES) {
    const file = await files.open(path).catch(() => null);
    if (file === null) continue;
    isThere = true;
    try {
      const room = Buffer.allocUnsafe(READ_BYTES);
      let rest = '';
      for (;;) {
        const { bytesRead } = await file.read(room, 0, READ_BYTES, null);
        if (bytesRead === 0) break;
        rest = readLines(rest + room.toString('latin1', 0, bytesRead), found);
      }
    } finally {
      await file.close();
    }
  }
  return isThere;
}

/** Reads complete lines of `sl: local:port remote:port state tx:rx ...`, and returns the rest. */
function readLines(text: string, found: (name: string, bytes: number) => void): string {
  let from = 0;
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
    const local = text.indexOf(': ', from) + 2;
    const remote = text.indexOf(' ', local) + 1;
    const state = text.indexOf(' ', remote) + 1;
    const queued = text.slice(state + 3, state + 3 + EMPTY.length);
    if (local > 1 && remote < end && queued !== EMPTY) {
      const bytes = Number.parseInt(queued, 16);
      if (bytes > 0) found(text.slice(remote, state - 1), bytes);
    }
    from = end + 1;
  }
  return text.slice(from);
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}
