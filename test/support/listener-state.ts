import { NO_METHOD_NAMES } from '../../src/core/index.ts';
import type { ListenerState } from '../../src/edge/server/client-connection.ts';
import { Tunnels } from '../../src/edge/server/tunnels.ts';
import type { Gateway } from '../../src/gateway/index.ts';
import { AddressSet } from '../../src/wire/http/index.ts';
import { DateField } from '../../src/wire/http1/index.ts';
import { FrozenClock } from '../unit/limits/frozen-clock.ts';
import { ownBuffered } from './own-buffered.ts';

/** What connections share where nothing else is said: no time goes by. */
export function listenerState(gateway: Gateway, headBytes: number): ListenerState {
  const clock = new FrozenClock();
  return {
    gateway,
    clock,
    random: () => 0,
    randomBytes: count => Buffer.alloc(count),
    date: new DateField(),
    connectionListener: {
      ...{ proxyHeaderRefused: () => {}, handshakeEnded: () => {}, http2Closed: () => {} },
      ...{ readTooSlowly: () => {}, buffersFull: () => {} },
    },
    buffered: ownBuffered(),
    tunnels: new Tunnels(clock, () => 0),
    trustedProxies: new AddressSet([]),
    timeouts: {
      tlsHandshakeMs: 10_000,
      clientHeaderMs: 10_000,
      clientBodyIdleMs: 10_000,
      clientReadMs: 10_000,
      keepAliveMs: 10_000,
      maxConnectionAgeMs: null,
    },
    headBytes,
    fields: 200,
    namedMethods: NO_METHOD_NAMES,
    http2: {
      ...{ maxStreams: 128, streamWindowBytes: 65_536 },
      ...{ connectionWindowBytes: 1_048_576, sessionMemoryBytes: 33_554_432, webSockets: false },
    },
    keepAliveHint: 'timeout=10',
    draining: false,
  };
}
