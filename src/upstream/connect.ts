import { connect, type OnReadOpts, type Socket } from 'node:net';
import type { UpstreamOptions } from './options.ts';

/**
 * Makes a connection. Returns the socket at once; it emits `connect` or `error`. With `onread`, each read fills the buffer that
 * `onread.buffer` returned last, then calls `onread.callback`.
 */
export type Connect = (options: UpstreamOptions, onread?: OnReadOpts) => Socket;

/** How long a connection is silent before the system probes whether the other side is alive. */
const PROBE_AFTER_MS = 60_000;

/** Names are resolved at each connect, and all addresses are tried (RFC 8305, as Node does it). */
export const connectTcp: Connect = ({ host, port }, onread) =>
  connect({
    ...{ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS },
    ...(onread === undefined ? {} : { onread }),
  });
