import type { WorldSocket } from './socket.ts';

const HEADING =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';

/** The open connections as Linux lists them in /proc/net/tcp (man 5 proc_net). */
export function connectionTable(sockets: readonly WorldSocket[]): string {
  const lines = sockets.flatMap((socket, i) => {
    const { localAddress, localPort, remoteAddress, remotePort, connecting } = socket;
    if (connecting || localAddress === undefined || remoteAddress === undefined) return [];
    const ends = `${place(localAddress, localPort)} ${place(remoteAddress, remotePort)}`;
    return [
      `${String(i).padStart(4)}: ${ends} 01 ${hex(socket.unacknowledgedBytes, 8)}:00000000 00:00000000 00000000\n`,
    ];
  });
  return HEADING + lines.join('');
}

function place(address: string, port = 0): string {
  const bytes = address.split('.').map(each => hex(Number(each), 2));
  return `${bytes.toReversed().join('')}:${hex(port, 4)}`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}
