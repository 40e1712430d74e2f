import type { Steps } from '../../core/index.ts';
import { count, means, section, size } from '../values/index.ts';
import { routes } from './routes.ts';
import { setting } from './setting.ts';

export const http2 = setting({
  keys: {
    http2: section('Limits of one client connection over HTTP/2. A change applies to new connections.', {
      ...means('maximum', {
        max_streams: count(10_000)
          .prefault(128)
          .describe('Requests that one connection may have in flight; a further one is refused.'),
      }),
      stream_window: size({ min: '1KiB', max: '16MiB', otherwise: '64KiB' }).describe(
        'How much of one request body a client may send before the gateway reads it.',
      ),
      connection_window: size({ min: '64KiB', max: '64MiB', otherwise: '1MiB' }).describe(
        'How much of all bodies on a connection a client may send before the gateway acknowledges it.',
      ),
      session_memory: size({ min: '1MiB', max: '1GiB', otherwise: '32MiB' }).describe(
        'Maximum memory of one connection for responses that its client has not read; beyond it new requests on it are refused.',
      ),
    }),
  },
  *compile({ http2 }, { compiled }): Steps<{ readonly http2: Http2Model }> {
    const { entries } = (yield* compiled(routes)).keptRoutes;
    return {
      http2: Object.freeze({
        maxStreams: http2.max_streams,
        streamWindowBytes: http2.stream_window,
        connectionWindowBytes: http2.connection_window,
        sessionMemoryBytes: http2.session_memory,
        webSockets: entries.some(({ value }) => value.kind === 'forward' && value.websocket !== null),
      }),
    };
  },
});

export interface Http2Model {
  readonly maxStreams: number;
  readonly streamWindowBytes: number;
  readonly connectionWindowBytes: number;
  readonly sessionMemoryBytes: number;
  /** Whether clients are told that they may ask for a WebSocket (RFC 8441). */
  readonly webSockets: boolean;
}
