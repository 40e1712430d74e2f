import { count, countByMemory, durationOrOff, formatSize, marked, section, size } from '../values/index.ts';
import { CAP_COSTS, fillIn, MAX_OF_ADDRESS } from './memory.ts';
import { type ModelOf, setting } from './setting.ts';

export const caps = setting({
  keys: {
    caps: section(
      'Caps of one gateway. Beyond a cap on connections or requests the response is 503 with Retry-After.',
      {
        connections: countByMemory(1_000_000, 20_000, 'Maximum number of open client connections.'),
        connections_per_address: countByMemory(
          1_000_000,
          1000,
          'Maximum number of open client connections per address. The addresses of one owner have a few shares together: an IPv6 /48 four, a /44 eight, an IPv4 /24 64.',
        ),
        tls_handshakes: count(100_000, 512).describe(
          'Maximum number of TLS handshakes in progress; beyond it the oldest one is aborted.',
        ),
        requests: countByMemory(1_000_000, 10_000, 'Maximum number of requests in flight.'),
        requests_per_address: countByMemory(
          1_000_000,
          1000,
          'Maximum number of requests in flight per client address. The addresses of one owner share as those of connections do.',
        ),
        event_loop_delay: durationOrOff({ min: '100ms', max: '10s', otherwise: '250ms' }).describe(
          'Maximum average delay of the event loop over one second. Beyond it some requests get 503, so that the others are served in time. off: no limit.',
        ),
        head: size({ min: '1KiB', max: '1MiB', otherwise: '16KiB' }).describe(
          'Largest header section of a request; beyond it 431.',
        ),
        fields: count(1000, 200).describe('Maximum number of header fields of a request; beyond it 431.'),
        limit_keys: countByMemory(
          10_000_000,
          1_000_000,
          'Maximum number of limit counters in memory, at 85 to 100 bytes each; beyond it the least used are evicted, never an exhausted one. Changes take effect after a restart.',
        ),
        buffered: marked(
          size({ min: '1MiB', max: '1024GiB', otherwise: '1GiB' }).describe(
            'Maximum of the bytes that wait for clients and of those that are kept of their bodies, in all workers together; beyond it connections are closed, beginning with those whose clients read the least. Default: a quarter of the memory that the process may use, from 64MiB to 1GiB.',
          ),
          { byMemory: true },
        ),
      },
    ),
  },
  meaning: 'maximum',
  fill(written, { part, bufferedBytes }) {
    fillIn(written, { caps: {} });
    fillIn(written.caps, {
      connections: part(CAP_COSTS.connections.most),
      connections_per_address: part(MAX_OF_ADDRESS),
      requests: part(CAP_COSTS.requests.most),
      requests_per_address: part(MAX_OF_ADDRESS),
      limit_keys: part(CAP_COSTS.limitKeys.most),
      buffered: formatSize(bufferedBytes),
    });
  },
  compile: ({ caps }) => ({
    caps: Object.freeze({
      connections: caps.connections,
      /** How many connections may be refused at a time. */
      refusedConnections: caps.connections,
      connectionsPerAddress: caps.connections_per_address,
      tlsHandshakes: caps.tls_handshakes,
      requests: caps.requests,
      requestsPerAddress: caps.requests_per_address,
      eventLoopDelayMs: caps.event_loop_delay,
      headBytes: caps.head,
      fields: caps.fields,
      limitKeys: caps.limit_keys,
      bufferedBytes: caps.buffered,
    }),
  }),
  needsRestart: [
    {
      key: 'caps.limit_keys',
      value: ({ caps }) => caps.limitKeys,
      written: ({ caps }) => `${caps.limitKeys}`,
    },
  ],
});

export type CapsModel = ModelOf<typeof caps>['caps'];
