import { connect, type OnReadOpts, type Socket } from 'node:net';
import type { UpstreamOptions } from './options.ts';

/**
 * Makes a connection; the socket is returned at once and emits `connect` or `error`. Each read goes into the buffer that
 * `onread.buffer` has returned last, and then to `onread.callback`.
 */
export type Connect = (options: UpstreamOptions, onread: OnReadOpts) => Socket;

/** How long a connection that carries nothing keeps quiet before the system asks whether the other side is alive. */
const PROBE_AFTER_MS = 60_000;

/** Names are resolved at each connect, and all addresses are tried (RFC 8305, as Node does it). */
export const connectTcp: Connect = ({ host, port }, onread) =>
  connect({ host, port, onread, noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS });
