import { z } from 'zod';

import { count } from '../plain-values.ts';
import { durationOrOff, size } from '../scalars/index.ts';

const KIB = 1024;

/** `caps` of gateway.yaml. */
export const capsSchema = z
  .strictObject({
    connections: count(1_000_000).prefault(20_000).describe('Maximum number of open client connections.'),
    connections_per_address: count(1_000_000)
      .prefault(1000)
      .describe('Maximum number of open client connections per address.'),
    tls_handshakes: count(100_000)
      .prefault(512)
      .describe('TLS handshakes under way at a time; beyond it the oldest one is broken off.'),
    requests: count(1_000_000).prefault(10_000).describe('Maximum number of requests in flight.'),
    requests_per_address: count(1_000_000)
      .prefault(1000)
      .describe('Maximum number of requests in flight per client address.'),
    event_loop_delay: durationOrOff({ min: '100ms', max: '10s' })
      .prefault('250ms')
      .describe(
        'How far the process may fall behind on the average of a second; beyond it some requests are answered 503, so that the others are served in time. off: none are.',
      ),
    head: size({ min: KIB, max: KIB * KIB })
      .prefault('16KiB')
      .describe('Largest header section of a request; beyond it 431.'),
    fields: count(1000)
      .prefault(200)
      .describe('Maximum number of header fields of a request; beyond it 431.'),
    limit_keys: count(10_000_000)
      .prefault(1_000_000)
      .describe(
        'Maximum number of limit counters in memory, at 80 to 90 bytes each; beyond it the least used are evicted, never an exhausted one. Changes take effect after a restart.',
      ),
  })
  .prefault({})
  .describe(
    'Caps of one gateway. Beyond a cap on connections or requests the response is 503 with Retry-After.',
  );
